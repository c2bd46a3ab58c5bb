// Package dns is what CoreDNS's kubernetes plugin is to a cluster: it watches
// Services and EndpointSlices and answers names from its cache, so that names
// go on resolving while the API server or the store is away.
//
// Simplified: it speaks no DNS on the wire and has no Service of its own; a
// program in a pod asks it directly (package network, Resolver). Start reading
// at [Start].
package dns

import (
	"errors"
	"sort"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/informer"
	"kviz/cluster/network"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Network, How: simulated.Simulated,
	What: "cluster DNS is asked directly, not by packets to a Service of its own",
	Seen: "pane 8: \"which is asked directly, not by packets\"",
})

// Server answers names.
type Server struct {
	p     *sim.Process
	cache *cached
	names network.APIResolver
}

// Start starts the server's informers in process p. Like CoreDNS it sets no rate limit, so
// its client has client-go's.
func Start(p *sim.Process, c client.Interface) *Server {
	c = throttle.New(p, p.Lane, c, "coredns", throttle.Limits{})
	f := informer.NewFactory(p, p.Lane, c)
	cache := &cached{Interface: c, services: f.For(client.Services), slices: f.For(client.EndpointSlices)}
	f.Start()
	return &Server{p: p, cache: cache, names: network.APIResolver{Client: cache}}
}

// ErrDown is what a client gets while no DNS server runs: the Service kube-dns
// then has no endpoints, and kube-proxy rejects packets to it at once.
var ErrDown = errors.New("connection refused: no DNS server is running")

// ErrServFail is the answer of a server that has not yet seen the cluster's
// Services once (CoreDNS plugin/kubernetes handler.go, HasSynced).
var ErrServFail = errors.New("SERVFAIL: the DNS server has not received anything from the API server yet")

// ErrPanic is the answer where the server panicked; it goes on (CoreDNS core/dnsserver Server.ServeDNS).
var ErrPanic = errors.New("SERVFAIL: the DNS server failed to answer; its log has more")

// Resolve gives the addresses of a name as seen from a pod of the namespace. It
// fails with ErrDown or ErrServFail where nobody can tell.
func (s *Server) Resolve(t *sim.Task, node, namespace, name string) ([]string, error) {
	if !s.p.Alive() {
		return nil, ErrDown
	}
	if !s.cache.services.HasSynced() || !s.cache.slices.HasSynced() {
		return nil, ErrServFail
	}
	var addresses []string
	var err error
	if broken := t.HandleCrashOn(trace.Ref{}, "the answer for "+name, func() { addresses, err = s.names.Resolve(t, node, namespace, name) }); broken != nil {
		return nil, ErrPanic
	}
	return addresses, err
}

// cached answers reads of Services and EndpointSlices from the informers.
type cached struct {
	client.Interface
	services, slices *informer.Informer
}

func (c *cached) Get(_ *sim.Task, r client.Resource, namespace, name string) (runtime.Object, error) {
	obj, ok := c.services.Get(namespace + "/" + name)
	if !ok {
		return nil, apierrors.NewNotFound(r.GroupResource(), name)
	}
	return obj, nil
}

func (c *cached) List(_ *sim.Task, _ client.Resource, namespace string, opts metav1.ListOptions) ([]runtime.Object, int64, error) {
	want, err := labels.Parse(opts.LabelSelector)
	if err != nil {
		return nil, 0, err
	}
	var items []runtime.Object
	for _, obj := range c.slices.List() {
		m := obj.(metav1.Object)
		if m.GetNamespace() == namespace && want.Matches(labels.Set(m.GetLabels())) {
			items = append(items, obj)
		}
	}
	sort.SliceStable(items, func(i, j int) bool {
		return items[i].(metav1.Object).GetName() < items[j].(metav1.Object).GetName()
	})
	return items, 0, nil
}
