package sim

import (
	"time"
)

// Offload runs fn beside the kernel, and yields until it is done and the modelled
// virtual time has passed; the rest of the cluster goes on meanwhile. It is for work
// of unknown length on data that nobody else changes: one request's patch, say, that
// would otherwise keep everybody waiting.
//
// While fn takes longer than was modelled nothing later happens, so that the same
// input gives the same trace on any machine. limit is for how long, in real time,
// that may last; then the rest of the cluster goes on, as beside a store that cannot
// answer. 0 means without limit. A panic in fn is one of the task.
func (t *Task) Offload(what string, modelled, limit time.Duration, fn func()) {
	t.mayWait("Offload")
	var broken *PanicError
	o := t.k.Operate(modelled, 0, func(done func()) {
		t.k.Beside(what, func() {
			defer done()
			defer func() {
				if v := recover(); v != nil {
					broken = panicked(v)
				}
			}()
			fn()
		})
	}, func(bool) { t.ready() })
	o.offloaded, o.limit = true, limit
	t.park(o.drop)
	if broken != nil {
		panic(broken)
	}
}
