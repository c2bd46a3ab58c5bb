package tui

import (
	"fmt"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/motion"
	"kviz/tui/tuitest"
)

// moves is an explorer on whose picture as much moves as may: 24 pulses at 30 Hz, or 8 at 12 Hz far away.
// The state stands; what a frame costs is the picture and its bytes.
type moves struct {
	d      *driver
	t      *painter
	events []*trace.Event
	state  *view.State
	hertz  float64
	n      int
	pulses int // that were seen, over all frames
}

// screens are the sizes and ways in which pictures are seen to move.
var screens = []struct {
	name   string
	w, h   int
	remote bool
	hertz  float64
}{{"120x40", 120, 40, false, 30}, {"200x60", 200, 60, false, 30}, {"120x40-remote", 120, 40, true, 12}}

// inMotion makes one of a picture: of the map with all that happens in the story, of five members of
// whose store one thing after the other is written, after an election, or of a queue that keys go through.
func inMotion(tb testing.TB, picture string, w, h int, remote bool, hertz float64) *moves {
	tb.Helper()
	set := func(x *Config) { x.Preset, x.Remote = "", remote }
	x := &moves{t: newPainter(w, h), hertz: hertz}
	switch picture {
	case "map":
		x.d = explore(tb, w, h, -1, set)
	case "raft":
		tape := tuitest.NewTape().Members("a", "b", "c", "d", "e").Elect("a")
		for i := range 20 {
			tape.Commit(tuitest.Ref("ConfigMap", "demo", fmt.Sprint("settings-", i)), "configmaps", nil)
		}
		x.d = exploreTape(tb, tape, w, h, set).press("2", "z")
	case "queues":
		tape := tuitest.NewTape()
		item := func(k trace.Kind, i, ready, busy int) {
			tape.After(time.Millisecond).Emit("replicaset-controller", "", k, trace.Ref{}, &trace.QueueItem{Queue: "replicaset", Key: fmt.Sprint("demo/web-", i), Ready: ready, Processing: busy})
		}
		for i := range 60 {
			item(trace.QueueAdd, i, 3, 1)
			if i >= 3 {
				item(trace.QueueDone, i-3, 3, 0)
			}
			if i >= 2 {
				item(trace.QueueGet, i-2, 2, 1)
			}
		}
		x.d = exploreTape(tb, tape, w, h, set).press("5", "z")
	}
	if profile, ok := profile(Config{Remote: remote, Environ: []string{"TERM=xterm-256color", "COLORTERM=truecolor"}}, false); ok {
		x.t.scr.SetColorProfile(profile)
	}
	x.state = x.d.m.travel.State()
	all, _, _ := x.d.m.history().Stream().Read(0, 1<<20)
	for _, e := range all {
		l, ok := motion.Of(e, x.state)
		_, ofQueue := e.Payload.(*trace.QueueItem)
		if ok && (l.To != "" && (picture != "raft" || e.Lane.Component == trace.CompMember) || picture == "queues" && ofQueue) {
			x.events = append(x.events, e)
		}
	}
	x.t.show(x.d.m.View().Content)
	x.t.sent = 0
	return x
}

// frame draws and writes the next frame.
func (x *moves) frame() {
	p, tempo := x.d.m.moving.player, motion.Live(0.02)
	if x.moving() < tempo.Most-2 {
		p.Catch(x.events[x.n:x.n+20], x.state, tempo)
		x.n = (x.n + 17) % (len(x.events) - 20)
	}
	p.Tick(time.Duration(float64(time.Second) / x.hertz))
	x.d.m.screen.dirty = true
	x.t.show(x.d.m.View().Content)
	x.pulses += x.moving()
}

// moving is how much moves: pulses, or keys.
func (x *moves) moving() int {
	shot := x.d.m.moving.player.Shot()
	return max(len(shot.Pulses), len(shot.Keys))
}

func benchmarkMotion(b *testing.B, picture string) {
	for _, c := range screens {
		b.Run(c.name, func(b *testing.B) {
			x := inMotion(b, picture, c.w, c.h, c.remote, c.hertz)
			b.ResetTimer()
			start := processor()
			for b.Loop() {
				x.frame()
			}
			used := float64(processor()-start) / float64(b.N)
			b.ReportMetric(used/1e3, "µs-cpu/frame")
			b.ReportMetric(float64(x.pulses)/float64(b.N), "pulses")
			b.ReportMetric(float64(x.t.sent)/float64(b.N), "B/frame")
			b.ReportMetric(float64(x.t.sent)/float64(b.N)*c.hertz/1024, "KiB/s-written")
		})
	}
}

// BenchmarkMapInMotion is a frame of the map in motion, BenchmarkRaftInMotion one of the raft picture of
// five members, and BenchmarkQueuesInMotion one of a controller's flow.
func BenchmarkMapInMotion(b *testing.B)    { benchmarkMotion(b, "map") }
func BenchmarkRaftInMotion(b *testing.B)   { benchmarkMotion(b, "raft") }
func BenchmarkQueuesInMotion(b *testing.B) { benchmarkMotion(b, "queues") }

// recorded is an explorer of a run that is seen whole: two hundred times the story.
func recorded(tb testing.TB, w, h int) (*driver, *painter) {
	tb.Helper()
	story, again := tuitest.Story(), tuitest.NewTape()
	for lap := range uint64(200) {
		for pos := uint64(0); pos < story.Stream.Len(); pos++ {
			e := *story.Stream.Get(pos)
			e.ID.Seq += lap * 1000
			e.At += time.Duration(lap) * 20 * time.Second
			again.Stream.Append(&e)
		}
	}
	d := exploreTape(tb, again, w, h, func(x *Config) { x.Preset = "" })
	for range 100 { // the timeline counts so many events a tick
		d.look()
	}
	t := newPainter(w, h)
	t.show(d.m.View().Content)
	t.sent = 0
	return d, t
}

// BenchmarkTimeline is a step back or forward in a run of an hour, with the frame that shows it: the timeline
// is drawn anew, and on the screen its scrubber moves.
func BenchmarkTimeline(b *testing.B) {
	for _, c := range screens[:2] {
		b.Run(c.name, func(b *testing.B) {
			d, t := recorded(b, c.w, c.h)
			n, back := 0, false
			b.ResetTimer()
			start := processor()
			for b.Loop() {
				if n++; n%50 == 0 {
					back = !back
				}
				d.m.Update(tuitest.Press(map[bool]string{true: "]", false: "["}[back]))
				t.show(d.m.View().Content)
			}
			used := float64(processor()-start) / float64(b.N)
			b.ReportMetric(used/1e3, "µs-cpu/step")
			b.ReportMetric(float64(t.sent)/float64(b.N), "B/step")
		})
	}
}

// What pictures in motion write stays within their budgets: 3 KB a frame, 90 KB a second, and 15 KB a second
// far away. How many bytes that are does not depend on the machine.
func TestMotionWritesWithinItsBudget(t *testing.T) {
	for _, picture := range []string{"map", "raft", "queues"} {
		for _, c := range screens {
			x, frames := inMotion(t, picture, c.w, c.h, c.remote, c.hertz), 100
			for range frames {
				x.frame()
			}
			frame := x.t.sent / frames
			second := float64(x.t.sent) / float64(frames) * c.hertz / 1024
			limit, least := 90.0, 20
			if c.remote {
				limit, least = 15, 6
			}
			if frame > 3<<10 || second > limit || x.pulses < least*frames {
				t.Errorf("%s %s: %d B a frame, %.1f KiB/s, with %d pulses in %d frames", picture, c.name, frame, second, x.pulses, frames)
			}
		}
	}
}
