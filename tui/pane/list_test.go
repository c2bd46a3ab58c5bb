package pane_test

import (
	"fmt"
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// numbers is the smallest pane: a list of a hundred numbers, two side by side.
type numbers struct {
	pane.List
	flipped bool
}

func newNumbers() *numbers {
	p := &numbers{List: pane.NewList(pane.Info{Name: "numbers", Title: "Numbers"})}
	p.Key(keymap.Bind(keymap.Open, "open", "Open it.", "enter"), nil)
	p.Views("n.part", "part", pane.View{Name: "odd", Means: "odd ones"}, pane.View{Name: "even", Means: "even ones"}, pane.View{Name: "all", Means: "all of them"})
	p.Key(keymap.Bind("n.flip", "flip", "Turn it over.", "i"), pane.Flip(&p.flipped))
	return p
}

func (*numbers) Note(*pane.Frame) string { return "" }

func (*numbers) Draw(s *pane.Sheet, f *pane.Frame) {
	left := s.W() / 2
	a, b := s.Halves(left)
	for i := range 100 {
		half := []*pane.Sheet{a, b}[i%2]
		half.Line(i/2, pane.Subject{ID: fmt.Sprint(i), Event: trace.ID{Seq: uint64(i)}}, grid.Span{Text: fmt.Sprintf("number %d", i)})
	}
	s.Divide(0, left, a, b)
}

// list is a host with the list drawn in a window of 40x12, and its frame.
func list(t *testing.T) (*numbers, *pane.Host, *pane.Frame, func()) {
	t.Helper()
	h := tuitest.Story().History()
	p := newNumbers()
	host, g := pane.NewHost(p, "1"), grid.New(40, 12)
	f := &pane.Frame{S: h.Latest(), H: h, Focused: true, Live: true}
	draw := func() { host.Draw(g, grid.Rect{W: 40, H: 12}, *f) }
	draw()
	return p, host, f, draw
}

// Keys, clicks and the wheel choose and scroll in every list alike.
func TestCursorWheelAndClick(t *testing.T) {
	_, host, f, draw := list(t)
	under := func(want string) {
		t.Helper()
		draw()
		if got := host.Under().ID; got != want {
			t.Fatalf("the cursor is on %q, want %q", got, want)
		}
	}
	under("0")
	host.Move(keymap.Down, f)
	under("2")
	host.Move(keymap.Right, f)
	under("3")
	host.Move(keymap.Down, f) // stays in its column
	under("5")
	host.Move(keymap.PageDn, f)
	under("23")
	host.Move(keymap.Left, f)
	under("22")
	if again := host.Click(25, 5, f); again {
		t.Fatal("a first click counts as a second")
	}
	draw()
	clicked := host.Under().ID
	if !host.Click(25, 5, f) {
		t.Fatal("a second click at the same place does not")
	}
	host.Wheel(6, f) // the cursor stays on its thing, out of sight
	under(clicked)
	x, y, ok := host.Cursor()
	if !ok || x < 1 || y < 1 || y > 10 {
		t.Fatalf("the cursor left the window: %d,%d", x, y)
	}
	for range 99 {
		host.Move(keymap.Down, f)
		draw()
	}
	under("99")
}

// A key does what the pane said, enter opens what is under the cursor, and
// what the pane does not know it leaves alone.
func TestKeys(t *testing.T) {
	p, host, f, _ := list(t)
	for range 4 {
		if ask := p.Do("n.part", host.Under(), f); ask != (action.Redraw{}) {
			t.Fatalf("%#v", ask)
		}
	}
	p.Do("n.flip", host.Under(), f)
	if p.View().Name != "even" || !p.flipped {
		t.Fatalf("view %s, flipped %t", p.View().Name, p.flipped)
	}
	if p.PreviousView(); p.View().Name != "odd" {
		t.Fatalf("before even is %s", p.View().Name)
	}
	if p.ShowView("all"); p.View().Name != "all" {
		t.Fatalf("%s is shown instead of all", p.View().Name)
	}
	if p.ShowView("none"); p.View().Name != "all" {
		t.Fatalf("%s is shown instead of all, for a view that there is not", p.View().Name)
	}
	host.Move(keymap.Down, f)
	if ask := p.Do(keymap.Open, host.Under(), f); ask != (action.Goto{ID: trace.ID{Seq: 2}}) {
		t.Fatalf("enter asks for %#v", ask)
	}
	if ask := p.Do(keymap.Open, pane.OnPod("demo/web"), f); ask != (action.Show{Ref: pane.PodRef("demo/web")}) {
		t.Fatalf("enter on a pod asks for %#v", ask)
	}
	if ask := p.Do("another.pane", host.Under(), f); ask != nil {
		t.Fatalf("%#v", ask)
	}
	if n := len(p.Info().Keys); n != 3 {
		t.Fatalf("%d keys are shown", n)
	}
}

// newest is a pane whose newest thing is on top.
type newest struct {
	pane.List
	things int
}

func (*newest) Note(*pane.Frame) string { return "" }

func (p *newest) Draw(s *pane.Sheet, f *pane.Frame) {
	for i := range p.things {
		s.Line(i, pane.Subject{ID: fmt.Sprint(p.things - i)}, grid.Span{Text: "thing"})
	}
}

// The cursor of a pane waits at the top until the pane has the focus; then it stays on
// its thing. Where somebody has put it, it stays on its thing without the focus too.
func TestTheCursorBeginsWithTheNewest(t *testing.T) {
	p := &newest{List: pane.NewList(pane.Info{Name: "newest", Title: "Newest"}), things: 3}
	h := pane.NewHost(p, "1")
	g := grid.New(40, 12)
	draw := func(focused bool) string {
		h.Dirty()
		h.Draw(g, grid.Rect{W: 40, H: 12}, pane.Frame{Focused: focused})
		p.things++
		return h.Under().ID
	}
	for i, step := range []struct {
		focused bool
		want    string
	}{{false, "3"}, {false, "4"}, {true, "4"}, {true, "4"}, {false, "7"}, {true, "7"}} {
		if got := draw(step.focused); got != step.want {
			t.Errorf("step %d: the cursor is on %s, want %s", i, got, step.want)
		}
	}
	h.Move(keymap.Down, &pane.Frame{Focused: true})
	for _, focused := range []bool{true, false, true} {
		if got := draw(focused); got != "6" {
			t.Errorf("after a move, focused %v: the cursor is on %s, want 6", focused, got)
		}
	}
}

// The views of a pane stand in the lower edge of its frame, all of them where there is room.
func TestTheViewsAreNamed(t *testing.T) {
	p, _, f, _ := list(t)
	for _, c := range []struct {
		w    int
		turn bool
		want string
	}{
		{40, false, "╰─ v ▸odd  even  all "},
		{40, true, "╰─ v  odd ▸even  all "},
		{20, false, "╰─ v ▸even 2/3 ─"},
		{12, false, "╰──────────╯"},
	} {
		if c.turn {
			p.Do("n.part", pane.Subject{}, f)
		}
		g := grid.New(c.w, 6)
		pane.NewHost(p, "1").Draw(g, grid.Rect{W: c.w, H: 6}, *f)
		lines := strings.Split(strings.TrimRight(g.Plane(), "\n"), "\n")
		if edge := lines[5]; !strings.HasPrefix(edge, c.want) {
			t.Errorf("at %d columns the edge is %q, want %q", c.w, edge, c.want)
		}
	}
}
