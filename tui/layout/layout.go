// Package layout divides the screen: a pure function from its size, the panes there
// are, the preset, the pane in focus and whether it is zoomed, to rectangles. The same
// rectangles are drawn into and hit by the mouse. Panes go by their names.
//
// The frame is always there: a status line above; below, the explanation, the
// timeline and the key line. Between them lies the body with as many panes as
// fit: one with tabs at 80x24, four from 100x30, six (two columns of three)
// from 120x40, nine from 180x48; the first arrangement shows the picture of the cluster
// alone (picture.go). A lesson takes a column on the right, or the lower part of the
// body where the screen is narrow; the console is a drawer below (console.go).
//
// Start reading at [Compute].
package layout

import (
	"fmt"
	"slices"

	"kviz/tui/grid"
)

// MinW and MinH are the smallest screen the explorer can draw on.
const (
	MinW = 60
	MinH = 18
)

// Preset is a way of arranging panes: which come first, and whether the first
// is larger than the rest.
type Preset struct {
	Name  string
	Means string
	First []string // the panes that matter most to it, in order; the others follow
	Main  bool     // the first (or focused) pane takes the larger part
}

// Presets are the arrangements that the layout key goes through.
var Presets = []Preset{
	{picture, "the whole cluster as one living picture; a pane that is asked for comes below it", []string{"map", "events", "store", "queues"}, false},
	{"overview", "everything at once, as many panes as fit", []string{"map", "events", "store", "api", "queues"}, false},
	{"main", "the pane in focus large, the rest small beside it", []string{"map", "events", "store", "scheduler", "queues", "api"}, true},
	{"write path", "a write: API pipeline, store, watch, queue", []string{"api", "store", "events", "queues", "object"}, false},
	{"placing a pod", "scheduler, node, map, object", []string{"scheduler", "node", "map", "events", "object", "queues"}, false},
	{"network", "Services, rules, packets", []string{"network", "object", "map", "events", "node", "queues"}, false},
	{"one", "one pane at a time", nil, true},
}

// In is what the layout depends on.
type In struct {
	W, H    int
	Panes   []string // all there are, in their order
	Preset  int
	Focus   string // the pane in focus
	Zoom    bool
	Lesson  bool
	Reading bool     // the lesson is large: where the screen is narrow it takes the panes' place
	Order   []string // panes to show before those of the preset
	Console int      // rows that the console would take; 0: it is shut
	Curve   bool     // a row more below the timeline
	Twice   bool     // the pane in focus alone, of two runs
	Menu    bool     // an overlay stands beside the panes, not over them
}

// Slot is one pane's place, frame included.
type Slot struct {
	Pane  string
	Rect  grid.Rect
	Under int // rows that the pane has below that, over which the console lies
}

// Whole is where the pane is drawn, with what the console lies over.
func (s Slot) Whole() grid.Rect {
	r := s.Rect
	r.H += s.Under
	return r
}

// Out is a divided screen.
type Out struct {
	TooSmall string // why nothing fits; all else is empty then
	Status   grid.Rect
	Tabs     grid.Rect // empty when every pane of the preset is on the screen
	Body     grid.Rect
	Slots    []Slot
	Second   grid.Rect // where the pane is drawn of the other run; empty where there is none
	Lesson   grid.Rect
	Console  grid.Rect
	Menu     grid.Rect
	Explain  grid.Rect
	Timeline grid.Rect
	Keys     grid.Rect
}

// Compute divides the screen.
func Compute(in In) Out {
	if in.W < MinW || in.H < MinH {
		return Out{TooSmall: fmt.Sprintf("this screen is %dx%d; kviz needs %dx%d", in.W, in.H, MinW, MinH)}
	}
	o := Out{Status: grid.Rect{X: 0, Y: 0, W: in.W, H: 1}}
	explain, timeline := 1, 2
	if in.H >= 30 {
		explain, timeline = 2, 3
	}
	if in.H >= 40 {
		timeline = 4
	}
	if in.Curve {
		timeline++
	}
	y := in.H - 1
	o.Keys = grid.Rect{X: 0, Y: y, W: in.W, H: 1}
	y -= timeline
	o.Timeline = grid.Rect{X: 0, Y: y, W: in.W, H: timeline}
	y -= explain
	o.Explain = grid.Rect{X: 0, Y: y, W: in.W, H: explain}
	o.Body = grid.Rect{X: 0, Y: 1, W: in.W, H: y - 1}

	body := o.Body
	if in.Lesson && in.Reading && in.W < beside {
		o.Lesson, o.Console = consoleRect(in, body, 1)
		return o
	}
	body, o.Lesson = lessonRect(in, body)
	cols, rows := shape(in, body) // which the console does not change
	body, o.Console = consoleRect(in, body, rows)
	body, o.Menu = menuRect(in, body)
	if narrowest(in, body, cols) < leastW { // a lesson and a menu beside it
		cols, rows = 1, 1
	}
	if cols*rows < len(in.Panes) && !(in.Menu && in.W < beside) {
		o.Tabs = grid.Rect{X: body.X, Y: body.Y, W: body.W, H: 1}
		body = grid.Rect{X: body.X, Y: body.Y + 1, W: body.W, H: body.H - 1}
	}
	if in.Twice {
		first, second := halves(body)
		o.Slots, o.Second = []Slot{{Pane: in.Focus, Rect: first}}, second
		return o
	}
	o.Slots = slots(in, body, cols, rows)
	if pictured(in) && len(o.Slots) == 1 && o.Slots[0].Pane == Order(in)[0] {
		o.Slots[0].Under = under(o.Slots[0].Rect, o.Console)
	}
	return o
}

