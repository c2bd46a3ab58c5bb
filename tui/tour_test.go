package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/tui/tuitest"
)

// The start screen's first choice applies something so slowly that one can follow it. It
// ends by itself after the cluster's seconds that it takes, or with any key, which also
// does what it always does.
func TestTheTour(t *testing.T) {
	begin := func() *driver {
		d := explore(t, 120, 40, -1, func(c *Config) { c.Preset, c.StartScreen = "", true })
		d.shows("Watch")
		d.press("enter").settle() // the command runs beside the explorer
		d.hides("a debugger for Kubernetes")
		if !slices.Contains(d.c.Asked, "speed 0.004") || !slices.Contains(d.c.Asked, "exec "+applyHello) {
			t.Errorf("the tour begins with %q", d.c.Asked)
		}
		return d
	}
	d := begin()
	d.press("2")
	d.shows("2 Store", "you have taken over")
	if last := d.c.Asked[len(d.c.Asked)-1]; last != "speed 1" {
		t.Errorf("a key ends the tour with %q", last)
	}

	for name, msg := range map[string]tea.Msg{
		"a click": tea.MouseClickMsg{X: 40, Y: 10, Button: tea.MouseLeft}, "the wheel": tea.MouseWheelMsg{X: 40, Y: 10, Button: tea.MouseWheelDown}, "a paste": tea.PasteMsg{Content: "kubectl get pods"},
	} {
		d = begin()
		d.m.Update(msg)
		d.shows("you have taken over")
		if last := d.c.Asked[len(d.c.Asked)-1]; last != "speed 1" {
			t.Errorf("%s ends the tour with %q", name, last)
		}
	}

	d = begin()
	last := d.c.Trace().Last()
	note := func(after time.Duration, seq uint64) {
		d.c.Trace().Append(&trace.Event{
			ID: trace.ID{Seq: last.ID.Seq + seq}, At: last.At + after, Lane: trace.Lane{Component: trace.CompScheduler}, Kind: trace.Converged,
		})
		d.look()
	}
	var after time.Duration
	for i, l := range apply().legs {
		d.hides("that was the apply")
		d.shows(l.says)
		if last := fmt.Sprintf("speed %g", l.speed); !slices.Contains(d.c.Asked, last) {
			t.Errorf("leg %d begins without %q", i, last)
		}
		after += l.takes
		note(after, uint64(i+1))
	}
	d.shows("that was the apply")
	if last := d.c.Asked[len(d.c.Asked)-1]; last != "speed 1" {
		t.Errorf("the tour ends with %q", last)
	}
}

// Each of the three words has a key, on the start screen and everywhere, and a tour of about
// a minute that ends with what was seen.
func TestAWordATour(t *testing.T) {
	for key, name := range map[string]string{"f2": "declarative", "f3": "convergence", "f4": "distributed"} {
		for _, start := range []bool{true, false} {
			d := exploreTape(t, tuitest.Calm(3, 3), 120, 40, func(c *Config) { c.Preset, c.StartScreen = "", start })
			if start {
				d.shows(strings.ToUpper(name[:1])+name[1:], key)
			} else {
				d.press("ctrl+p").typed(name).shows(name, key).press("esc")
			}
			d.press(key).settle()
			tour := tourOf(name)
			first := tour.legs[0]
			d.asked(fmt.Sprintf("speed %g", first.speed))
			d.asked("exec " + first.line(d.m.travel.State()))
			d.shows(first.says, "Console")
			d.press("2")
			d.shows("you have taken over")
			d.asked("speed 1")
		}
	}
}

// A tour takes about a minute of the person's time, and each of its sentences can be read
// where there is least room.
func TestToursTakeAMinute(t *testing.T) {
	for _, tour := range tours() {
		var most time.Duration
		for _, l := range tour.legs {
			took := time.Duration(float64(l.takes) / l.speed)
			if took < reading {
				t.Errorf("%s: %q stays for %s", tour.name, l.says, took)
			}
			most += took
			says := []string{l.says}
			for _, x := range l.then {
				says = append(says, x.says)
			}
			for _, said := range says {
				if n := len([]rune(said)); n > 78 {
					t.Errorf("%s: %q has %d columns", tour.name, said, n)
				}
			}
			if l.line != nil && !l.quiet && took < time.Duration(len(says))*4*time.Second {
				t.Errorf("%s: %s is too short for %d sentences", tour.name, took, len(says))
			}
		}
		if most < 45*time.Second || most > 75*time.Second {
			t.Errorf("%s takes up to %s", tour.name, most)
		}
		if n := len([]rune(tour.ends)); n > 100 || n == 0 {
			t.Errorf("%s: %q has %d columns", tour.name, tour.ends, n)
		}
	}
}
