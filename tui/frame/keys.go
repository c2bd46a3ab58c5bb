package frame

import (
	"fmt"
	"strings"

	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/theme"
)

// keyLine is the line of keys at the bottom.
type keyLine struct {
	hints []keymap.Binding
	help  bool // the way to the help stands at its right
	width int
	says  string // what stands in the grid
}

// forget has it drawn again.
func (l *keyLine) forget() { l.says = "" }

// draw draws the hints unless they stand there already.
func (l *keyLine) draw(a grid.Area, hints []keymap.Binding, help bool) {
	l.hints, l.help, l.width = hints, help, a.W()
	var says strings.Builder
	fmt.Fprint(&says, a.W(), help)
	for _, b := range hints {
		says.WriteString("\x00" + b.Help().Key + "\x00" + b.Help().Desc)
	}
	if says.String() == l.says {
		return
	}
	l.says = says.String()
	a.Clear()
	end := l.end()
	if help {
		a.Text(end+2, 0, "?", theme.Key)
		a.Text(end+4, 0, "help", theme.Muted)
	}
	a.Sub(1, 0, end-1, 1).Styled(keymap.Line(hints, end-1))
}

// helpRoom is what the way to the help takes.
const helpRoom = 9

// end is where the hints end.
func (l *keyLine) end() int {
	if l.help {
		return l.width - helpRoom
	}
	return l.width
}

// at is the binding at a column.
func (l *keyLine) at(col int) (keymap.Binding, bool) {
	x, end := 1, l.end()
	if l.help && col > end {
		return keymap.Binding{Action: keymap.Help}, true
	}
	for _, b := range l.hints {
		w := grid.Width(b.Help().Key) + 1 + grid.Width(b.Help().Desc)
		if x+w > end { // it did not fit, nor does what follows
			break
		}
		if col >= x && col < x+w {
			return b, true
		}
		x += w + grid.Width(keymap.Gap)
	}
	return keymap.Binding{}, false
}
