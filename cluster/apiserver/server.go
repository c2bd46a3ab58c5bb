// Package apiserver is kube-apiserver: the one door to the cluster's state.
//
// A request passes a fixed row of stages, each of which may change the object
// or refuse it; only then is it written to the store, and only then do those
// who watch hear of it, through the watch cache. Nobody but the API server
// talks to etcd. Stages that look only at the request's head are files here,
// authentication.go … authorization.go; from the body to the store and back an object
// goes through the package handlers. Each says in the trace what it did. Start reading at
// [Server.Handle], then pipeline.go.
//
// Simplified: almost every built-in kind has one version. DESIGN.md lists the rest.
package apiserver

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotaconfig "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"
	kmsservice "k8s.io/kms/pkg/service"
	psaconfig "k8s.io/pod-security-admission/admission/api"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/admission/policy"
	admissionwebhook "kviz/cluster/apiserver/admission/webhook"
	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/apiserver/audit"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/fieldmanager"
	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/names"
	"kviz/cluster/apiserver/oidc"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/registry/service"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/apiserver/review"
	"kviz/cluster/apiserver/serviceaccount"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/client"
	"kviz/cluster/idp"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "almost every built-in kind is served in one version",
	Seen: "kubectl api-versions",
})

// Config says how the server behaves. The zero value gives the defaults.
type Config struct {
	ServiceCIDR string // default 10.96.0.0/16; the first address is the kubernetes Service's
	NodePorts   [2]int // default 30000–32767
	AdvertiseIP string // endpoint of the kubernetes Service; default 192.168.0.10
	// Name tells the server from others of the same cluster; Peer is one of them,
	// whose keys, files and numbers it shares. Both are zero for the first.
	// Before counts the servers that had the name and were removed.
	Name   string
	Before int
	Peer   *Server
	// Tokens are bearer tokens and whom they prove.
	Tokens map[string]authn.User
	Cost   Cost
	// Bookmarks is how often watchers that ask for them get one; default a minute.
	Bookmarks time.Duration
	// CacheSize is how many events a kind's watch cache remembers, exactly;
	// by default 1024, and more while events are younger than 75 s.
	CacheSize int
	// EventTTL is kube-apiserver's --event-ttl: how long Events are kept; default
	// an hour.
	EventTTL time.Duration
	// PodSecurity configures the PodSecurity plugin: what holds for namespaces
	// without labels, and what is exempt. Nil: all is privileged, nothing exempt.
	PodSecurity *psaconfig.PodSecurityConfiguration
	// LimitedResources may be used only where a ResourceQuota covers them.
	LimitedResources []quotaconfig.LimitedResource
	// KMS connects to the KMS plugin beside the server, for configurations of
	// encryption at rest that name one; nil where there is none.
	KMS func(path string, timeout time.Duration) kmsservice.Service
	// CompactionInterval is kube-apiserver's --etcd-compaction-interval. 0 means five
	// minutes, less that nothing is compacted.
	CompactionInterval time.Duration
	// Components tells how the other parts of the control plane are, by name; nil
	// where nobody knows.
	Components func() []ComponentHealth
	// Webhooks are the servers outside that admission, conversions and reviews ask; nil
	// where there are none.
	Webhooks webhook.Servers
	// Provider is the simulated identity provider; nil where there is none.
	Provider *idp.Provider
	// Inert tells, a sentence each, what of a write nothing in the cluster acts on: of a
	// kind, through a subresource ("pods/resize", or ""), an object and what it was, which
	// is nil for a new one. Who writes hears it as warnings. Nil where everything is
	// acted on, or nobody knows.
	Inert func(gk schema.GroupKind, subresource string, obj, old runtime.Object) []string
	// Kubelets are the nodes' kubelets, for logs and exec; nil where there are none.
	Kubelets Kubelets
	// Dial opens a connection from the server's machine to an address of the cluster's
	// network, for aggregated APIs; nil where there is no network.
	Dial aggregator.Dial
}

