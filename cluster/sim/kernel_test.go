package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// run runs body as a task of a fresh kernel and stops when it returns.
func run(t testing.TB, cfg sim.Config, body func(*sim.Task)) error {
	t.Helper()
	k := sim.New(cfg)
	p := k.NewProcess(trace.Lane{Component: "test"})
	p.Go("main", func(t *sim.Task) {
		defer k.Stop()
		body(t)
	})
	ctx, cancel := context.WithTimeout(context.Background(), steady.Patience(t))
	defer cancel()
	return k.Run(ctx)
}

func TestTimePassesOnlyInSleep(t *testing.T) {
	var log []string
	err := run(t, sim.Config{}, func(tk *sim.Task) {
		p := tk.Process()
		for i := range 3 {
			p.Go(fmt.Sprint("w", i), func(w *sim.Task) {
				for range 2 {
					w.Sleep(time.Duration(i+1) * time.Hour)
					log = append(log, fmt.Sprintf("%s@%v", w.Name(), w.Elapsed()))
				}
			})
		}
		tk.Sleep(24 * time.Hour)
	})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(log, " ")
	want := "w0@1h0m0s w1@2h0m0s w0@2h0m0s w2@3h0m0s w1@4h0m0s w2@6h0m0s"
	if got != want {
		t.Errorf("order of wake-ups\n got %s\nwant %s", got, want)
	}
}

func TestPanicNamesProcessTaskAndSeed(t *testing.T) {
	err := run(t, sim.Config{Seed: 7}, func(tk *sim.Task) {
		tk.Process().Go("bad", func(*sim.Task) { panic("boom") })
		tk.Sleep(time.Second)
	})
	if err == nil || !strings.Contains(err.Error(), "panic in test (task bad) after event 0, seed 7: boom") {
		t.Fatalf("got %v", err)
	}
}

func TestPanicBesideTheKernelEndsTheRun(t *testing.T) {
	k := sim.New(sim.Config{Seed: 7})
	k.Beside("read a socket", func() { panic("the socket is upside down") })
	err := k.Run(t.Context()) // would wait for ever
	var p *sim.PanicError
	if !errors.As(err, &p) || p.Task != "read a socket" || p.Seed != 7 || len(p.Stack) == 0 {
		t.Fatalf("the run ended with %v", err)
	}
}

func TestKillUnwindsEveryTask(t *testing.T) {
	unwound := 0
	err := run(t, sim.Config{}, func(tk *sim.Task) {
		p := tk.Kernel().NewProcess(trace.Lane{Component: "victim"})
		var c sim.Cond
		var m sim.Mailbox[int]
		p.Go("sleeps", func(v *sim.Task) { defer func() { unwound++ }(); v.Sleep(time.Hour) })
		p.Go("waits", func(v *sim.Task) { defer func() { unwound++ }(); c.Wait(v) })
		p.Go("receives", func(v *sim.Task) { defer func() { unwound++ }(); m.Recv(v) })
		p.Go("awaits", func(v *sim.Task) {
			defer func() { unwound++ }()
			v.Await(time.Hour, 0, func(done func()) { done() })
		})
		tk.Sleep(time.Second)
		p.Kill()
		tk.Sleep(time.Second)
		c.Broadcast()
	})
	if err != nil || unwound != 4 {
		t.Fatalf("err %v, %d of 4 unwound", err, unwound)
	}
}

func TestAwaitTakesModelledTimeAndRealCompletion(t *testing.T) {
	err := run(t, sim.Config{}, func(tk *sim.Task) {
		if err := tk.Await(5*time.Millisecond, time.Second, func(done func()) {
			go func() { time.Sleep(10 * time.Millisecond); done() }()
		}); err != nil {
			t.Error(err)
		}
		if tk.Elapsed() != 5*time.Millisecond {
			t.Errorf("elapsed %v", tk.Elapsed())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAwaitTimesOutWhenTheStoreCannotAnswer(t *testing.T) {
	others := 0
	err := run(t, sim.Config{Healthy: func() bool { return false }}, func(tk *sim.Task) {
		tk.Process().Go("other", func(o *sim.Task) {
			for {
				o.Sleep(10 * time.Millisecond)
				others++
			}
		})
		if err := tk.Await(time.Millisecond, 100*time.Millisecond, func(func()) {}); err != sim.ErrTimeout {
			t.Errorf("got %v", err)
		}
	})
	if err != nil || others < 9 {
		t.Fatalf("err %v, others %d", err, others)
	}
}

type sinkFunc func(*trace.Event)

func (f sinkFunc) Append(e *trace.Event) { f(e) }

func TestStepStandsAfterExactlyOneEvent(t *testing.T) {
	events := 0
	k := sim.New(sim.Config{Sink: sinkFunc(func(*trace.Event) { events++ })})
	p := k.NewProcess(trace.Lane{Component: "test"})
	k.Pause()
	p.Go("main", func(tk *sim.Task) {
		for {
			tk.Emit(trace.Event{Kind: trace.QueueAdd})
			tk.Emit(trace.Event{Kind: trace.ReconcileEnd})
			tk.Sleep(time.Second)
		}
	})
	end := make(chan error)
	go func() { end <- k.Run(context.Background()) }()
	settle := func() (n int) {
		for { // a standing kernel answers Do at once; it stands when Paused
			var paused bool
			if err := k.Do(func() { paused, n = k.Paused(), events }); err != nil {
				t.Fatal(err)
			}
			if paused {
				return n
			}
		}
	}
	for i := 1; i <= 4; i++ {
		k.Do(func() { k.Step(trace.GrainQueue) })
		if n := settle(); n != i {
			t.Fatalf("after step %d: %d events", i, n)
		}
	}
	k.Do(func() { k.Step(trace.GrainDecision) })
	if n := settle(); n != 6 {
		t.Fatalf("after a decision step: %d events, want 6", n)
	}
	k.Stop()
	if err := <-end; err != nil {
		t.Fatal(err)
	}
}

func TestEmitOutsideATurnSaysWhatToDo(t *testing.T) {
	err := run(t, sim.Config{}, func(tk *sim.Task) {
		tk.Kernel().After(time.Second, func() { tk.Sleep(time.Second) })
		tk.Sleep(2 * time.Second)
	})
	_ = err
	if err == nil || !strings.Contains(err.Error(), "called outside its turn; call it only from the function given to Process.Go") {
		t.Fatalf("got %v", err)
	}
}

func BenchmarkSwitch(b *testing.B) {
	err := run(b, sim.Config{}, func(tk *sim.Task) {
		for b.Loop() {
			tk.Yield()
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "switches/s")
}

func BenchmarkTimers5000(b *testing.B) {
	err := run(b, sim.Config{}, func(tk *sim.Task) {
		for i := range 5000 {
			tk.Process().Go("s", func(s *sim.Task) {
				for {
					s.Sleep(time.Duration(1+i%97) * time.Millisecond)
				}
			})
		}
		for b.Loop() {
			tk.Sleep(time.Microsecond)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkEmit(b *testing.B) {
	err := run(b, sim.Config{}, func(tk *sim.Task) {
		for b.Loop() {
			tk.Emit(trace.Event{Kind: trace.QueueAdd})
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}