// halves are two places of a size: beside each other where a pane can be read in half the
// width, else one above the other.
func halves(body grid.Rect) (first, second grid.Rect) {
	if body.W >= 100 {
		w := body.W / 2
		return grid.Rect{X: body.X, Y: body.Y, W: w, H: body.H}, grid.Rect{X: body.X + w, Y: body.Y, W: w, H: body.H}
	}
	h := body.H / 2
	return grid.Rect{X: body.X, Y: body.Y, W: body.W, H: h}, grid.Rect{X: body.X, Y: body.Y + h, W: body.W, H: h}
}

// beside is how wide the screen must be for a lesson to stand beside the panes.
const beside = 110

// Narrow reports whether a lesson lies below the panes, not beside them.
func Narrow(w int) bool { return w < beside }

func lessonRect(in In, body grid.Rect) (rest, lesson grid.Rect) {
	if !in.Lesson {
		return body, grid.Rect{}
	}
	if in.W >= beside {
		w := min(max(in.W*3/10, 40), 64)
		return grid.Rect{X: body.X, Y: body.Y, W: body.W - w, H: body.H},
			grid.Rect{X: body.X + body.W - w, Y: body.Y, W: w, H: body.H}
	}
	h := max(body.H*45/100, 8)
	if in.Console > 0 {
		h = min(h, max(body.H-Rest-5, 5)) // else nothing is left for a pane on the smallest screen
	}
	return grid.Rect{X: body.X, Y: body.Y, W: body.W, H: body.H - h},
		grid.Rect{X: body.X, Y: body.Y + body.H - h, W: body.W, H: h}
}

// shape is how many panes stand beside and above one another.
func shape(in In, body grid.Rect) (cols, rows int) {
	if in.Zoom || in.Twice || Presets[preset(in)].Name == "one" || pictured(in) {
		return 1, 1
	}
	if Presets[preset(in)].Main { // rows of those beside the large one
		switch {
		case body.H >= 31:
			return 2, 3
		case body.H >= 22 && (body.W >= 90 || body.H >= 28):
			return 2, 2
		}
		return 2, 1
	}
	switch {
	case body.W >= 240:
		cols = 4
	case body.W >= 165:
		cols = 3
	case body.W >= 90:
		cols = 2
	default:
		cols = 1
	}
	switch {
	case body.H >= 42 || cols == 2 && body.H >= 32: // six panes of sixty columns say more than six of forty
		rows = 3
	case body.H >= 22:
		rows = 2
	default:
		rows = 1
	}
	if cols == 1 && body.H < 28 {
		rows = 1
	}
	if cols == 3 && rows == 1 {
		cols = 2
	}
	if cols*rows > len(in.Panes) {
		cols = 3
	}
	return cols, rows
}

// leastW is the narrowest that a pane can be and still say something, frame included.
const leastW = 20

// narrowest is how wide the narrowest pane is with so many beside one another.
func narrowest(in In, body grid.Rect, cols int) int {
	if cols > 1 && Presets[preset(in)].Main {
		return body.W - mainW(body)
	}
	return body.W / cols
}

func preset(in In) int {
	n := len(Presets)
	return ((in.Preset % n) + n) % n
}

// slots puts panes into cols x rows places. The focused pane is always there:
// if the preset's order leaves it out, it takes the last place.
func slots(in In, body grid.Rect, cols, rows int) []Slot {
	if pictured(in) {
		return pictureSlots(in, body)
	}
	if cols*rows == 1 {
		return []Slot{{Pane: in.Focus, Rect: body}}
	}
	if Presets[preset(in)].Main {
		return mainSlots(in, body, rows)
	}
	show := chosen(Order(in), in.Focus, cols*rows)
	var out []Slot
	for i, n := range show {
		c, r := i%cols, i/cols
		x0, x1 := body.W*c/cols, body.W*(c+1)/cols
		y0, y1 := body.H*r/rows, body.H*(r+1)/rows
		out = append(out, Slot{Pane: n, Rect: grid.Rect{X: body.X + x0, Y: body.Y + y0, W: x1 - x0, H: y1 - y0}})
	}
	return out
}

// Order is the order in which panes get places: the requested ones, then those of the
// preset, then the rest.
func Order(in In) []string {
	var out []string
	for _, names := range [][]string{in.Order, Presets[preset(in)].First, in.Panes} {
		for _, n := range names {
			if !slices.Contains(out, n) && slices.Contains(in.Panes, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// mainW is how wide the large pane is.
func mainW(body grid.Rect) int { return body.W * 62 / 100 }

func mainSlots(in In, body grid.Rect, rows int) []Slot {
	w := mainW(body)
	out := []Slot{{Pane: in.Focus, Rect: grid.Rect{X: body.X, Y: body.Y, W: w, H: body.H}}}
	n := 0
	for _, pane := range Order(in) {
		if pane == in.Focus || n == rows {
			continue
		}
		y0, y1 := body.H*n/rows, body.H*(n+1)/rows
		out = append(out, Slot{Pane: pane, Rect: grid.Rect{X: body.X + w, Y: body.Y + y0, W: body.W - w, H: y1 - y0}})
		n++
	}
	return out
}

func chosen(order []string, focus string, n int) []string {
	n = min(n, len(order))
	show := slices.Clone(order[:n])
	for _, p := range show {
		if p == focus {
			return show
		}
	}
	show[n-1] = focus
	return show
}

// Hit is the pane at x, y, or "".
func (o Out) Hit(x, y int) string {
	for _, s := range o.Slots {
		if s.Rect.Has(x, y) {
			return s.Pane
		}
	}
	return ""
}

// Shows reports whether a pane is on the screen.
func (o Out) Shows(pane string) bool {
	return slices.ContainsFunc(o.Slots, func(s Slot) bool { return s.Pane == pane })
}
