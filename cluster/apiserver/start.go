package apiserver

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/admission/policy"
	admissionwebhook "kviz/cluster/apiserver/admission/webhook"
	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/bootstrap"
	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/caches"
	"kviz/cluster/apiserver/controlplane"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/filters"
	"kviz/cluster/apiserver/flowcontrol"
	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/registry/service"
	"kviz/cluster/apiserver/review"
	"kviz/cluster/apiserver/serviceaccount"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Restart starts the server again as process p, after its old process was
// killed. Clients made before stay good; their watches have ended.
func (s *Server) Restart(p *sim.Process) {
	s.p, s.ready, s.workers.idle = p, false, nil
	total := fairness.DefaultConcurrency
	if s.fairness.Seats != nil {
		total = s.fairness.Seats.Total()
	}
	closeCaches := s.openStore()
	s.fairness = flowcontrol.Filter{Seats: fairness.NewSeats(p, total, s.k.Rand("flowcontrol")), Caches: s.caches}
	s.flowObjects = flowcontrol.NewObjects(flowcontrol.ObjectsConfig{
		Process: p, Seats: s.fairness.Seats, Caches: s.caches, Writer: s.writer, Revision: s.st.Revision, Serve: s.serve, User: &selfUser,
		FollowToo: func(why trace.ID) {
			for _, o := range s.peers.others(s) {
				o.flowObjects.Follow(why)
			}
		},
	})
	s.services = service.Resolver{Lister: s.caches, Rand: s.stream("proxy")}
	s.webhooks = webhook.NewClient(s.cfg.Webhooks, s.services, s.stream("webhook"))
	s.aggregator = aggregator.New(aggregator.Config{
		Process: p, Rand: s.stream("aggregator"), Host: aggregatorHost{s, s.services}, Caches: s.caches.Of, Revision: s.st.Revision, Dial: s.cfg.Dial,
	})
	s.authenticators.Accounts.Secrets = secretPatcher{s}
	s.filters = &filters.Filters{Authenticators: s.authenticators, Authorizers: s.authorizers, Auditor: s.disk.audit}
	o := s.options
	o.Process, o.Authenticators, o.Authorizers, o.Webhooks = p, s.authenticators, s.authorizers, s.webhooks
	alloc := s.newAllocator()
	s.handlers = &handlers.Handlers{
		Process: p, Store: s.store, Authorizers: s.authorizers, Fields: s.fields, Services: alloc, Names: s.names, Kubelets: s.cfg.Kubelets, Kinds: s.caches,
		Backends: s.services, Dial: handlers.Dial(s.cfg.Dial), Components: s.cfg.Components,
		Tokens: &serviceaccount.Issuer{
			Keys: s.keys, Expiry: s.authenticators.Expiry, Lister: s.caches, Restriction: func() admission.Mutating { return s.restriction },
			Store: s.store, Fields: s.fields, NewID: s.names.UID,
		},
		Serve: s.serve, Inert: s.cfg.Inert, DecodeTime: s.cfg.Cost.Decode, AdmissionTime: s.cfg.Cost.Admission,
	}
	s.reviews = &review.Reviews{Handlers: s.handlers, Authenticators: s.authenticators, Authorizers: s.authorizers}
	s.policies = policy.NewPolicies(s.caches, s.authorizers, caches.PolicyKinds{Caches: s.caches, Builtin: s.fields.Builtin})
	s.hooks = admissionwebhook.NewHooks(s.caches, s.authorizers, s.webhooks)
	s.handlers.Admission = s.newAdmission(nil)
	s.controllers = &controlplane.Controllers{
		CIDR: s.cfg.cidr(), Machine: s.Machine(), Client: s.Client(p.Lane, selfUser), Caches: s.caches, Servers: membership{s},
	}
	s.tracking = &controlplane.TokenTracking{Client: s.controllers.Client, Caches: s.caches, Process: p}
	s.repair = &controlplane.Repair{
		Client: s.controllers.Client, Caches: s.caches, CIDR: s.cfg.cidr(), Leads: membership{s}.Leads, Process: p,
	}
	definitions := crd.NewControllers(p, func() *cacher.Cache { return s.caches.Of(crd.DefinitionKind()) }, s.customs.Stored, definitionHost{s, s.conversions})
	s.listen(alloc, definitions)

	p.Go("main", func(t *sim.Task) { s.main(t, definitions) }).OnEnd(func() {
		s.ready = false
		closeCaches()
		s.started.Broadcast()
	})
}

