package sim

import (
	"runtime/debug"

	"kviz/cluster/trace"
)

// Beside runs fn in a goroutine of its own, beside the kernel's: at an edge,
// where something real is waited for (a socket, a child process, the store's
// disks). Below package cluster goroutines for such work start here, except for the
// recorder's, which outlives the kernel; a panic in it ends the run as one in a task does, with the seed.
// It may be called from any goroutine.
//
// fn must not touch what belongs to the kernel's goroutine; [Kernel.Post],
// [Kernel.Do] and [Kernel.Call] are its way in.
func (k *Kernel) Beside(what string, fn func()) {
	go k.Contain(what, fn)
}

// Contain runs fn on the calling goroutine, which a library started, so that a
// panic in it ends the run as one in a task does.
func (k *Kernel) Contain(what string, fn func()) {
	defer func() {
		if v := recover(); v != nil {
			k.fail(what, v, debug.Stack())
		}
	}()
	fn()
}

// fail ends the run with a panic that happened beside it. A kernel that has
// stopped has ended already.
func (k *Kernel) fail(what string, v any, stack []byte) {
	k.PostControl(func() {
		if k.failure == nil {
			k.failure = k.broken(what, v, stack)
		}
	})
}

// broken is a panic outside any task, as the run ends with it.
func (k *Kernel) broken(what string, v any, stack []byte) *PanicError {
	return &PanicError{Process: trace.CompSimulation, Task: what, Value: v, Stack: stack, Seed: k.cfg.Seed, After: k.last}
}
