package informer

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// handler is a registered Handler. One that is registered after the informer has
// synced first gets everything in the store, from a task of its own; what happens
// meanwhile waits.
type handler struct {
	Handler
	of        *shared
	by        *Factory // who registered it
	gone      bool     // it is told nothing more
	replaying bool
	waiting   []change
	due       time.Duration // when the next resync is
}

type change struct {
	old, new runtime.Object
	why      trace.ID
}

// AddHandler registers a handler. It gets an Add for everything already in the
// store, before any task that is started after it runs.
func (i *Informer) AddHandler(h Handler) {
	entry := &handler{Handler: h, of: i.shared, by: i.of}
	entry.due = i.process.Kernel().Elapsed() + i.period(entry)
	i.handlers = append(i.handlers, entry)
	i.planResync()
	if i.store.len() == 0 {
		return
	}
	entry.replaying = true
	why := i.of.because()
	for _, obj := range i.store.list("") {
		entry.waiting = append(entry.waiting, change{new: obj, why: why})
	}
	i.process.Go("replay-"+i.resource.Resource, func(t *sim.Task) {
		for len(entry.waiting) > 0 && !entry.gone {
			c := entry.waiting[0]
			entry.waiting = entry.waiting[1:]
			entry.tell(t, c)
		}
		entry.replaying, entry.waiting = false, nil
	})
}

// forget takes out the handlers that somebody registered
// (shared_informer.go RemoveEventHandler).
func (i *shared) forget(by *Factory) {
	kept := make([]*handler, 0, len(i.handlers))
	for _, h := range i.handlers {
		if h.gone = h.gone || h.by == by; !h.gone {
			kept = append(kept, h)
		}
	}
	if len(kept) < len(i.handlers) {
		i.handlers = kept
		i.planResync()
	}
}

// notify tells every handler of a change: old nil for an add, new nil for a
// delete.
func (i *shared) notify(t *sim.Task, old, new runtime.Object, why trace.ID) {
	c := change{old, new, why}
	for _, h := range i.handlers {
		h.inTurn(t, c)
	}
}

// inTurn tells h of c, after what is still waiting to be delivered to it.
func (h *handler) inTurn(t *sim.Task, c change) {
	if h.gone {
		return
	}
	if h.replaying {
		h.waiting = append(h.waiting, c)
		return
	}
	h.tell(t, c)
}

func (h *handler) tell(t *sim.Task, c change) {
	t.SetCauses(c.why)
	broken := t.HandleCrash(func() { h.call(t, c) })
	if broken == nil {
		return
	}
	of := c.new
	if of == nil {
		of = c.old
	}
	object := client.RefOf(of)
	t.TellCrash(object, "a handler of "+h.of.resource.Resource, broken)
	if h.of.opts.Crashed != nil {
		h.of.opts.Crashed(t, object, broken)
	}
}

// call calls the function of the handler that is for a change.
func (h *handler) call(t *sim.Task, c change) {
	switch {
	case c.old == nil && h.Add != nil:
		h.Add(t, c.new, c.why)
	case c.new == nil && h.Delete != nil:
		h.Delete(t, c.old, c.why)
	case c.old != nil && c.new != nil && h.Update != nil:
		h.Update(t, c.old, c.new, c.why)
	}
}