// openStore makes what reads and writes objects, down from the watch caches.
func (s *Server) openStore() (closeCaches func()) {
	s.authorizers = &authz.Authorizers{Authorizer: authz.New(caches.Roles{Caches: s.caches})}
	sealed := func(k *registry.Kind) *encrypt.Transformer { return s.disk.encryption.Transformer(k.GroupResource()) }
	s.store = &etcd3.Store{
		Conn: s.st, Caches: s.caches.Of, Sealed: sealed, EventTTL: s.cfg.EventTTL, Leases: s.st.NewLeases("events"),
	}
	s.probe = &etcd3.Probe{Conn: s.st}
	s.writer = &bootstrap.Writer{Store: s.st, Transformer: sealed}
	s.customs = crd.New(definitionHost{s, s.conversions})
	return s.caches.Begin(caches.Config{
		Cacher: &cacher.Config{
			Process: s.p, Store: s.st, Transformer: sealed, Wires: &s.peers.wires, Size: s.cfg.CacheSize, Deliver: s.cfg.Cost.Deliver,
		},
		Definitions: s.customs, Live: s.store.Live, Follow: s.follow, Opened: membership{s}.opened,
	})
}

// follow is what is called with every change of a kind, from the start of its cache on.
func (s *Server) follow(r client.Resource) func(key string, obj runtime.Object) {
	if r == client.IPAddresses {
		return func(key string, obj runtime.Object) { s.repair.IPAddressChanged(key, obj) }
	}
	return s.authorizers.Follow(r)
}

// newAllocator makes the allocator of the server's process.
func (s *Server) newAllocator() *service.Allocator {
	return service.NewAllocator(service.Config{
		Rand: s.names.Rand, Cidr: s.cfg.cidr(), Ports: s.cfg.NodePorts, Several: membership{s}.Several, Store: s.st,
		UID: func() types.UID { return object.NewUID(s.addresses) },
		Seal: func(t *sim.Task, k *registry.Kind, key string, value []byte) ([]byte, error) {
			return s.disk.encryption.Transformer(k.GroupResource()).Write(t, key, value)
		},
		ServiceCIDRs: func(t *sim.Task) ([]runtime.Object, error) { return s.caches.Newest(t, client.ServiceCIDRs, "") },
		Services: func(key string) *corev1.Service {
			if en := s.caches.OfResource(client.Services).Get(key); en != nil {
				return en.Object.(*corev1.Service)
			}
			return nil
		},
	})
}

// listen has the caches tell those who depend on them.
func (s *Server) listen(alloc *service.Allocator, definitions *crd.Controllers) {
	customs, aggregated, policies, hooks := s.customs, s.aggregator, s.policies, s.hooks
	for _, k := range registry.AdmissionKinds {
		s.caches.Of(k).Changed = func(string, runtime.Object) {
			policies.Changed()
			hooks.Changed()
		}
	}
	for _, r := range []client.Resource{client.Roles, client.RoleBindings, client.ClusterRoles, client.ClusterRoleBindings} {
		s.caches.OfResource(r).Changed = func(string, runtime.Object) { s.authorizers.Invalidate() }
	}
	s.caches.OfResource(client.Services).Changed = func(key string, obj runtime.Object) {
		alloc.Changed(key, obj)
		s.repair.ServiceChanged(key)
		aggregated.ServiceChanged(key)
	}
	s.caches.OfResource(client.EndpointSlices).Changed = aggregated.SliceChanged
	s.caches.OfResource(client.ConfigMaps).Changed = s.tracking.Changed
	s.caches.Of(crd.DefinitionKind()).Changed = func(name string, obj runtime.Object) {
		customs.Changed(name, obj)
		definitions.Changed(name, obj)
		aggregated.DefinitionChanged()
		policies.Changed() // a parameter may be of this kind
	}
}

