package tui

import (
	"slices"
	"testing"
	"time"

	"kviz/cluster/trace"
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
		if !slices.Contains(d.c.Asked, "speed 0.02") || !slices.Contains(d.c.Asked, "exec "+tourLine) {
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

	d = begin()
	last := d.c.Trace().Last()
	note := func(after time.Duration, seq uint64) {
		d.c.Trace().Append(&trace.Event{
			ID: trace.ID{Seq: last.ID.Seq + seq}, At: last.At + after, Lane: trace.Lane{Component: trace.CompScheduler}, Kind: trace.Converged,
		})
		d.look()
	}
	note(tourLegs[0].takes, 1)
	if last := d.c.Asked[len(d.c.Asked)-1]; last != "speed 0.1" {
		t.Errorf("the second leg begins with %q", last)
	}
	d.hides("that was the apply")
	note(tourLegs[0].takes+tourLegs[1].takes, 2)
	d.shows("that was the apply")
	if last := d.c.Asked[len(d.c.Asked)-1]; last != "speed 1" {
		t.Errorf("the tour ends with %q", last)
	}
}
