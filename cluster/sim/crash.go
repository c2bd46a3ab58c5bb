package sim

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"kviz/cluster/trace"
)

// HandleCrash runs fn, and gives back a panic in it instead of ending the run: for a component's work
// on one object, which it then leaves alone for a while. What a component does with the kernel
// against its rules is no such panic, and a task that is killed ends as ever. A stack that runs
// out cannot be recovered from; what can make one deep is refused where it enters.
//
// In Kubernetes this is apimachinery pkg/util/runtime HandleCrash.
func (t *Task) HandleCrash(fn func()) (contained *PanicError) {
	defer func() {
		if contained = Recovered(recover()); contained != nil {
			t.owns(contained)
		}
	}()
	fn()
	return nil
}

// Recovered is for a deferred function that recovers from a panic by itself: it gives what was recovered
// as an error, nil if that is nothing, and goes on panicking where HandleCrash does.
func Recovered(v any) *PanicError {
	if v == nil {
		return nil
	}
	if _, killed := v.(killedSignal); killed || breaksRule(v) {
		panic(v)
	}
	return panicked(v)
}

// HandleCrashOn is HandleCrash of what a component does with an object, in words: a panic in it
// is in the trace (process.panic), and the cause of what the task does about it.
func (t *Task) HandleCrashOn(object trace.Ref, doing string, fn func()) *PanicError {
	broken := t.HandleCrash(fn)
	if broken != nil {
		t.TellCrash(object, doing, broken)
	}
	return broken
}

// TellCrash puts what HandleCrash gave back into the trace.
func (t *Task) TellCrash(object trace.Ref, doing string, broken *PanicError) {
	t.SetCauses(t.Emit(trace.Event{
		Kind: trace.ProcessPanic, Object: object,
		Payload: &trace.Panicked{Process: t.process.Lane.String(), Doing: doing, Panic: broken.Brief()},
	}))
}

// HandleCrash runs fn on the calling goroutine, at an edge, and gives back a panic in it: the
// caller gets an error, and the run goes on. The panic is in the trace (edge.panic). One that
// breaks a rule of the kernel ends the run all the same. It may be called from any goroutine.
func (k *Kernel) HandleCrash(what string, fn func()) (contained *PanicError) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		contained = &PanicError{Process: "edge", Task: what, Value: v, Stack: debug.Stack(), Seed: k.cfg.Seed, where: panickedIn()}
		if breaksRule(v) {
			k.fail(what, v, contained.Stack)
			return
		}
		k.PostControl(func() {
			k.Emit(trace.Event{
				Lane: trace.Lane{Component: trace.CompSimulation}, Kind: trace.EdgePanic,
				Payload: &trace.Panicked{Process: "edge", Doing: what, Panic: contained.Brief()},
			})
		})
	}()
	fn()
	return nil
}

// OnCrash has a panic that nothing in the process contained end the process, as it ends a real one,
// and not the run. fn, on the kernel's goroutine, has to kill it. It holds for the process's children, too.
func (p *Process) OnCrash(fn func(*PanicError)) { p.onCrash = fn }

// crashed ends what a task's panic ends: its process, or the run.
func (k *Kernel) crashed(p *Process, broken *PanicError) {
	for p.onCrash == nil && p.parent != nil {
		p = p.parent
	}
	if p.onCrash != nil && !breaksRule(broken) {
		k.guard("the end of "+p.Lane.String(), func() { p.onCrash(broken) })
		return
	}
	if k.failure == nil {
		k.failure = broken
	}
}

// breaksRule reports whether a panic is the kernel's own word about a use of it against its rules.
func breaksRule(v any) bool {
	if e, ok := v.(*PanicError); ok {
		v = e.Value
	}
	said, ok := v.(string)
	return ok && strings.HasPrefix(said, "sim: ")
}

// panicked is a panic, called while it is recovered from.
func panicked(v any) *PanicError {
	if e, beside := v.(*PanicError); beside { // of work that was offloaded
		return e
	}
	return &PanicError{Value: v, Stack: debug.Stack(), where: panickedIn()}
}

// owns says whose panic it is.
func (t *Task) owns(e *PanicError) {
	e.Process, e.Task, e.Seed, e.After = t.process.Lane.String(), t.name, t.k.cfg.Seed, t.k.last
}

// Brief is the panic in a line that is the same in each run: what was said, and where.
func (e *PanicError) Brief() string {
	if e.where == "" {
		return fmt.Sprintf("panic: %v", e.Value)
	}
	return fmt.Sprintf("panic: %v (%s)", e.Value, e.where)
}

// Note is what a component says of it in an Event about the object: role is what it is, a
// "controller" for one.
func (e *PanicError) Note(component, role string) string {
	return fmt.Sprintf("%s: %s; this is an error of the %s, which tries again later", component, e.Brief(), role)
}

// panickedIn is the function that panicked, called while it is recovered from.
func panickedIn() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for begun := false; ; {
		f, more := frames.Next()
		switch inside := strings.HasPrefix(f.Function, "runtime.") || strings.HasPrefix(f.Function, "internal/runtime/"); {
		case f.Function == "runtime.gopanic" || f.Function == "runtime.sigpanic":
			begun = true
		case begun && !inside:
			return f.Function[strings.LastIndex(f.Function, "/")+1:]
		}
		if !more {
			return ""
		}
	}
}
