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

	root  *Factory // whose informers they are, of a part of a process; else nil
	since trace.ID // see Share
}

// NewFactory makes a factory whose informers belong to p and speak in owner's
// lane.
func NewFactory(p *sim.Process, owner trace.Lane, c client.Interface) *Factory {
	return &Factory{process: p, owner: owner, client: c, informers: map[client.Resource]*Informer{}, reads: newReads(p.Kernel())}
}

// Share gives the same informers to a part of the process that may end before it
// does: what the part registers goes with [Factory.Leave]. since is why it gets what
// is already there; the zero ID where it starts with the process.
func (f *Factory) Share(since trace.ID) *Factory {
	return &Factory{root: f, since: since, informers: map[client.Resource]*Informer{}, reads: newReads(f.process.Kernel())}
}

// Leave takes back every handler that was registered through the factory. The
// informers go on for the others.
func (f *Factory) Leave() {
	for _, i := range f.root.order {
		i.forget(f)
	}
}

func (f *Factory) because() trace.ID {
	if f == nil {
		return trace.ID{}
	}
	return f.since
}

// Reads counts what is read from the factory's caches.
func (f *Factory) Reads() *Reads { return f.reads }

// For gives the informer of a kind in all namespaces, the same one each time.
// After Start, a new one starts at once.
func (f *Factory) For(r client.Resource) *Informer {
	i := f.informers[r]
	if f.root != nil {
		all := f.root.For(r).shared
		if i == nil || i.shared != all { // it may have been forgotten meanwhile
			i = &Informer{all, f, f.reads}
			f.informers[r] = i
		}
		return i
	}
	if i != nil {
		return i
	}
	i = New(f.process, f.owner, f.client, r, "", Options{Resync: f.Resync, Crashed: f.Crashed})
	i.of, i.reads = f, f.reads
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
	if f.root != nil {
		f.root.Forget(r)
		return
	}
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
