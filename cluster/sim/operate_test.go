package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// Operations end in the order in which they fall due, however the store
// answers in real time.
func TestOperationsEndInTheOrderTheyFallDue(t *testing.T) {
	var order []string
	err := run(t, sim.Config{}, func(tk *sim.Task) {
		k := tk.Kernel()
		answers := make([]func(), 3)
		for i, d := range []time.Duration{3, 1, 2} {
			k.Operate(d*time.Second, 0, func(done func()) { answers[i] = done }, func(bool) {
				order = append(order, fmt.Sprintf("%d@%v", i, k.Elapsed()))
			})
		}
		for _, done := range answers {
			go done()
		}
		tk.Sleep(5 * time.Second)
	})
	if got := strings.Join(order, " "); err != nil || got != "1@1s 2@2s 0@3s" {
		t.Errorf("%v: %s", err, got)
	}
}

// While the store cannot answer, the rest goes on no faster than real time; an
// answer that comes after all ends the operation at once.
func TestAStalledOperationEndsWhenTheStoreRecovers(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		var sick atomic.Bool
		sick.Store(true)
		err := run(t, sim.Config{Healthy: func() bool { return !sick.Load() }}, func(tk *sim.Task) {
			k := tk.Kernel()
			begun, ended := time.Now(), false
			var answer func()
			k.Operate(time.Millisecond, time.Hour, func(done func()) { answer = done }, func(timedOut bool) {
				ended = true
				if timedOut {
					t.Error("timed out")
				}
			})
			tk.Sleep(50 * time.Millisecond)
			if real := time.Since(begun); real != 50*time.Millisecond || ended {
				t.Errorf("50 ms of a stalled cluster took %v of real time; ended %v", real, ended)
			}
			sick.Store(false)
			answer()
			tk.Sleep(time.Millisecond)
			if !ended {
				t.Error("the answer did not end the operation")
			}
			begun = time.Now()
			tk.Sleep(time.Hour) // at full speed again
			if real := time.Since(begun); real != 0 {
				t.Errorf("an hour took %v after the recovery", real)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// Who waits for a store that is slow to answer has waited that long, also where
// nothing else makes time pass.
func TestWhoWaitsForASickStoreFeelsIt(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		err := run(t, sim.Config{Healthy: func() bool { return false }}, func(tk *sim.Task) {
			from := tk.Elapsed()
			for range 3 {
				if err := tk.Await(time.Millisecond, time.Hour, func(done func()) { time.AfterFunc(40*time.Millisecond, done) }); err != nil {
					t.Error(err)
				}
			}
			if took := tk.Elapsed() - from; took != 120*time.Millisecond {
				t.Errorf("three answers, each after 40 ms, took %v of virtual time", took)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// A task killed in Await leaves nothing that time would wait for.
func TestAKilledAwaitHoldsNobodyUp(t *testing.T) {
	err := run(t, sim.Config{}, func(tk *sim.Task) {
		p := tk.Kernel().NewProcess(trace.Lane{Component: "victim"})
		p.Go("awaits", func(v *sim.Task) { v.Await(time.Second, 0, func(func()) {}) }) // never answered
		tk.Yield()
		p.Kill()
		tk.Sleep(time.Hour)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestStopsStandWhereTheySay(t *testing.T) {
	var hits []string
	k := sim.New(sim.Config{})
	stop := func(name string, every uint64, once bool) *sim.Stop {
		s := &sim.Stop{Once: once, At: func(e *trace.Event) bool { return e.ID.Seq%every == 0 }}
		s.Hit = func(e *trace.Event) { hits = append(hits, name+e.ID.String()); k.After(0, k.Resume) }
		k.AddStop(s)
		return s
	}
	stop("once", 2, true)
	always := stop("always", 3, false)
	err := func() error {
		k.NewProcess(trace.Lane{Component: "test"}).Go("main", func(tk *sim.Task) {
			defer k.Stop()
			for i := range 8 {
				tk.Emit(trace.Event{Kind: trace.QueueAdd})
				if i == 6 {
					k.RemoveStop(always)
					k.RemoveStop(always)
				}
			}
		})
		// A standing kernel runs control functions only: these let it go on.
		k.AddStop(&sim.Stop{At: func(*trace.Event) bool { k.PostControl(k.Resume); return false }})
		return k.Run(context.Background())
	}()
	if got := strings.Join(hits, " "); err != nil || got != "once2 always3 always6" {
		t.Errorf("%v: %s", err, got)
	}
}

// At 1x virtual time runs no further ahead of real time than its slack, also after the kernel has
// had nothing to do for a while; SkipIdle jumps.
func TestSpeedTiesVirtualTimeToRealTime(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		k := sim.New(sim.Config{})
		p := k.NewProcess(trace.Lane{Component: "test"})
		k.SetSpeed(1)
		end := make(chan error, 1)
		go func() { end <- k.Run(context.Background()) }()
		pass := func(d time.Duration) {
			t.Helper()
			if err := k.Call(t.Context(), p, "sleep", func(tk *sim.Task) {
				begun := time.Now()
				for range 5 {
					tk.Sleep(d / 5)
				}
				if took := time.Since(begun); took > d || took < d-8*time.Millisecond { // the slack
					t.Errorf("%v of virtual time took %v", d, took)
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
		pass(40 * time.Millisecond)
		time.Sleep(2 * 250 * time.Millisecond) // longer than the kernel would catch up
		pass(40 * time.Millisecond)

		k.Do(func() { k.SetSpeed(0.001); k.SetDemand(true) })
		var elapsed time.Duration
		k.Do(func() { elapsed = k.Elapsed(); k.After(time.Hour, func() {}) })
		if err := k.Call(t.Context(), p, "skip", func(tk *sim.Task) {
			k.After(0, func() { k.After(0, k.SkipIdle) })
			tk.Sleep(10 * time.Minute)
		}); err != nil {
			t.Fatal(err)
		}
		var now time.Duration
		k.Do(func() { now = k.Elapsed() })
		if now-elapsed != 10*time.Minute {
			t.Errorf("skipped %v, want 10 minutes; nothing passes while nobody waits", now-elapsed)
		}
		k.Stop()
		if err := <-end; err != nil {
			t.Fatal(err)
		}
	})
}

// program is what one task of a random program does, step by step.
type program []int

// play runs random programs and gives what happened, in order.
func play(seed uint64, programs []program) (log []string, err error) {
	k := sim.New(sim.Config{Seed: seed, Sink: sinkFunc(func(e *trace.Event) {
		log = append(log, fmt.Sprintf("%s %v %s %v", e.ID, e.At, e.Lane, e.Causes))
	})})
	var (
		conds  [2]sim.Cond
		boxes  [2]sim.Mailbox[trace.ID]
		procs  = make([]*sim.Process, len(programs))
		ended  = k.NewProcess(trace.Lane{Component: "end"})
		lifted = func(t *sim.Task) time.Duration { return time.Duration(t.Rand().IntN(5)) * time.Millisecond }
	)
	for i, prog := range programs {
		procs[i] = k.NewProcess(trace.Lane{Component: "p", Instance: fmt.Sprint(i)})
		procs[i].Go("main", func(t *sim.Task) {
			for _, op := range prog {
				x := op / 8 % 2
				switch op % 8 {
				case 0:
					t.Sleep(lifted(t))
				case 1:
					conds[x].WaitTimeout(t, lifted(t))
				case 2:
					conds[x].Signal()
				case 3:
					boxes[x].Send(t.Emit(trace.Event{Kind: trace.QueueAdd}))
				case 4:
					if id, ok, _ := boxes[x].RecvTimeout(t, 3*time.Millisecond); ok {
						t.SetCauses(id)
					}
				case 5:
					t.Await(lifted(t), 0, func(done func()) { go done() })
				case 6:
					procs[op/8%len(procs)].Kill()
				case 7:
					if t.Process().Alive() {
						t.Process().Go("child", func(c *sim.Task) { c.Sleep(lifted(c)); c.Emit(trace.Event{Kind: trace.QueueDone}) })
					}
				}
				t.Emit(trace.Event{Kind: trace.ReconcileEnd})
			}
		})
	}
	ended.Go("end", func(t *sim.Task) { t.Sleep(time.Hour); k.Stop() })
	return log, k.Run(context.Background())
}

func TestSameSeedSameOrderOfEverything(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		seed := rapid.Uint64().Draw(r, "seed")
		programs := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(rapid.IntRange(0, 63), 1, 20), func(p []int) program { return p }), 1, 6).Draw(r, "programs")
		first, err := play(seed, programs)
		if err != nil {
			r.Fatal(err)
		}
		again, err := play(seed, programs)
		if err != nil || !slices.Equal(first, again) {
			r.Fatalf("seed %d: %v\n%s\nagainst\n%s", seed, err, strings.Join(first, "\n"), strings.Join(again, "\n"))
		}
	})
}

func BenchmarkEmitWithStop(b *testing.B) {
	err := run(b, sim.Config{}, func(tk *sim.Task) {
		tk.Kernel().AddStop(&sim.Stop{At: func(e *trace.Event) bool { return e.Kind == trace.FaultInjected }})
		for b.Loop() {
			tk.Emit(trace.Event{Kind: trace.QueueAdd})
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}
