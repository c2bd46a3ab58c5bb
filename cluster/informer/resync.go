package informer

import (
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// NoResync is the Resync of a handler that wants none.
const NoResync time.Duration = -1

// planResync makes the next resync happen when the next handler is due: handlers get
// every object again, unchanged, and the server is not asked. That repairs what a
// controller forgot, not what its cache missed: a key dropped after too many retries,
// a write whose effect was undone before the cache had seen it.
//
// Mirrors shared_informer.go shouldResync; simplified: a period is not rounded
// to a multiple of the shortest one.
func (i *shared) planResync() {
	if i.next != nil {
		i.next.Cancel()
		i.next = nil
	}
	at, any := i.nextResync()
	if !any || !i.started || i.stopped {
		return
	}
	k := i.process.Kernel()
	i.next = k.After(at-k.Elapsed(), func() {
		if i.process.Alive() {
			i.process.Go("resync-"+i.resource.Resource, func(t *sim.Task) {
				i.resync(t)
				i.planResync()
			})
		}
	})
}

// nextResync is when the next handler is due.
func (i *shared) nextResync() (at time.Duration, any bool) {
	for _, h := range i.handlers {
		if i.period(h) > 0 && (!any || h.due < at) {
			at, any = h.due, true
		}
	}
	return at, any
}

// period is the resync period of h; 0 is never.
func (i *shared) period(h *handler) time.Duration {
	switch {
	case i.opts.Resync == 0 || h.Resync < 0 || h.Update == nil:
		return 0
	case h.Resync > 0:
		return h.Resync
	}
	return i.opts.Resync
}

// resync tells the handlers that are due.
func (i *shared) resync(t *sim.Task) {
	var due []*handler
	shortest := time.Duration(0)
	for _, h := range i.handlers {
		period := i.period(h)
		if period == 0 || h.due > t.Elapsed() {
			continue
		}
		h.due = t.Elapsed() + period
		due = append(due, h)
		if shortest == 0 || period < shortest {
			shortest = period
		}
	}
	if i.store.len() == 0 || !i.synced {
		return
	}
	why := i.emit(t, trace.InformerResync, "every "+shortest.String())
	for _, obj := range i.store.list("") {
		for _, h := range due {
			h.inTurn(t, change{old: obj, new: obj, why: why})
		}
	}
}
