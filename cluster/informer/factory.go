package informer

import (
	"slices"
	"time"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Factory gives all parts of a process one informer a kind
// (client-go informers SharedInformerFactory).
type Factory struct {
	// Resync is the resync period of informers requested from now on; zero means none.
	Resync time.Duration
	// Crashed is that of informers requested from now on (see [Options]).
	Crashed func(t *sim.Task, object trace.Ref, broken *sim.PanicError)

	process   *sim.Process
	owner     trace.Lane
	client    client.Interface
	informers map[client.Resource]*Informer
	order     []*Informer
	started   bool
	reads     *Reads
}

// NewFactory makes a factory whose informers belong to p and speak in owner's
// lane.
func NewFactory(p *sim.Process, owner trace.Lane, c client.Interface) *Factory {
	return &Factory{process: p, owner: owner, client: c, informers: map[client.Resource]*Informer{}, reads: newReads(p.Kernel())}
}

// Reads counts what is read from the factory's caches.
func (f *Factory) Reads() *Reads { return f.reads }

// For gives the informer of a kind in all namespaces, the same one each time.
// After Start, a new one starts at once.
func (f *Factory) For(r client.Resource) *Informer {
	if i := f.informers[r]; i != nil {
		return i
	}
	i := New(f.process, f.owner, f.client, r, "", Options{Resync: f.Resync, Crashed: f.Crashed})
	i.reads = f.reads
	f.informers[r] = i
	f.order = append(f.order, i)
	if f.started {
		i.Start()
	}
	return i
}

// Forget ends the informer of a kind that is served no longer. Whoever asks for
// the kind again gets a new one.
func (f *Factory) Forget(r client.Resource) {
	if i := f.informers[r]; i != nil {
		i.Stop()
		delete(f.informers, r)
		f.order = slices.DeleteFunc(f.order, func(o *Informer) bool { return o == i })
	}
}

// Start starts every requested informer, in the order in which they were requested.
func (f *Factory) Start() {
	f.started = true
	for _, i := range f.order {
		i.Start()
	}
}

// WaitForSync waits until every informer has synced.
func (f *Factory) WaitForSync(t *sim.Task) {
	for _, i := range f.order {
		i.WaitForSync(t)
	}
}
