package page

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
	"sync"

	"kviz/lessons"
	"kviz/tui/class"
	"kviz/tui/class/lead"
	"kviz/tui/grid"
	"kviz/tui/stage"
	"kviz/tui/theme"
	"kviz/tui/web"
)

// size is one at which the picture is drawn, in cells. The browser makes it as wide as the screen; it asks for more cells
// where they are still legible.
type size struct {
	W, H int
	Says string // of it
}

// sizes are for a telephone, a tablet and a desk.
var sizes = []size{{60, 18, "small"}, {80, 20, "middle"}, {120, 26, "large"}}

// sheet is what the page shows at a size at one moment. It never changes.
type sheet struct {
	id      string
	page    []byte            // all of it
	picture string            // the drawing
	rows    []string          // its rows, each in an element y0, y1, …
	words   map[string]string // what is read, by the element that it stands in
}

// board draws the sheets of a size: each scene once, however many look on.
type board struct {
	size  size
	epoch string // of this run: a page may have heard of an earlier one
	cfg   Config

	mu    sync.Mutex
	stage *stage.Stage
	grid  *grid.Grid
	scene *lead.Scene
	room  *class.State
	said  said
	now   *sheet
	count int
}

func newBoard(s size, epoch string, cfg Config) *board {
	return &board{size: s, epoch: epoch, cfg: cfg, stage: stage.New(cfg.Panes), grid: grid.New(s.W, s.H)}
}

// look is the sheet of now: the one before as long as nothing on it has changed.
func (b *board) look() *sheet {
	b.mu.Lock()
	defer b.mu.Unlock()
	scene, room := b.cfg.Lead.Scene(), b.cfg.Room.State()
	if b.now != nil && scene == b.scene && room.No == b.room.No {
		return b.now
	}
	b.scene, b.room = scene, room
	b.said.hears(scene, room)
	b.draw()
	next := &sheet{rows: web.Rows(b.grid), words: b.words()}
	if b.now != nil && slices.Equal(next.rows, b.now.rows) && maps.Equal(next.words, b.now.words) {
		return b.now
	}
	b.count++
	next.id = fmt.Sprintf("%s-%d-%d", b.epoch, b.size.W, b.count)
	next.picture = picture(b.grid, next.rows)
	next.page = b.whole(next)
	b.now = next
	return next
}

// whole is the whole page.
func (b *board) whole(s *sheet) []byte {
	var out bytes.Buffer
	err := classPage.Execute(&out, map[string]any{
		"Cfg": b.cfg, "Lang": cmp.Or(b.cfg.Lang, "en"), "Sheet": s, "Size": b.size.W, "Sizes": sizes, "Style": pageStyle, "Script": pageScript,
	})
	if err != nil { // the template and its values are ours
		return []byte(html.EscapeString(err.Error()))
	}
	return out.Bytes()
}

// picture is the drawing, of rows that can be replaced.
func picture(g *grid.Grid, rows []string) string {
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="%s" role="img" aria-labelledby="alt">`, web.ViewBox(g))
	for y, row := range rows {
		fmt.Fprintf(&out, `<g id="y%d">%s</g>`, y, row)
	}
	out.WriteString("</svg>")
	return out.String()
}

// draw draws the picture.
func (b *board) draw() {
	a := b.grid.Area()
	a.Clear()
	stand := b.scene.Stand
	if b.scene.Black || stand.History == nil {
		return
	}
	stand.Look = unanswered(stand.Look)
	b.stage.Follow(stand)
	if stand.Look.Beat == nil {
		in := a.Frame([]grid.Span{{Text: stand.Look.Title, Style: theme.Title}}, theme.Line)
		in.Wrap(2, 1, in.W()-4, in.H()-1, stand.Look.Text, theme.Text)
		return
	}
	if b.stage.Card(a) {
		return
	}
	b.stage.Picture(b.grid, grid.Rect{W: b.size.W, H: b.size.H}, b.said.ofPicture(b.cfg.Lead))
}

// unanswered is the lesson without what anybody has answered: the lesson goes on with what most said, and that is not seen
// before the poll is shown.
func unanswered(look lessons.Look) lessons.Look {
	look.Answered, look.Verdict = false, ""
	look.Choices, look.Items = slices.Clone(look.Choices), slices.Clone(look.Items)
	for i := range look.Choices {
		look.Choices[i] = lessons.ChoiceLook{Text: look.Choices[i].Text}
	}
	for i := range look.Items {
		look.Items[i] = lessons.ItemLook{Text: look.Items[i].Text}
	}
	if look.Beat != nil {
		b := *look.Beat
		b.Answers, b.Told, b.Ghosts, b.Sure, b.AskSure, b.Held = "", nil, nil, 0, false, false
		look.Beat = &b
	}
	return look
}