// Cost is the modelled virtual time of a request's stages (the store's time is
// the storage client's).
type Cost struct {
	Access    time.Duration // authentication to authorization
	Decode    time.Duration // decoding and defaulting
	Admission time.Duration // mutating admission to validating admission
	Respond   time.Duration // encoding the answer
	Deliver   time.Duration // from the watch cache to a watcher
}

// DefaultCost is what a small kube-apiserver takes, store excepted.
var DefaultCost = Cost{
	Access: 40 * time.Microsecond, Decode: 60 * time.Microsecond,
	Admission: 80 * time.Microsecond, Respond: 40 * time.Microsecond, Deliver: time.Millisecond,
}

// Server is a kube-apiserver. Its methods may be called only on the kernel's
// goroutine.
type Server struct {
	cfg   Config
	cidr  netip.Prefix
	k     *sim.Kernel
	st    *storage.Conn
	names *names.Generator
	p     *sim.Process

	ready   bool
	begun   bool     // it has been ready, whatever became of it
	started sim.Cond // ready changed

	lacksServiceCIDR bool // so did the store that the server found

	stored         []*registry.Kind                 // the built-in kinds whose caches are always open
	caches         map[*registry.Kind]*cacher.Cache // of built-in kinds; see cacheOf
	forCaches      *cacher.Config
	customs        *crd.Definitions // the kinds that CustomResourceDefinitions make
	defs           *crd.Controllers
	authorizers    *authz.Authorizers
	restriction    *admission.NodeRestriction
	alloc          *service.Allocator
	keys           *authn.Keys
	fields         *fieldmanager.Managers
	handlers       *handlers.Handlers
	reviews        *review.Reviews
	encryption     *encrypt.AtRest
	webhooks       *webhook.Client
	backends       *rand.Rand // chooses who of a Service gets what is sent on
	policies       *policy.Policies
	hooks          *admissionwebhook.Hooks
	audit          *audit.Auditor
	flows          *fairness.Seats
	flowObjects    *flowObjects
	probe          storeProbe
	aggregator     *aggregator.Aggregator
	calls          map[*sim.Task]*request.Scope // those that may wait for a conversion webhook
	configs        *ConfigFiles
	authenticators *authn.Authenticators
	issuers        *oidc.Issuers // nil where there are none

	store *etcd3.Store

	idle  []*worker
	hired int
	peers *peers          // the servers of the cluster, this one too
	usage *usage          // theirs
	door  func(*sim.Task) // see StandBefore; nil where there is none

	retired bool // it ends for good
}

// New makes the server of process p and starts it: it fills the store with
// what every cluster has (unless it is there already), then its watch caches,
// and is then [Server.Ready].
func New(p *sim.Process, st *storage.Client, cfg Config) *Server {
	cfg.complete()
	s := &Server{
		cfg: cfg, cidr: netip.MustParsePrefix(cfg.ServiceCIDR), k: p.Kernel(), st: st.Connect(p.Lane.String()),
		calls: map[*sim.Task]*request.Scope{}, fields: &fieldmanager.Managers{},
	}
	s.names = &names.Generator{Stream: s.stream("apiserver")}
	s.encryption = encrypt.NewAtRest(s.whose(), s.stream("encryption"), s.cfg.KMS)
	s.audit = audit.NewAuditor(s.k, s.whose(), s.stream("audit"), s.sourceIPs)
	s.configs = newConfigFiles(s)
	if cfg.Peer != nil {
		s.join(cfg.Peer)
	} else {
		s.peers, s.keys = newPeers(), authn.NewKeys(s.k.Rand("serviceaccount-key"))
		authority, err := authn.NewAuthority(s.k.Rand("root-ca"), s.k.Epoch())
		if err != nil {
			panic("apiserver: " + err.Error()) // fixed input: it works always or never
		}
		authority.Clock = s.k.Now
		s.newAuthenticators(authority, &authn.Expiry{})
		st.DescribeEvent = s.peers.describe
	}
	s.usage = &s.peers.usage
	s.peers.all = append(s.peers.all, s)
	s.peers.several = s.peers.several || len(s.peers.all) > 1
	for _, k := range registry.Kinds {
		if k.Stored() && !k.OnDemand {
			s.stored = append(s.stored, k)
		}
	}
	s.Restart(p)
	return s
}

