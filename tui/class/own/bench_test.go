package own_test

import (
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"kviz/assets"
	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/panes"
)

// BenchmarkPrivateScenes is what a private cluster needs in the scene of L09, whose writer writes ten times a second: ten forks
// at its do beat, run for 30 seconds, or KVIZ_SCENE, and looked at. KVIZ_HEAP=FILE writes what holds the memory.
func BenchmarkPrivateScenes(b *testing.B) {
	ctx := b.Context()
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	check(err)
	for range b.N {
		c, err := cluster.Boot(ctx, cluster.Config{Seed: 1, Speed: 1})
		check(err)
		check(c.WaitReady(ctx))
		p := lessons.NewPlayer(c, all, lessons.NewProgress(time.Now))
		check(p.Start("L09#crash"))
		for beat := p.Look().Beat; beat == nil || beat.ID != "crash"; beat = p.Look().Beat {
			time.Sleep(50 * time.Millisecond)
		}
		check(c.Pause())
		var past []*trace.Event
		check(c.Kernel().Do(func() { past, _, _ = c.Trace().Read(c.Trace().First(), 1<<20) }))
		at := trace.ID{Seq: past[len(past)-1].ID.Seq}
		const n = 10
		scene := 30 * time.Second
		if text := os.Getenv("KVIZ_SCENE"); text != "" {
			scene, err = time.ParseDuration(text)
			check(err)
		}
		before := live(b)
		var forks []*cluster.Cluster
		var looked []*view.History
		began := time.Now()
		for range n {
			f, err := cluster.Fork(ctx, past, cluster.ForkConfig{Parent: "the class", At: at, Speed: 1})
			check(err)
			h := view.NewHistory(f.Trace())
			h.CatchUp(0)
			f.Trace().SetLimit(1 << 14) // as Limits.Events
			forks, looked = append(forks, f), append(looked, h)
		}
		b.ReportMetric(time.Since(began).Seconds()/n, "s/fork")
		b.ReportMetric(float64(len(past)), "events")
		b.ReportMetric(float64(live(b)-before)/n/(1<<20), "MiB/forked")
		for _, f := range forks {
			check(f.Resume())
		}
		for end := time.Now().Add(scene); time.Now().Before(end); time.Sleep(time.Second) {
			for _, h := range looked {
				h.CatchUp(0)
			}
		}
		b.ReportMetric(float64(forks[0].Trace().Len()-uint64(len(past)))/scene.Seconds(), "events/s")
		b.ReportMetric(float64(live(b)-before)/n/(1<<20), "MiB/run")
		if name := os.Getenv("KVIZ_HEAP"); name != "" {
			f, err := os.Create(name)
			check(err)
			check(pprof.Lookup("heap").WriteTo(f, 0))
			check(f.Close())
		}
		for _, f := range forks {
			check(f.Close())
		}
		runtime.KeepAlive(looked)
		p.Close()
		check(c.Close())
	}
}

// live is how many bytes live, with the stacks.
func live(b *testing.B) int64 {
	b.Helper()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.Logf("heap %d MiB in %d objects, stacks %d MiB, from the system %d MiB less %d given back, %d goroutines",
		m.HeapAlloc>>20, m.HeapObjects, m.StackInuse>>20, m.Sys>>20, m.HeapReleased>>20, runtime.NumGoroutine())
	return int64(m.HeapAlloc + m.StackInuse)
}
