package apiserver

import (
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/caches"
	"kviz/cluster/apiserver/controlplane"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Several servers may serve one cluster from one store. Each has its own process,
// watch caches, queues, random stream and address; they know nothing of one another
// but what is in the store. What is one thing for all of them here, because it is
// also in a real cluster: the keys on their disks (certificate authority, service
// account keys), and the network to their clients. What is one thing only here: the
// numbers of requests and watches in the trace, and the list of kinds in use, which
// stands in for discovery.

// peers are the servers of one cluster, in the order in which they were made.
type peers struct {
	all      []*Server
	several  bool         // there is or was more than one
	requests uint64       // number of the newest request
	wires    cacher.Wires // to their clients
	usage    *caches.Usage
}

func newPeers() *peers {
	p := &peers{usage: caches.NewUsage(controlplane.ServiceCIDRKey())}
	p.wires.Open = p.watchers
	return p
}

// add makes a server one of them.
func (p *peers) add(s *Server) {
	p.all = append(p.all, s)
	p.several = p.several || len(p.all) > 1
}

// watchers are all open watches at any server, in the order in which they were opened.
func (p *peers) watchers() (all []*cacher.Watcher) {
	for _, s := range p.all {
		all = append(all, s.caches.Watchers()...)
	}
	slices.SortFunc(all, func(a, b *cacher.Watcher) int { return int(a.Number) - int(b.Number) })
	return all
}

// ready is the first server that answers requests, nil where none does.
func (p *peers) ready() *Server {
	for _, s := range p.all {
		if s.Ready() {
			return s
		}
	}
	return nil
}

// others are the servers beside s that answer requests.
func (p *peers) others(s *Server) (all []*Server) {
	for _, o := range p.all {
		if o != s && o.Ready() {
			all = append(all, o)
		}
	}
	return all
}

// describe names the API object behind a key for the trace, as a server that runs
// knows it, else the first.
func (p *peers) describe(e *mvccpb.Event) (trace.Ref, *trace.Object) {
	for _, s := range p.all {
		if s.p.Alive() {
			return s.caches.Describe(e)
		}
	}
	return p.all[0].caches.Describe(e)
}

// membership is a server among the others ([controlplane.Servers]).
type membership struct{ s *Server }

// Leads reports whether this server is the one that does what one does for all: the first
// that is ready. Upstream's agree on who compacts by the key compact_rev_key (apiserver
// pkg/storage/etcd3/compact.go).
func (m membership) Leads() bool { return m.s.peers.ready() == m.s }

// Several reports whether there is another server than this one, or was: what they had
// to agree on by way of the store is there.
func (m membership) Several() bool { return m.s.peers.several }

// Addresses are those of the servers that take requests.
func (m membership) Addresses() (addresses []string) {
	for _, o := range m.s.peers.all {
		if o.Ready() && !o.retired {
			addresses = append(addresses, o.cfg.AdvertiseIP)
		}
	}
	return addresses
}

// openCaches opens the watch caches that the other servers have, so that a client which
// comes from one of them finds here the window it needs: a part of the server's start. A
// real server has the caches of all kinds from its start.
func (m membership) openCaches() {
	for _, o := range m.s.peers.others(m.s) {
		for _, c := range o.caches.All() {
			if k := m.s.caches.KindFor(c.Kind.GroupVersionResource); k != nil {
				m.s.caches.Of(k)
			}
		}
	}
}

// opened opens at the others the watch cache that was opened at this one, likewise.
func (m membership) opened(k *registry.Kind) {
	for _, o := range m.s.peers.others(m.s) {
		if k := o.caches.KindFor(k.GroupVersionResource); k != nil {
			o.caches.Of(k)
		}
	}
}

// Retire is what a server does before it ends for good, if it still can: it takes its
// address out of the endpoints of the kubernetes Service (kube-apiserver's pre-shutdown
// hook stop-kubernetes-service-controller, pkg/controlplane/instance.go).
func (s *Server) Retire(t *sim.Task) {
	s.retired = true
	if s.Ready() {
		s.controllers.ReconcileService(t)
	}
}

// Forget has the other servers, and the store's client, know nothing more of a server
// whose process has ended for good. Its Lease in kube-system is left to run out.
func (s *Server) Forget() {
	s.peers.all = slices.DeleteFunc(slices.Clone(s.peers.all), func(o *Server) bool { return o == s })
	s.st.Forget()
}

// discovery is what in-process clients ask beside the verbs: of the first server that is
// ready, as all of them know the same.
type discovery struct{ s *Server }

// StaleGroups is [client.Discovery].
func (d discovery) StaleGroups() []client.StaleGroup { return d.up().aggregator.StaleGroups() }

// Aggregates is [client.Discovery].
func (d discovery) Aggregates(gv schema.GroupVersion) bool { return d.up().aggregator.Serves(gv) }

// Served is [client.Discovery].
func (d discovery) Served(gr schema.GroupResource) (is client.ServedResource, ok bool) {
	for _, k := range d.up().caches.Resources() {
		if k.GroupResource() == gr && (!ok || k.Hub == nil && version.CompareKubeAwareVersionStrings(k.Version, is.Version) > 0) {
			is, ok = client.ServedResource{Resource: k.Resource, Verbs: k.Told()}, true
		}
	}
	return is, ok
}

func (d discovery) up() *Server {
	if up := d.s.peers.ready(); up != nil {
		return up
	}
	return d.s
}

// UsedKinds is [client.Usage].
func (d discovery) UsedKinds() []client.Resource { return d.s.peers.usage.UsedKinds() }

// AwaitUse is [client.Usage].
func (d discovery) AwaitUse(t *sim.Task, known int) []client.Resource {
	return d.s.peers.usage.AwaitUse(t, known)
}

// AwaitBalanced is [client.Balance].
func (d discovery) AwaitBalanced(t *sim.Task) { d.s.peers.usage.AwaitBalanced(t) }

// AwaitCustomKinds is [client.Usage]. While no server is ready nobody knows them.
func (d discovery) AwaitCustomKinds(t *sim.Task, since uint64) ([]client.CustomKind, uint64) {
	return d.s.peers.usage.AwaitCustomKinds(t, since, func() *caches.Caches {
		if up := d.s.peers.ready(); up != nil {
			return up.caches
		}
		return nil
	})
}
