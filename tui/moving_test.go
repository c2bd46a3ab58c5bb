package tui

import (
	"testing"

	"kviz/cluster/view"
	"kviz/tui/motion"
	"kviz/tui/tuitest"
)

// How much moves is chosen in the palette, which says what each choice does.
func TestMotionIsChosenInThePalette(t *testing.T) {
	d := explore(t, 120, 40, 300)
	if got := d.m.moving.player.Mode(); got != motion.Full {
		t.Fatalf("without a choice motion is %s", got)
	}
	for _, mode := range motion.Modes() {
		d.press("ctrl+p").typed("motion " + mode).press("enter")
		d.shows("motion: "+mode, motion.Mode(mode).Means()[:20])
		if got := d.m.moving.player.Mode(); got != motion.Mode(mode) {
			t.Errorf("%s was chosen, motion is %s", mode, got)
		}
	}
}

// Without motion there is no frame without a new state: nothing ticks and nothing is written
// while nothing happens.
func TestWithoutMotionNothingMovesByItself(t *testing.T) {
	d := exploreCluster(t, tuitest.NewCluster(tuitest.Story(), 300), 120, 40, func(c *Config) { c.Motion, c.Preset = "none", "" })
	d.press(".")
	d.look()
	frames := d.m.screen.frames
	for range 1800 { // a minute
		d.m.Update(tickMsg{})
		d.m.View()
	}
	if d.m.screen.frames != frames {
		t.Errorf("%d frames were drawn while nothing happened", d.m.screen.frames-frames)
	}
	if d.m.moving.player.Busy() {
		t.Error("something moves by itself")
	}
}

// NO_MOTION in the environment means none, unless something else was asked for.
func TestNoMotionIsHonoured(t *testing.T) {
	for _, c := range []struct {
		asked string
		want  motion.Mode
	}{{"", motion.Off}, {"calm", motion.Calm}} {
		cluster := tuitest.NewCluster(tuitest.Story(), 300)
		term := newTerminal(80, 24)
		got := make(chan motion.Mode, 1)
		done := make(chan error, 1)
		go func() {
			done <- Run(t.Context(), Config{
				Cluster: cluster, History: view.NewHistory(cluster.Trace()), Theme: "dark", Motion: c.asked, Input: term.in, Output: term,
				Environ: append([]string{"NO_MOTION=1"}, plainTerminal...), Size: [2]int{80, 24},
				done: func(m *Explorer) { got <- m.moving.player.Mode() },
			})
		}()
		if mode := <-got; mode != c.want {
			t.Errorf("asked for %q, motion is %s, want %s", c.asked, mode, c.want)
		}
		term.await(t, "PAUSED")
		if _, err := term.typ.Write([]byte("qq")); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}
