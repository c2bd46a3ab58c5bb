package reconcile

import (
	"fmt"

	"kviz/cluster/sim"
)

// Parallel runs fn(0) … fn(n-1) at the same time, as upstream does with one
// goroutine each, and returns when all have ended. They act on the task's causes, and what they ask for counts as its.
func (e *Env) Parallel(t *sim.Task, what string, n int, fn func(t *sim.Task, i int)) {
	if n == 1 {
		fn(t, 0)
		return
	}
	var done sim.Cond
	var broken *sim.PanicError // the first
	causes, left := t.Causes(), n
	for i := range n {
		t.Process().Go(fmt.Sprintf("%s-%s-%d", t.Name(), what, i), func(w *sim.Task) {
			w.SetCauses(causes...)
			e.Informers.Reads().Begin(w)
			if b := w.HandleCrash(func() { fn(w, i) }); b != nil && broken == nil {
				broken = b
			}
			e.Informers.Reads().Add(t, e.Informers.Reads().End(w))
			e.requests.move(w, t)
			if left--; left == 0 {
				done.Signal()
			}
		})
	}
	for left > 0 {
		done.Wait(t)
	}
	if broken != nil {
		panic(broken.Brief()) // as that of the run that they are of
	}
}
