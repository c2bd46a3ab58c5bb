package pane_test

import (
	"fmt"
	"testing"

	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// many is a pane of a hundred things, which counts how often it made the words of one.
type many struct {
	*numbers
	made int
}

func (p *many) Draw(s *pane.Sheet, _ *pane.Frame) {
	for i := range 100 {
		s.Row(i).Text(0, 0, fmt.Sprint(i), 0)
		s.HotTold(0, i, 3, pane.Subject{ID: fmt.Sprint(i)}, func() string {
			p.made++
			return fmt.Sprintf("This is number %d.", i)
		})
	}
}

// Words that cost something are made for what is under the cursor alone, once a drawing.
func TestWordsAreMadeUnderTheCursor(t *testing.T) {
	h := tuitest.Story().History()
	p := &many{numbers: newNumbers()}
	host := pane.NewHost(p, "1")
	host.Put("42")
	host.Draw(grid.New(40, 12), grid.Rect{W: 40, H: 12}, pane.Frame{S: h.Latest(), H: h, Focused: true, Live: true})
	if p.made != 0 {
		t.Errorf("a drawing made the words of %d things", p.made)
	}
	for range 3 {
		if got := host.Under().Words; got != "This is number 42." {
			t.Errorf("under the cursor it says %q", got)
		}
	}
	if p.made != 1 {
		t.Errorf("the words under the cursor were made %d times", p.made)
	}
}
