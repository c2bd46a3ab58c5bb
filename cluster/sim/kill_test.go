package sim_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func TestEqualTimersFireInTheOrderTheyWereSet(t *testing.T) {
	var order []string
	err := run(t, sim.Config{}, func(tk *sim.Task) {
		k := tk.Kernel()
		at := func(name string, d time.Duration) *sim.Timer {
			return k.After(d, func() { order = append(order, name) })
		}
		at("a", 2*time.Second)
		at("b", time.Second)
		gone := at("gone", time.Second)
		at("c", time.Second)
		gone.Cancel()
		gone.Cancel()
		tk.Sleep(time.Second) // set after a timer that is due later
		at("d", time.Second)
		tk.Sleep(time.Second)
	})
	if got := strings.Join(order, ""); err != nil || got != "bcad" {
		t.Errorf("fired %q, want bcad; %v", got, err)
	}
}

// A killed process runs nothing but deferred calls, wherever its tasks were.
func TestKillReachesTasksWhereverTheyAre(t *testing.T) {
	var log []string
	say := func(s string) { log = append(log, s) }
	err := run(t, sim.Config{}, func(tk *sim.Task) {
		k := tk.Kernel()
		p := k.NewProcess(trace.Lane{Component: "victim"})
		child := p.Child(trace.Lane{Component: "child"})
		grandchild := child.Child(trace.Lane{Component: "grandchild"})
		var c sim.Cond
		p.Go("woken", func(v *sim.Task) { defer say("woken"); c.Wait(v); say("WRONG: woken ran on") })
		grandchild.Go("sleeps", func(v *sim.Task) { defer say("grandchild"); v.Sleep(time.Hour); say("WRONG: slept") })
		p.Go("verbs in defer", func(v *sim.Task) {
			defer say("verbs in defer")
			defer v.Sleep(time.Second)
			defer c.Wait(v)
			v.Sleep(time.Hour)
		})
		tk.Sleep(time.Second)
		c.Signal() // in the run queue when it is killed
		p.Go("unborn", func(*sim.Task) { say("WRONG: unborn ran") }).OnEnd(func() { say("unborn ended") })
		p.Kill()
		p.Kill()
		if p.Alive() || child.Alive() || grandchild.Alive() {
			say("WRONG: alive")
		}
		tk.Yield()
		say("killed")
		p = k.NewProcess(trace.Lane{Component: "suicide"})
		p.Go("self", func(v *sim.Task) {
			defer say("self ended")
			p.Kill()
			say("until its next verb")
			c.Wait(v)
			say("WRONG: waited")
		})
		tk.Yield()
		// A dead task must not take a signal that a living one waits for.
		tk.Process().Go("waits", func(v *sim.Task) { c.Wait(v); say("signal arrived") })
		tk.Yield()
		c.Signal()
		tk.Yield()
	})
	want := "woken, unborn ended, verbs in defer, grandchild, killed, until its next verb, self ended, signal arrived"
	if got := strings.Join(log, ", "); err != nil || got != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
}

func TestMailboxAndCondGiveUpInTime(t *testing.T) {
	err := run(t, sim.Config{}, func(tk *sim.Task) {
		var m sim.Mailbox[int]
		var c sim.Cond
		if _, ok, late := m.RecvTimeout(tk, time.Second); ok || !late || tk.Elapsed() != time.Second {
			t.Errorf("empty mailbox: ok %v, timed out %v at %v", ok, late, tk.Elapsed())
		}
		if c.WaitTimeout(tk, time.Second) || tk.Elapsed() != 2*time.Second {
			t.Errorf("nobody signals: woken at %v", tk.Elapsed())
		}
		c.Signal() // nobody waits any more: it is lost
		tk.Kernel().After(500*time.Millisecond, func() { m.Send(1); m.Send(2); c.Signal() })
		if v, ok, _ := m.RecvTimeout(tk, time.Second); !ok || v != 1 || tk.Elapsed() != 2500*time.Millisecond {
			t.Errorf("got %d, %v at %v", v, ok, tk.Elapsed())
		}
		// Another takes the item between the signal and the turn.
		tk.Process().Go("loser", func(l *sim.Task) {
			m.TryRecv()
			if _, ok, late := m.RecvTimeout(l, time.Second); ok || !late || l.Elapsed() != 3500*time.Millisecond {
				t.Errorf("the item was taken: ok %v, timed out %v at %v", ok, late, l.Elapsed())
			}
		})
		tk.Yield()
		tk.Kernel().After(500*time.Millisecond, func() { m.Send(3); m.TryRecv() })
		tk.Sleep(2 * time.Second)
		m.Send(4)
		m.Close()
		m.Send(5)
		if v, ok := m.Recv(tk); !ok || v != 4 {
			t.Errorf("a closed mailbox gives what is left: %d %v", v, ok)
		}
		if _, ok := m.Recv(tk); ok || !m.Closed() || m.Len() != 0 {
			t.Error("a closed, empty mailbox gives something")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// When Run returns every task has unwound and no goroutine is left.
func TestNothingIsLeftAfterRun(t *testing.T) {
	before := runtime.NumGoroutine()
	ended, started := 0, 0
	k := sim.New(sim.Config{})
	p := k.NewProcess(trace.Lane{Component: "test"})
	spawn := func(t *sim.Task) {
		for range 50 {
			started++
			t.Process().Go("s", func(s *sim.Task) { s.Sleep(time.Hour) }).OnEnd(func() { ended++ })
		}
	}
	p.Go("main", func(tk *sim.Task) {
		defer spawn(tk) // also what starts while everything ends
		spawn(tk)
		tk.Yield()
		k.Stop()
		tk.Sleep(time.Hour)
	})
	if err := k.Run(context.Background()); err != nil || ended != started || started != 100 {
		t.Errorf("%v: %d of %d ended", err, ended, started)
	}
	if after := runtime.NumGoroutine(); after > before+1 { // the context's own may be on its way out
		t.Errorf("%d goroutines before, %d after", before, after)
	}
	if k.Post(func() {}) || k.Do(func() {}) != sim.ErrStopped || k.Call(context.Background(), p, "late", func(*sim.Task) {}) != sim.ErrStopped {
		t.Error("a stopped kernel takes work")
	}
}
