package tui

import (
	"testing"

	"kviz/cluster/view"
	"kviz/tui/tuitest"
)

// leaves reports whether a key ends the explorer.
func (d *driver) leaves(k string) bool {
	d.t.Helper()
	_, cmd := d.m.Update(key(k))
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
