// Package canvas is what the screens of a class draw on: a grid of the terminal's size in a theme that its background and its
// colours ask for.
//
// Start reading at [Canvas].
package canvas

import (
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Canvas is a screen's grid and theme. It belongs to one program.
type Canvas struct {
	grid   *grid.Grid
	theme  *theme.Theme
	chosen bool // somebody named the theme, so the terminal does not choose it
	stale  bool
	shown  tea.View
}

// New makes a canvas; themed is the name of a theme, "" for what the terminal has.
func New(themed string) *Canvas {
	return &Canvas{grid: grid.New(0, 0), theme: theme.Named(themed), chosen: themed != "", stale: true}
}

// Init asks the terminal for its background.
func (c *Canvas) Init() tea.Cmd {
	if c.chosen {
		return nil
	}
	return tea.RequestBackgroundColor
}

// Takes takes what the terminal says of itself, and reports whether it was that.
func (c *Canvas) Takes(msg tea.Msg) bool {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		c.grid.Resize(max(msg.Width, 0), max(msg.Height, 0))
	case tea.BackgroundColorMsg:
		if !c.chosen {
			c.theme = theme.Named(map[bool]string{true: "dark", false: "light"}[msg.IsDark()])
		}
	case tea.ColorProfileMsg:
		switch {
		case c.chosen:
		case msg.Profile <= colorprofile.ASCII:
			c.theme, c.chosen = theme.Named("none"), true
		case msg.Profile == colorprofile.ANSI:
			c.theme, c.chosen = theme.Named("16"), true
		}
	default:
		return false
	}
	c.stale = true
	return true
}

// Size is that of the terminal; 0, 0 as long as it has not said it.
func (c *Canvas) Size() (w, h int) { return c.grid.Size() }

// Stale has the next view drawn.
func (c *Canvas) Stale() { c.stale = true }

// View is what is on the screen: as long as nothing is stale the same string, after which nothing is written. Draw draws it,
// and gives the cursor's place, where there is one.
func (c *Canvas) View(draw func(g *grid.Grid) (x, y int, cursor bool)) tea.View {
	if w, h := c.grid.Size(); !c.stale || w == 0 || h == 0 {
		return c.shown
	}
	c.stale = false
	x, y, has := draw(c.grid)
	c.shown = tea.View{Content: c.grid.Render(c.theme.SGR), AltScreen: true, WindowTitle: "kviz"}
	if has {
		c.shown.Cursor = tea.NewCursor(x, y)
	}
	return c.shown
}

// Planes are the text and the styles of what was drawn last.
func (c *Canvas) Planes() *grid.Grid { return c.grid }
