package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"kviz/cluster/trace"
)

// A panic in contained work ends neither the task nor the run; a kill does, and so does what is
// against the kernel's rules.
func TestHandleCrash(t *testing.T) {
	k := New(Config{Seed: 1})
	p := k.NewProcess(trace.Lane{Component: "one"})
	var brief []string
	after, killed := false, false
	p.Go("works", func(t *Task) {
		for _, fn := range []func(){
			func() { panic("says so") },
			func() { m := map[string]map[string]int{}; t.Sleep(1); m["a"]["b"] = 1 },
			func() {},
		} {
			if e := t.HandleCrash(fn); e != nil {
				brief = append(brief, e.Brief())
			}
		}
		after = true
	})
	q := k.NewProcess(trace.Lane{Component: "two"})
	q.Go("is killed", func(t *Task) {
		_ = t.HandleCrash(func() { t.Sleep(1 << 40) })
		killed = true
	})
	k.NewProcess(trace.Lane{Component: "three"}).Go("kills", func(t *Task) { t.Sleep(5); q.Kill(); t.Sleep(5) })
	r := k.NewProcess(trace.Lane{Component: "four"})
	var other *Task
	r.Go("waits", func(t *Task) { other = t; t.Sleep(1 << 40) })
	r.Go("cheats", func(t *Task) {
		t.Sleep(100)
		_ = t.HandleCrash(func() { other.Sleep(1) })
	})
	err := k.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "outside its turn") {
		t.Errorf("the run ended with %v", err)
	}
	if !after || killed || len(brief) != 2 || !strings.HasPrefix(brief[0], "panic: says so (sim.TestHandleCrash.") || !strings.Contains(brief[1], "nil map") {
		t.Errorf("after: %v, killed went on: %v, %q", after, killed, brief)
	}
}

type kept struct{ events []trace.Event }

func (s *kept) Append(e *trace.Event) { s.events = append(s.events, *e) }

func (s *kept) panics() (told []string) {
	for _, e := range s.events {
		if p, ok := e.Payload.(*trace.Panicked); ok {
			told = append(told, string(e.Kind)+" "+p.Process+" "+e.Object.Name+": "+p.Doing+": "+p.Panic)
		}
	}
	return told
}

// What panics beside the kernel on behalf of a task is contained like the task's own, and the trace
// names the object. A process whose task panics outside of that ends alone, with its children.
func TestACrashIsOfOneProcess(t *testing.T) {
	var sink kept
	k := New(Config{Seed: 1, Sink: &sink})
	p := k.NewProcess(trace.Lane{Component: "one"})
	p.Go("offloads", func(t *Task) {
		broken := t.HandleCrashOn(trace.Ref{Kind: "Pod", Name: "web"}, "sync of the pod", func() {
			t.Offload("work", 1, 0, func() { panic("too much") })
		})
		if broken == nil || broken.Process != "one" || broken.Task != "offloads" {
			panic("not contained")
		}
	})
	var ended []string
	q := k.NewProcess(trace.Lane{Component: "two"})
	q.OnCrash(func(e *PanicError) { ended = append(ended, e.Error()); q.Kill() })
	q.Go("another", func(t *Task) { t.Sleep(1 << 40); ended = append(ended, "lives on") })
	q.Child(trace.Lane{Component: "two", Instance: "child"}).Go("crashes", func(t *Task) { t.Sleep(5); panic("for good") })
	r := k.NewProcess(trace.Lane{Component: "three"})
	r.OnCrash(func(*PanicError) { ended = append(ended, "a broken rule was contained") })
	r.Go("cheats", func(t *Task) {
		t.Sleep(50)
		t.Offload("work", 1, 0, func() { panic("sim: against the rules") })
	})
	err := k.Run(t.Context())
	var broken *PanicError
	if !errors.As(err, &broken) || broken.Process != "three" {
		t.Errorf("the run ended with %v", err)
	}
	if len(ended) != 1 || !strings.HasPrefix(ended[0], "panic in two/child (task crashes) after event 1,") {
		t.Errorf("ended: %q", ended)
	}
	want := []string{"process.panic one web: sync of the pod: panic: too much (sim.TestACrashIsOfOneProcess.func1.1.1)"}
	if got := sink.panics(); !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

// A panic of work from outside is its caller's error, whether in a task or on the caller's goroutine.
func TestAPanicOfACallerIsItsOwn(t *testing.T) {
	var sink kept
	k := New(Config{Seed: 1, Sink: &sink})
	p := k.NewProcess(trace.Lane{Component: "client"})
	end := make(chan error, 1)
	go func() { end <- k.Run(context.Background()) }()
	var broken *PanicError
	if err := k.Call(t.Context(), p, "request", func(*Task) { panic("in the task") }); !errors.As(err, &broken) {
		t.Errorf("the call ended with %v", err)
	}
	if err := k.HandleCrash("handler", func() { panic("in the goroutine") }); err == nil {
		t.Error("the handler ended well")
	}
	if err := k.Call(t.Context(), p, "request", func(*Task) {}); err != nil {
		t.Errorf("the next call ended with %v", err)
	}
	want := []string{
		"process.panic client : request: panic: in the task (sim.TestAPanicOfACallerIsItsOwn.func2)",
		"edge.panic edge : handler: panic: in the goroutine (sim.TestAPanicOfACallerIsItsOwn.func3)",
	}
	if got := sink.panics(); !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	_ = k.HandleCrash("handler", func() { panic("sim: against the rules") })
	if err := <-end; err == nil || !strings.Contains(err.Error(), "against the rules") {
		t.Errorf("the run ended with %v", err)
	}
}
