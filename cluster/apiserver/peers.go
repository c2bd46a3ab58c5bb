package apiserver

import (
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/cacher"
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
	usage    usage
}

func newPeers() *peers {
	return &peers{usage: usage{custom: map[string]bool{}}}
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

// Name is the server's as faults name it: "apiserver", "apiserver/b".
func (s *Server) Name() string { return s.named(trace.CompAPIServer) }

// whose is what the trace has for the server in events of other lanes: nothing for
// the first.
func (s *Server) whose() string {
	if s.cfg.Name == "" {
		return ""
	}
	return s.Name()
}

// several reports whether there is another server than this one, or was: what they had
// to agree on by way of the store is there.
func (s *Server) several() bool { return s.peers.several }

// describe names the API object behind a key for the trace, as a server that runs
// knows it, else the first.
func (p *peers) describe(e *mvccpb.Event) (trace.Ref, *trace.Object) {
	for _, s := range p.all {
		if s.p.Alive() {
			return s.describe(e)
		}
	}
	return p.all[0].describe(e)
}

// compacts reports whether this server is the one that compacts the store's history:
// the first that is ready. Upstream's agree on it by the key compact_rev_key
// (apiserver pkg/storage/etcd3/compact.go).
func (s *Server) compacts() bool { return s.peers.ready() == s }

// join makes the server share what the servers of a cluster share with another.
func (s *Server) join(o *Server) {
	s.peers, s.keys = o.peers, o.keys
	s.newAuthenticators(o.authenticators.Authority, o.authenticators.Expiry)
	s.copyFiles(s.peers.all[0])
	if len(s.peers.all) == 1 && o.p.Alive() {
		o.p.Go("identity", o.keepIdentity)
	}
}

// copyFiles gives a new server the files and flags of the first one's machine: what
// is configured for one is configured for all, until a file of one is changed.
func (s *Server) copyFiles(o *Server) {
	s.encryption.Copy(o.encryption)
	s.audit.Copy(o.audit)
	s.configs.copy(o.configs)
}

// openAtPeers opens at the other servers the watch cache that was opened at this one,
// so that a client which comes from here finds at each the window it needs; a real
// server has the caches of all kinds from its start.
func (s *Server) openAtPeers(k *registry.Kind) {
	for _, o := range s.peers.all {
		if o == s || !o.Ready() {
			continue
		}
		if k := o.KindFor(k.GroupVersionResource); k != nil {
			o.cacheOf(k)
		}
	}
}

// openLikePeers opens the watch caches that the other servers have: a part of the
// server's start.
func (s *Server) openLikePeers() {
	for _, o := range s.peers.all {
		if o == s || !o.Ready() {
			continue
		}
		for _, c := range o.openCaches() {
			if k := s.KindFor(c.Kind.GroupVersionResource); k != nil {
				s.cacheOf(k)
			}
		}
	}
}

// keepIdentity keeps the server's identity in a Lease while there are several.
func (s *Server) keepIdentity(t *sim.Task) {
	self := s.self()
	collected := t.Elapsed()
	for ; ; t.Sleep(advertiseEvery) {
		if !s.several() {
			continue
		}
		t.SetCauses()
		s.renewIdentity(t, self)
		// The first that is ready does it for all.
		if s.compacts() && t.Elapsed() >= collected+identityLease {
			collected = t.Elapsed()
			collectIdentities(t, self)
		}
	}
}

// Retire is what a server does before it ends for good, if it still can: it takes its
// address out of the endpoints of the kubernetes Service (kube-apiserver's pre-shutdown
// hook stop-kubernetes-service-controller, pkg/controlplane/instance.go).
func (s *Server) Retire(t *sim.Task) {
	s.retired = true
	if s.Ready() {
		s.reconcileKubernetesService(t, s.self())
	}
}

// Forget has the other servers, and the store's client, know nothing more of a server
// whose process has ended for good. Its Lease in kube-system is left to run out.
func (s *Server) Forget() {
	s.peers.all = slices.DeleteFunc(slices.Clone(s.peers.all), func(o *Server) bool { return o == s })
	s.st.Forget()
}

// self is the server as a client of its own.
func (s *Server) self() client.Interface {
	return s.Client(s.p.Lane, authn.User{Name: "system:apiserver", Groups: []string{authn.Masters}})
}

// identityLease is how long a server is known after it has gone, and how often it is
// looked for Leases that have run out (pkg/controlplane/apiserver
// IdentityLeaseDurationSeconds, IdentityLeaseGCPeriod).
const identityLease = time.Hour

// identityLabel says of a Lease whose identity it is.
const identityLabel = "apiserver.kubernetes.io/identity"

// collectIdentities deletes the Leases of servers that have gone
// (pkg/controlplane/controller/apiserverleasegc/gc_controller.go).
func collectIdentities(t *sim.Task, self client.Interface) {
	leases, _, err := self.List(t, client.Leases, metav1.NamespaceSystem, metav1.ListOptions{LabelSelector: identityLabel + "=kube-apiserver"})
	if err != nil {
		return // it is tried again in an hour
	}
	for _, obj := range leases {
		l := obj.(*coordinationv1.Lease)
		if l.Spec.RenewTime == nil || l.Spec.LeaseDurationSeconds == nil || l.Spec.RenewTime.Add(time.Duration(*l.Spec.LeaseDurationSeconds)*time.Second).Before(t.Now()) {
			_ = self.Delete(t, client.Leases, metav1.NamespaceSystem, l.Name, metav1.DeleteOptions{}) // likewise
		}
	}
}

// renewIdentity keeps the server's Lease in kube-system (APIServerIdentity): who asks
// which servers there are looks there.
func (s *Server) renewIdentity(t *sim.Task, self client.Interface) {
	name := "apiserver-" + s.Machine()
	now := metav1.NewMicroTime(t.Now())
	lease, err := client.Get[*coordinationv1.Lease](t, self, client.Leases, metav1.NamespaceSystem, name)
	if apierrors.IsNotFound(err) {
		_, _ = client.Create(t, self, client.Leases, metav1.NamespaceSystem, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceSystem, Labels: map[string]string{
				identityLabel: "kube-apiserver", corev1.LabelHostname: s.Machine(),
			}},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr(name), LeaseDurationSeconds: ptr(int32(identityLease / time.Second)), RenewTime: &now},
		})
		return
	}
	if err == nil {
		lease.Spec.RenewTime = &now
		_, _ = client.Update(t, self, client.Leases, metav1.NamespaceSystem, lease) // it is tried again
	}
}

// Machine is the name of the machine that the server runs on.
func (s *Server) Machine() string {
	if s.cfg.Name == "" {
		return "control-plane"
	}
	return "control-plane-" + s.cfg.Name
}