// named is the name of something of the server's own.
func (s *Server) named(what string) string {
	if s.cfg.Name == "" {
		return what
	}
	return what + "/" + s.cfg.Name
}

// stream is a stream of random numbers of the server's own.
func (s *Server) stream(what string) *rand.Rand { return s.k.Rand(s.streamName(what)) }

func (s *Server) streamName(what string) string {
	if s.cfg.Before == 0 {
		return s.named(what)
	}
	return fmt.Sprintf("%s#%d", s.named(what), s.cfg.Before)
}

// complete fills in what the zero value means.
func (cfg *Config) complete() {
	if cfg.ServiceCIDR == "" {
		cfg.ServiceCIDR = "10.96.0.0/16"
	}
	if cfg.NodePorts == [2]int{} {
		cfg.NodePorts = [2]int{30000, 32767}
	}
	if cfg.AdvertiseIP == "" {
		cfg.AdvertiseIP = "192.168.0.10"
	}
	if cfg.Cost == (Cost{}) {
		cfg.Cost = DefaultCost
	}
	if cfg.EventTTL == 0 {
		cfg.EventTTL = time.Hour
	}
	if cfg.CompactionInterval == 0 {
		cfg.CompactionInterval = 5 * time.Minute
	}
	if cfg.Bookmarks == 0 {
		cfg.Bookmarks = time.Minute
	}
}

// Restart starts the server again as process p, after its old process was
// killed. Clients made before stay good; their watches have ended.
func (s *Server) Restart(p *sim.Process) {
	s.p, s.ready, s.idle = p, false, nil
	s.authorizers = &authz.Authorizers{Authorizer: authz.New(authzSource{s})}
	s.caches = map[*registry.Kind]*cacher.Cache{}
	for _, k := range s.stored {
		s.caches[k] = s.newCache(k)
	}
	s.alloc = s.newAllocator()
	total := fairness.DefaultConcurrency
	if s.flows != nil {
		total = s.flows.Total()
	}
	s.flows = fairness.NewSeats(p, total, s.k.Rand("flowcontrol"))
	s.flowObjects = &flowObjects{s: s}
	s.aggregator = s.newAggregator()
	s.customs = crd.New(s)
	s.defs = crd.NewControllers(p, func() *cacher.Cache { return s.cacheOf(crd.DefinitionKind()) }, s.customs.Stored, s)
	s.store = &etcd3.Store{
		Conn: s.st, Caches: s.cacheOf, Sealed: s.transformer, EventTTL: s.cfg.EventTTL, Leases: s.st.NewLeases("events"),
	}
	s.backends = s.stream("proxy")
	s.webhooks = webhook.NewClient(s.cfg.Webhooks, serviceEndpoints{lister{s}}, s.stream("webhook"))
	s.handlers = &handlers.Handlers{
		Store: s.store, Authorizers: s.authorizers, Fields: s.fields, Services: s.alloc, Names: s.names, Kubelets: s.cfg.Kubelets, Kinds: s,
		Backends: serviceEndpoints{lister{s}}, Dial: handlers.Dial(s.cfg.Dial),
		Tokens: &serviceaccount.Issuer{Keys: s.keys, Expiry: s.authenticators.Expiry, Lister: lister{s}, Restriction: func() admission.Mutating { return s.restriction }},
		Serve:  s.serve, Hold: s.hold, Inert: s.cfg.Inert, DecodeTime: s.cfg.Cost.Decode, AdmissionTime: s.cfg.Cost.Admission,
	}
	s.reviews = &review.Reviews{Handlers: s.handlers, Authenticators: s.authenticators, Authorizers: s.authorizers}
	s.startAdmission()
	s.listen()
	caches, customs := s.caches, s.customs
	boot := p.Go("main", s.main)
	boot.OnEnd(func() {
		s.ready = false
		for _, k := range registry.Kinds {
			if c := caches[k]; c != nil {
				c.Close()
			}
		}
		for _, c := range customs.Open() {
			c.Close()
		}
		s.started.Broadcast()
	})
}

