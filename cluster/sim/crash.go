package sim

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// HandleCrash runs fn, and gives back a panic in it instead of ending the run: for a component's work
// on one object, which it then leaves alone for a while. What a component does with the kernel
// against its rules is no such panic, and a task that is killed ends as ever. A stack that runs
// out cannot be recovered from; what can make one deep is refused where it enters.
//
// In Kubernetes this is apimachinery pkg/util/runtime HandleCrash.
func (t *Task) HandleCrash(fn func()) (contained *PanicError) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if _, killed := v.(killedSignal); killed {
			panic(v)
		}
		if said, ok := v.(string); ok && strings.HasPrefix(said, "sim: ") {
			panic(v)
		}
		contained = &PanicError{
			Process: t.process.Lane.String(), Task: t.name, Value: v, Stack: debug.Stack(), Seed: t.k.cfg.Seed, After: t.k.last, where: panicked(),
		}
	}()
	fn()
	return nil
}

// Brief is the panic in a line that is the same in each run: what was said, and where.
func (e *PanicError) Brief() string {
	if e.where == "" {
		return fmt.Sprintf("panic: %v", e.Value)
	}
	return fmt.Sprintf("panic: %v (%s)", e.Value, e.where)
}

// panicked is the function that panicked, called while it is recovered from.
func panicked() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
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