// main is the server's first task; it lives as long as the process.
func (s *Server) main(t *sim.Task, definitions *crd.Controllers) {
	s.disk.audit.Start(t, s.p)
	s.disk.configs.Start(t, s.p)
	s.bootstrap(t)
	s.caches.Fill(t)
	if s.caches.InUse(registry.KindFor(client.FlowSchemas.GroupVersionResource)) {
		s.flowObjects.Follow(trace.ID{})
		s.flowObjects.Await(t)
	}
	if s.caches.InUse(registry.KindFor(client.APIServices.GroupVersionResource)) {
		s.aggregator.Follow(trace.ID{})
		s.aggregator.Await(t)
	}
	all := membership{s}
	all.openCaches()
	s.ready, s.begun = true, true
	s.started.Broadcast()
	s.peers.usage.Again()
	s.p.Go("compactor", func(t *sim.Task) { etcd3.Compact(t, s.st, s.cfg.CompactionInterval, all.Leads) })
	s.p.Go("crd-controllers", definitions.Run)
	s.p.Go("kubernetes-service", s.controllers.KeepService)
	s.p.Go("legacy-token-tracking", s.tracking.Run)
	lacking := s.lacksIPAddresses()
	s.p.Go("ipallocator-repair", func(t *sim.Task) { s.repair.Run(t, lacking) })
	if all.Several() {
		s.p.Go("identity", s.controllers.KeepIdentity)
	}
	for {
		t.Sleep(s.cfg.Bookmarks)
		_ = t.HandleCrashOn(trace.Ref{}, "the bookmarks of watches", s.caches.Bookmark)
	}
}

// retryStoreEvery is how long the server waits, at its start, for a store that does not answer.
const retryStoreEvery = time.Second

// bootstrap fills the store of a new cluster, and notes what another one has.
func (s *Server) bootstrap(t *sim.Task) {
	for s.st.Resume(t) != nil {
		t.Sleep(retryStoreEvery)
	}
	var nonces *rand.Rand // nil for those that there are
	if r := s.st.Revision(); r > 1 {
		// A store from a run before has objects with names and UIDs drawn from the
		// same seed; what is drawn now must differ.
		s.names.Stream, nonces = s.streamAt("apiserver", r), s.streamAt("encryption", r)
		s.addresses = s.streamAt("ipaddresses", r)
	}
	s.disk.encryption.Start(t, s.p, nonces)
	for {
		resp, err := s.st.Range(t, &pb.RangeRequest{Key: []byte("/registry/"), RangeEnd: cacher.PrefixEnd("/registry/"), KeysOnly: true})
		if err == nil && resp.Count > 0 {
			s.takeUp(t, resp.Kvs)
			return // not a new cluster
		}
		if err == nil {
			break
		}
		t.Sleep(retryStoreEvery)
	}
	l := bootstrap.List{Now: metav1.NewTime(t.Now().Truncate(time.Second)), UID: s.names.UID}
	l.AddNamespaces()
	l.AddPolicy()
	l.AddPriorityClasses()
	s.controllers.AddTo(&l, s.cfg.AdvertiseIP, s.stream)
	s.tracking.AddTo(t, &l, s.stream)
	s.writer.Write(t, l.Objects)
}

// takeUp notes what a store has.
func (s *Server) takeUp(t *sim.Task, keys []*mvccpb.KeyValue) {
	s.controllers.LacksServiceCIDR = true
	addresses := registry.KindFor(client.IPAddresses.GroupVersionResource)
	s.foundIPs = map[string]bool{}
	for _, kv := range keys {
		if string(kv.Key) == controlplane.ServiceCIDRKey() {
			s.controllers.LacksServiceCIDR = false
		}
		k := registry.KindOfKey(kv.Key)
		if k == addresses {
			s.foundIPs[strings.TrimPrefix(string(kv.Key), k.Prefix)] = true
		} else if k != nil {
			s.peers.usage.Note(k, kv)
			if k.Resource == client.Services && string(kv.Key) != k.Prefix+"default/kubernetes" {
				s.peers.usage.MayBeBalanced() // only the key is known
			}
		}
	}
	if len(s.foundIPs) == 0 {
		return
	}
	whole := &pb.RangeRequest{Key: []byte(addresses.Prefix), RangeEnd: cacher.PrefixEnd(addresses.Prefix)} // whose they are their values say
	resp, err := s.st.Range(t, whole)
	for ; err != nil; resp, err = s.st.Range(t, whole) {
		t.Sleep(retryStoreEvery)
	}
	for _, kv := range resp.Kvs {
		s.peers.usage.Note(addresses, kv)
	}
}

// lacksIPAddresses reports whether the store that the server found has a Service whose
// cluster IP is no IPAddress.
func (s *Server) lacksIPAddresses() (lacking bool) {
	if s.foundIPs == nil {
		return false // a new cluster
	}
	s.caches.Each(client.Services, "", func(obj runtime.Object) bool {
		lacking = slices.ContainsFunc(obj.(*corev1.Service).Spec.ClusterIPs, func(ip string) bool {
			return ip != corev1.ClusterIPNone && !s.foundIPs[ip]
		})
		return !lacking
	})
	return lacking
}
