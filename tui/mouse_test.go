package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func (d *driver) mouse(x, y int) *driver {
	d.m.Update(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	d.look()
	return d
}

// at is where a text stands on the screen.
func (d *driver) at(text string) (x, y int) {
	d.t.Helper()
	for y, l := range strings.Split(d.screen(), "\n") {
		if i := strings.Index(l, text); i >= 0 {
			return len([]rune(l[:i])), y
		}
	}
	d.t.Fatalf("the screen does not show %q:\n%s", text, d.screen())
	return 0, 0
}

func TestTheScrubberIsDragged(t *testing.T) {
	d := explore(t, 120, 40, -1)
	y := d.m.frame.Layout().Timeline.Y + d.m.frame.Layout().Timeline.H - 1
	n := d.m.history().Len()
	at := func(x int) uint64 { // the first event at a column's time or behind it
		end := d.m.history().Latest().At
		for pos := uint64(0); pos < n; pos++ {
			if int(d.m.history().Stream().Get(pos).At*120/end) >= x {
				return pos
			}
		}
		return n - 1
	}
	drag := func(x int) {
		d.m.Update(tea.MouseMotionMsg{X: x, Y: y, Button: tea.MouseLeft})
		d.look()
	}
	drag(30)
	d.hides("PAST") // nothing is held
	d.mouse(60, y)
	if d.m.travel.Where().At != at(60) {
		t.Fatalf("a click in the middle goes to %d of %d", d.m.travel.Where().At, n)
	}
	drag(30)
	if d.m.travel.Where().At != at(30) {
		t.Fatalf("drawn on, it is at %d of %d", d.m.travel.Where().At, n)
	}
	d.press("A") // by events
	drag(60)
	if d.m.travel.Where().At != (n*60+119)/120 {
		t.Fatalf("by events, the middle is %d of %d", d.m.travel.Where().At, n)
	}
	drag(-4) // beyond the edge of the window
	if d.m.travel.Where().At != 0 {
		t.Fatalf("beyond the edge it is at %d", d.m.travel.Where().At)
	}
	drag(119)
	d.hides("PAST") // the last column is now
	drag(50)
	d.shows("PAST")
	d.m.Update(tea.MouseReleaseMsg{X: 50, Y: y, Button: tea.MouseLeft})
	left := d.m.travel.Where().At
	drag(90)
	if d.m.travel.Where().At != left {
		t.Fatal("the scrubber follows the mouse after it was let go")
	}
}

func TestAClickOnAMarkGoesToItsEvent(t *testing.T) {
	d := explore(t, 120, 40, -1)
	row := []rune(strings.Split(d.screen(), "\n")[d.m.frame.Layout().Timeline.Y])
	for x, r := range row {
		if r == '!' {
			d.mouse(x, d.m.frame.Layout().Timeline.Y)
			break
		}
	}
	if e := d.m.travel.State().Event; string(e.Kind) != "fault.inject" {
		t.Fatalf("the mark of a fault leads to %s", e.Kind)
	}
	d.shows("broken: ")
}

func TestTheKeyLineIsClicked(t *testing.T) {
	d := explore(t, 120, 40, 300)
	d.mouse(d.at(". step"))
	d.asked("step stage")
	d.mouse(d.at(": console"))
	d.shows("Console", "esc back to the panes")
	d.typed("kubectl get no").mouse(d.at("tab complete"))
	d.shows("$ kubectl get nodes")
	d.mouse(d.at("esc back to the panes"))
	d.shows("? help")
	d.mouse(d.at("? help"))
	d.shows("Help · 1 Cluster")
	d.mouse(d.at("esc close"))
	d.hides("Help · 1 Cluster")
	d.press("/").mouse(d.at("esc close"))
	d.hides("Filter")
	before := d.screen()
	x, y := d.at("? help")
	if got := d.mouse(x-3, y).screen(); got != before { // between the last key that fits and help
		t.Fatalf("a click beside the keys does something:\n%s", got)
	}
}

// A click on a line of the picture tells what went over it last, and a second one opens the list
// in which that stands.
func TestALineOfThePictureIsClicked(t *testing.T) {
	d := explore(t, 120, 40, -1, func(c *Config) { c.Preset = "" })
	x, y := d.at("├━━")
	d.mouse(x+4, y).shows("Last between you and the API server: #")
	d.mouse(x+4, y)
	if on := d.m.frame.Focused().Name; on != "api" {
		t.Errorf("a second click opens %q", on)
	}
}
