package sim_test

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Bad use ends the run with a sentence that says what to do instead.
func TestBadUseSaysWhatToDo(t *testing.T) {
	for name, tc := range map[string]struct {
		body func(*sim.Task)
		want string
	}{
		"a timer sleeps for a task": {func(tk *sim.Task) {
			tk.Kernel().After(time.Second, func() { tk.Sleep(time.Second) })
		}, "call it only from the function given to Process.Go"},
		"a posted function sleeps": {func(tk *sim.Task) {
			tk.Kernel().Post(func() { tk.Yield() })
		}, "never from another task, a timer or a goroutine"},
		"another task's Emit": {func(tk *sim.Task) {
			tk.Process().Go("thief", func(*sim.Task) { tk.Emit(trace.Event{Kind: trace.QueueAdd}) })
		}, "Emit of task test/main called outside its turn"},
		"another task's Wait": {func(tk *sim.Task) {
			var c sim.Cond
			tk.Process().Go("thief", func(*sim.Task) { c.Wait(tk) })
		}, "Cond.Wait of task test/main called outside its turn"},
		"another task's Recv": {func(tk *sim.Task) {
			var m sim.Mailbox[int]
			tk.Process().Go("thief", func(*sim.Task) { m.RecvTimeout(tk, time.Second) })
		}, "Cond.WaitTimeout of task test/main called outside its turn"},
		"another task's Await": {func(tk *sim.Task) {
			tk.Process().Go("thief", func(*sim.Task) { tk.Await(0, 0, func(done func()) { done() }) })
		}, "Await of task test/main called outside its turn"},
		"done twice": {func(tk *sim.Task) {
			tk.Await(0, 0, func(done func()) { done(); done() })
		}, "an operation ends once"},
		"Go on a dead process": {func(tk *sim.Task) {
			p := tk.Kernel().NewProcess(trace.Lane{Component: "dead"})
			p.Kill()
			p.Go("late", func(*sim.Task) {})
		}, "make a new Process to restart it"},
		"Go on the child of a dead process": {func(tk *sim.Task) {
			p := tk.Kernel().NewProcess(trace.Lane{Component: "parent"})
			child := p.Child(trace.Lane{Component: "child"})
			p.Kill()
			child.Go("late", func(*sim.Task) {})
		}, "Process.Go on child, which has been killed"},
		"negative speed": {func(tk *sim.Task) { tk.Kernel().SetSpeed(-1) }, "use 0 (sim.Max) for as fast as possible"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(t, sim.Config{Seed: 9}, func(tk *sim.Task) {
				tc.body(tk)
				tk.Sleep(time.Hour)
			})
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "seed 9") {
				t.Errorf("got  %v\nwant …%s…", err, tc.want)
			}
		})
	}
}

// A panic anywhere ends the run in one place, naming who, when and the seed.
func TestPanicsAreContained(t *testing.T) {
	for name, tc := range map[string]struct {
		body func(*sim.Task)
		want string
	}{
		"in a task": {func(tk *sim.Task) {
			tk.Emit(trace.Event{Kind: trace.QueueAdd})
			tk.Process().Go("bad", func(*sim.Task) { panic("boom") })
		}, "panic in test (task bad) after event 1, seed 4: boom"},
		"in a timer":     {func(tk *sim.Task) { tk.Kernel().After(time.Second, func() { panic("boom") }) }, "(task timer) after event 0, seed 4: boom"},
		"in posted work": {func(tk *sim.Task) { tk.Kernel().Post(func() { panic("boom") }) }, "(task inbox) after event 0, seed 4: boom"},
		"in a stop": {func(tk *sim.Task) {
			tk.Kernel().AddStop(&sim.Stop{At: func(*trace.Event) bool { panic("boom") }})
			tk.Emit(trace.Event{Kind: trace.QueueAdd})
		}, "panic in test (task main) after event 1, seed 4: boom"},
		"at a task's end": {func(tk *sim.Task) {
			tk.Process().Go("brief", func(*sim.Task) {}).OnEnd(func() { panic("boom") })
		}, "(task end of test/brief) after event 0, seed 4: boom"},
		"at the end of a task that never started": {func(tk *sim.Task) {
			p := tk.Kernel().NewProcess(trace.Lane{Component: "victim"})
			p.Go("unborn", func(*sim.Task) {}).OnEnd(func() { panic("boom") })
			p.Kill()
		}, "(task end of victim/unborn) after event 0, seed 4: boom"},
		"in a deferred call of a killed task": {func(tk *sim.Task) {
			p := tk.Kernel().NewProcess(trace.Lane{Component: "victim"})
			p.Go("falls", func(v *sim.Task) { defer func() { panic("boom") }(); v.Sleep(time.Hour) })
			tk.Yield()
			p.Kill()
		}, "panic in victim (task falls) after event 0, seed 4: boom"},
		"in a deferred call when the kernel stops": {func(tk *sim.Task) {
			tk.Process().Go("falls", func(v *sim.Task) { defer func() { panic("boom") }(); v.Sleep(time.Hour) })
			tk.Yield()
			tk.Kernel().Stop()
		}, "panic in test (task falls) after event 0, seed 4: boom"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(t, sim.Config{Seed: 4}, func(tk *sim.Task) {
				tc.body(tk)
				tk.Sleep(time.Minute)
			})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant …%s…", err, tc.want)
			}
		})
	}
}