// listen has the caches tell those who depend on them.
func (s *Server) listen() {
	for _, r := range []client.Resource{client.Roles, client.RoleBindings, client.ClusterRoles, client.ClusterRoleBindings} {
		s.caches[registry.KindFor(r.GroupVersionResource)].Changed = func(string, runtime.Object) { s.authorizers.Invalidate() }
	}
	customs, defs, aggregated, policies := s.customs, s.defs, s.aggregator, s.policies
	alloc := s.alloc
	s.caches[registry.KindFor(client.Services.GroupVersionResource)].Changed = func(key string, obj runtime.Object) {
		alloc.Changed(key, obj)
		aggregated.ServiceChanged(key)
	}
	s.caches[registry.KindFor(client.EndpointSlices.GroupVersionResource)].Changed = aggregated.SliceChanged
	s.caches[crd.DefinitionKind()].Changed = func(name string, obj runtime.Object) {
		customs.Changed(name, obj)
		defs.Changed(name, obj)
		aggregated.DefinitionChanged()
		policies.Changed() // a parameter may be of this kind
	}
}

// main is the server's first task; it lives as long as the process.
func (s *Server) main(t *sim.Task) {
	s.audit.Start(t, s.p)
	s.configs.start(t, s.p)
	s.bootstrap(t)
	for _, k := range s.stored {
		cache := s.caches[k]
		s.p.Go("watch-cache/"+k.GroupVersionResource.Resource, cache.Run)
	}
	for _, k := range s.stored {
		s.caches[k].AwaitFilled(t)
	}
	if s.InUse(registry.KindFor(client.FlowSchemas.GroupVersionResource)) {
		s.flowObjects.follow(trace.ID{})
		for !s.flowObjects.there {
			s.flowObjects.came.Wait(t)
		}
	}
	if s.InUse(registry.KindFor(client.APIServices.GroupVersionResource)) {
		s.aggregator.Follow(trace.ID{})
		s.aggregator.Await(t)
	}
	s.openLikePeers()
	s.ready, s.begun = true, true
	s.started.Broadcast()
	s.usage.more.Broadcast()
	s.p.Go("compactor", s.compact)
	s.p.Go("crd-controllers", s.defs.Run)
	s.p.Go("kubernetes-service", s.keepKubernetesService)
	if s.several() {
		s.p.Go("identity", s.keepIdentity)
	}
	s.keepFresh(t)
}

// describe names the API object behind a key for the trace. It may be asked while
// no process of the server lives, and opens no cache.
func (s *Server) describe(e *mvccpb.Event) (trace.Ref, *trace.Object) {
	k := s.kindOf(e.Kv.Key)
	if k == nil {
		return trace.Ref{}, nil
	}
	s.note(k, e.Kv.Key)
	c := s.openCache(k)
	if c == nil { // nobody watches it: there is only what the bytes say
		c = cacher.New(s.cacheConfig(), k)
	}
	return c.Describe(e)
}

// Authority is the cluster's certificate authority, whose client certificates the
// server believes.
func (s *Server) Authority() *authn.Authority { return s.authenticators.Authority }

// Seats are what priority and fairness shares out.
func (s *Server) Seats() *fairness.Seats { return s.flows }

