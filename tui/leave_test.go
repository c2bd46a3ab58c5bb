package tui

import (
	"errors"
	"slices"
	"testing"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/view"
	"kviz/tui/tuitest"
)

// leaves reports whether a key ends the explorer.
func (d *driver) leaves(k string) bool {
	d.t.Helper()
	_, cmd := d.m.Update(tuitest.Press(k))
	left := quits(cmd)
	d.look()
	return left
}

// What somebody did in a cluster is lost with it: the first q or ctrl+c asks, the second
// leaves, and esc stays.
func TestLeavingAsksWhenSomethingWouldBeLost(t *testing.T) {
	for _, k := range []string{"q", "ctrl+c"} {
		d := explore(t, 80, 24, -1) // the story has commands and faults
		if d.leaves(k) {
			t.Fatalf("%s ends a cluster in which somebody ran commands without a question", k)
		}
		d.shows("Leave kviz?", "what you did in it", "q leave", "esc stay")
		d.press("esc").hides("Leave kviz?")
		d.leaves(k)
		if !d.leaves(k) {
			t.Fatalf("%s twice does not leave", k)
		}
	}
	d, run := hold(t, 120, 40)
	c := run("kubectl wait --for=condition=ready pod/web")
	d.press("esc")
	if d.leaves("q") {
		t.Fatal("q ends a command that runs without a question")
	}
	d.shows("A command still runs in the console")
	d.press("esc", ":", "ctrl+c") // which ends it
	<-c.ctx.Done()
	d.press("esc", "q")
	d.hides("A command still runs in the console")
}

// Nothing would be lost: nobody has touched the cluster, it is there again next time, it
// is a recording, or somebody else's.
func TestLeavingAtOnce(t *testing.T) {
	untouched := tuitest.NewCluster(tuitest.Story(), 12)
	for name, change := range map[string]func(*Config){
		"untouched":   func(c *Config) { c.Cluster, c.History = untouched, view.NewHistory(untouched.Trace()) },
		"saved":       func(c *Config) { c.Saved = true },
		"a recording": func(c *Config) { c.Cluster, c.Recording = nil, "story.kvrun" },
		"over SSH":    func(c *Config) { c.Remote = true },
	} {
		if d := explore(t, 80, 24, -1, change); !d.leaves("q") {
			t.Errorf("%s: q does not leave at once:\n%s", name, d.screen())
		}
	}
}

// Instead of losing it one can save the run and leave; a file that cannot be written is
// asked for again.
func TestLeavingOffersToSave(t *testing.T) {
	var wrote []string
	d := explore(t, 80, 24, -1, func(c *Config) {
		c.Save = func(path string) error {
			if wrote = append(wrote, path); path == "run.kvrun" {
				return errors.New("run.kvrun: file exists")
			}
			return nil
		}
	})
	back := make(chan tea.Msg, 1)
	d.m.send = func(msg tea.Msg) { back <- msg }
	d.press("q").shows("s save a recording and leave").press("s").shows("Save a recording", "run.kvrun").press("enter")
	if _, cmd := d.m.Update(<-back); quits(cmd) {
		t.Fatal("it leaves though nothing was saved")
	}
	d.look()
	d.shows("file exists").press("backspace", "backspace", "enter")
	if _, cmd := d.m.Update(<-back); !quits(cmd) {
		t.Errorf("it stays though the run is saved:\n%s", d.screen())
	}
	if want := []string{"run.kvrun", "run.kvr"}; !slices.Equal(wrote, want) {
		t.Errorf("it wrote %v, want %v", wrote, want)
	}
}
