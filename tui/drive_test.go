package tui

import (
	"context"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/view"
	"kviz/tui/safe"
	"kviz/tui/tuitest"
)

// driver drives the model without a program: messages in, screens out.
type driver struct {
	t testing.TB
	m *Explorer
	c *tuitest.Cluster

	sent chan tea.Msg // what goroutines of the explorer have sent it
}

// explore makes an explorer over the story's first n events.
func explore(t testing.TB, w, h, n int, change ...func(*Config)) *driver {
	t.Helper()
	return exploreCluster(t, tuitest.NewCluster(tuitest.Story(), n), w, h, change...)
}

// exploreTape makes an explorer over all events of a tape.
func exploreTape(t testing.TB, tape *tuitest.Tape, w, h int, change ...func(*Config)) *driver {
	t.Helper()
	return exploreCluster(t, tuitest.NewCluster(tape, -1), w, h, change...)
}

func exploreCluster(t testing.TB, c *tuitest.Cluster, w, h int, change ...func(*Config)) *driver {
	t.Helper()
	cfg := Config{Cluster: c, History: view.NewHistory(c.Trace()), Theme: "dark", Preset: "overview"}
	for _, f := range change {
		f(&cfg)
	}
	cfg.History.CatchUp(0)
	m, err := New(context.Background(), cfg, safe.NewGroup(nil))
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{t, m, c, make(chan tea.Msg, 16)}
	m.send = func(msg tea.Msg) { d.sent <- msg }
	d.m.Update(tea.WindowSizeMsg{Width: w, Height: h})
	d.look()
	return d
}

// look folds what happened and lets the explorer look once.
func (d *driver) look() {
	d.m.history().CatchUp(0)
	d.m.View() // as the program does after every message
	d.m.Update(tickMsg{})
	d.m.View()
}

// settle waits for what goes on beside the explorer, and tells it what came of it.
func (d *driver) settle() *driver {
	d.m.safe.Wait()
	for len(d.sent) > 0 {
		d.m.Update(<-d.sent)
	}
	d.look()
	return d
}

// press presses keys by name, one after another.
func (d *driver) press(keys ...string) *driver {
	for _, k := range keys {
		d.m.Update(tuitest.Press(k))
		d.look()
	}
	return d
}

// typed types text.
func (d *driver) typed(text string) *driver {
	for _, r := range text {
		d.m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	d.look()
	return d
}

// screen is the frame as plain text.
func (d *driver) screen() string {
	d.m.View()
	g := d.m.frame.Grid(!d.m.open.Empty())
	return g.Plane()
}

func (d *driver) planes() string {
	d.m.View()
	g := d.m.frame.Grid(!d.m.open.Empty())
	return tuitest.Planes(g)
}

func (d *driver) shows(what ...string) *driver {
	d.t.Helper()
	s := d.screen()
	for _, w := range what {
		if !strings.Contains(s, w) {
			d.t.Fatalf("the screen does not show %q:\n%s", w, s)
		}
	}
	return d
}

func (d *driver) hides(what string) *driver {
	d.t.Helper()
	if s := d.screen(); strings.Contains(s, what) {
		d.t.Fatalf("the screen shows %q:\n%s", what, s)
	}
	return d
}

func (d *driver) asked(what string) {
	d.t.Helper()
	for _, a := range d.c.Asked {
		if a == what {
			return
		}
	}
	d.t.Fatalf("the cluster was not asked %q, but %q", what, d.c.Asked)
}
