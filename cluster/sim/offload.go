package sim

import "time"

// Offload has fn computed beside the kernel, and gives way until it is done and
// modelled virtual time has passed; the rest of the cluster goes on meanwhile. It is
// for work of an unknown length on data that nobody else changes: one request's
// patch, say, that would keep everybody waiting.
//
// While fn takes longer than was modelled nothing later happens, so that the same
// input gives the same trace on any machine. limit is for how long that may be so
// in real time; then the rest of the cluster goes on, as beside a store that cannot
// answer. 0 means for ever.
func (t *Task) Offload(what string, modelled, limit time.Duration, fn func()) {
	t.mayWait("Offload")
	o := t.k.Operate(modelled, 0, func(done func()) {
		t.k.Beside(what, func() {
			fn()
			done()
		})
	}, func(bool) { t.ready() })
	o.offloaded, o.limit = true, limit
	t.park(o.drop)
}
