package tui

import (
	"strconv"
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
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

// mapOf is what the map shows, without the frame around the panes.
func mapOf(d *driver) string {
	lines := strings.Split(d.screen(), "\n")
	return strings.Join(lines[2:35], "\n")
}

// Paused and settled: after a step has been seen, nothing is drawn for a minute.
func TestPausedAndSettledIsStill(t *testing.T) {
	d := exploreCluster(t, tuitest.NewCluster(tuitest.Story(), 300), 120, 40, func(c *Config) { c.Preset = "" })
	d.press(".")
	for range 120 { // the step's motion
		d.look()
	}
	if d.m.moving.player.Busy() {
		t.Fatal("a step moves for more than four seconds")
	}
	if shot := d.m.moving.player.Shot(); shot.Event == nil || len(shot.Pulses)+len(shot.Lamps) != 1 {
		t.Errorf("after a step %d things stand", len(shot.Pulses)+len(shot.Lamps))
	}
	frames := d.m.screen.frames
	for range 1800 {
		d.m.Update(tickMsg{})
		d.m.View()
	}
	if d.m.screen.frames != frames {
		t.Errorf("%d frames were drawn while nothing happened", d.m.screen.frames-frames)
	}
}

// A step shows in the flow of a controller how its key moves, and then nothing does: no frame is
// drawn for a minute. Without motion there is one frame for the step.
func TestKeysMoveOnAStepAndComeToRest(t *testing.T) {
	for _, mode := range motion.Modes() {
		d := exploreCluster(t, tuitest.NewCluster(tuitest.Story(), 300), 120, 40, func(c *Config) { c.Preset, c.Motion = "", mode })
		d.press("5", "z")
		d.m.perform(action.Grain(trace.GrainQueue))
		moved := 0
		for range 12 { // steps; some end at a run, which moves no key
			d.press(".")
			seen := map[string]bool{}
			for i := 0; i < 3 || d.m.moving.player.Busy(); i++ {
				if seen[mapOf(d)] = true; i > 150 {
					t.Fatalf("%s: a step moves for more than five seconds", mode)
				}
				d.look()
			}
			if len(seen) > 5 {
				moved++
			}
		}
		if moved > 0 != (mode == string(motion.Full)) {
			t.Errorf("%s: a key was seen to move in %d of 12 steps", mode, moved)
		}
		frames := d.m.screen.frames
		for range 1800 {
			d.m.Update(tickMsg{})
			d.m.View()
		}
		if d.m.screen.frames != frames {
			t.Errorf("%s: %d frames were drawn while nothing happened", mode, d.m.screen.frames-frames)
		}
	}
}

// Going back over the same events gives the same pictures as having stood there, and they are
// those of a recording of the run.
func TestThePictureOfThePastIsTheSame(t *testing.T) {
	tape := tuitest.Story()
	live := exploreTape(t, tape, 120, 40, func(c *Config) { c.Preset = "" })
	again := exploreTape(t, tape, 120, 40, func(c *Config) { c.Preset = "" })
	replayed := exploreTape(t, tape, 120, 40, func(c *Config) { c.Preset, c.Recording, c.Cluster = "", "run.kvrun", nil })
	var back []string
	for n := 430; n > 330; n -= 10 {
		live.press("#").typed(strconv.Itoa(n)).press("enter")
		back = append(back, mapOf(live))
	}
	if back[0] == back[len(back)-1] {
		t.Fatal("the picture is the same everywhere")
	}
	for i, n := 0, 430; n > 330; i, n = i+1, n-10 {
		for _, d := range []*driver{again, replayed} {
			d.press("#").typed(strconv.Itoa(n - 5)).press("enter") // from elsewhere
			d.press("#").typed(strconv.Itoa(n)).press("enter")
			if got := mapOf(d); got != back[i] {
				t.Fatalf("#%d, recording %q:\n%s\nwant\n%s", n, d.m.recording, got, back[i])
			}
		}
	}
}