// ConfigFiles are its configuration files.
func (s *Server) ConfigFiles() *ConfigFiles { return s.configs }

// Auditor is what writes the audit log.
func (s *Server) Auditor() *audit.Auditor { return s.audit }

// Encryption is encryption at rest.
func (s *Server) Encryption() *encrypt.AtRest { return s.encryption }

// PluginHealth is what the check kms-providers of /healthz and /readyz says.
func (s *Server) PluginHealth() (exists, well bool) { return s.encryption.PluginHealth() }

// Authenticators are those of the server.
func (s *Server) Authenticators() *authn.Authenticators { return s.authenticators }

// Process is the process the server runs as.
func (s *Server) Process() *sim.Process { return s.p }

// Ready reports whether the server answers requests: what /readyz says.
func (s *Server) Ready() bool { return s.ready && s.p.Alive() }

// Begun reports whether the server has been ready since the cluster began.
func (s *Server) Begun() bool { return s.begun }

// WaitReady waits until the server is ready.
func (s *Server) WaitReady(t *sim.Task) {
	for !s.Ready() {
		s.started.Wait(t)
	}
}

// WaitReadyFor is WaitReady with a limit in virtual time. It reports whether the
// server is ready.
func (s *Server) WaitReadyFor(t *sim.Task, limit time.Duration) bool {
	for end := t.Elapsed() + limit; !s.Ready(); {
		left := end - t.Elapsed()
		if left <= 0 {
			return false
		}
		s.started.WaitTimeout(t, left)
	}
	return true
}

// Store is the server's connection to the store: kube-apiserver's --etcd-servers.
func (s *Server) Store() *storage.Conn { return s.st }

// Revision is the newest revision the store has shown.
func (s *Server) Revision() int64 { return s.st.Revision() }

// Resources lists what the server serves: the built-in kinds in the order of
// kubectl api-resources, then the custom ones.
func (s *Server) Resources() []*registry.Kind {
	if s.customs.IsEmpty() {
		return registry.Kinds
	}
	return append(registry.Kinds[:len(registry.Kinds):len(registry.Kinds)], s.customs.Served()...)
}

// Authorize answers what the authorizers say: for the reviews, and for
// requests that are for no resource (/version, /metrics).
func (s *Server) Authorize(t *sim.Task, a authz.Attributes) authz.Decision {
	return s.authorizers.DecideFor(t, a)
}

// Client is an in-process connection as user, for the component in lane.
func (s *Server) Client(lane trace.Lane, user authn.User) client.Interface {
	return s.ClientThrough(s, lane, user)
}

// Door is what takes requests to a server: the server itself, or what stands before
// several.
type Door interface {
	Handle(t *sim.Task, req *Request) *Response
}

// ClientThrough is [Server.Client] by way of a door.
func (s *Server) ClientThrough(d Door, lane trace.Lane, user authn.User) client.Interface {
	return &connection{s: s, door: d, lane: lane, user: user}
}

// BearerThrough is the connection of somebody who shows a bearer token, by way of a door:
// who that is, the authenticators find out at each request.
func (s *Server) BearerThrough(d Door, lane trace.Lane, token string) client.Interface {
	return &connection{s: s, door: d, lane: lane, token: token}
}

// transformer is how a kind's values are encrypted.
func (s *Server) transformer(k *registry.Kind) *encrypt.Transformer {
	return s.encryption.Transformer(k.GroupResource())
}

// cacheConfig is what the watch caches of the server have in common.
func (s *Server) cacheConfig() *cacher.Config {
	if s.forCaches == nil || s.forCaches.Process != s.p {
		s.forCaches = &cacher.Config{
			Process: s.p, Store: s.st, Transformer: s.transformer, Wires: &s.peers.wires, Size: s.cfg.CacheSize, Deliver: s.cfg.Cost.Deliver,
		}
	}
	return s.forCaches
}
