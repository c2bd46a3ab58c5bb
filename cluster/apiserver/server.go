// Package apiserver is kube-apiserver: the only way to the cluster's state.
//
// A request passes through a fixed sequence of stages, each of which may change the
// object or refuse it. Only then is it written to the store, and only after that do
// watchers hear of it, through the watch cache. Nothing but the API server talks to
// etcd. Stages that look only at a request's headers and path are in package filters;
// package handlers takes the object from the body to the store and back. Each stage
// records in the trace what it did. Start reading at [Server.Handle], then pipeline.go.
//
// Simplified: almost every built-in kind has one version only. DESIGN.md lists the
// other differences.
package apiserver

import (
	"io"
	"math/rand/v2"
	"net/netip"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"kviz/cluster/apiserver/bootstrap"
	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/caches"
	"kviz/cluster/apiserver/configfile"
	"kviz/cluster/apiserver/controlplane"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/fieldmanager"
	"kviz/cluster/apiserver/filters"
	"kviz/cluster/apiserver/flowcontrol"
	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/inprocess"
	"kviz/cluster/apiserver/names"
	"kviz/cluster/apiserver/options"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/registry/service"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/apiserver/review"
	"kviz/cluster/apiserver/serviceaccount"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/bound"
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
	Components func() []handlers.ComponentHealth
	// Webhooks are the servers outside that admission, conversions and reviews ask; nil
	// where there are none.
	Webhooks webhook.Servers
	// Provider is the simulated identity provider; nil where there is none.
	Provider *idp.Provider
	// Inert knows on which parts of a write nothing in the cluster acts: the writer gets
	// warnings of it, and others an Event. It is nil where everything is acted on, or where
	// that is unknown.
	Inert handlers.Inert
	// Kubelets are the nodes' kubelets, for logs and exec; nil where there are none.
	Kubelets handlers.Kubelets
	// Dial opens a connection from the server's machine to an address of the cluster's
	// network, for aggregated APIs; nil where there is no network.
	Dial aggregator.Dial
	// Delay is passed by every request that has been let in, which keeps its seats for as
	// long as that takes; nil where nothing delays them.
	Delay func(t *sim.Task)
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
	identity
	lifecycle

	cfg   Config
	st    *storage.Conn
	names *names.Generator

	// What goes on when the server starts again.
	peers          *peers // the servers of the cluster, this one too
	disk           Disk
	caches         *caches.Caches
	keys           *authn.Keys
	fields         *fieldmanager.Managers
	authenticators *authn.Authenticators
	options        *options.Options
	conversions    *crd.Conversions
	workers        workers
	parts          request.Parts
	addresses      *rand.Rand // for the UIDs of IPAddresses, so that Services draw nothing from the names' stream

	// What is made again when it does.
	customs     *crd.Definitions // the kinds that CustomResourceDefinitions make
	store       *etcd3.Store
	probe       *etcd3.Probe
	writer      *bootstrap.Writer
	authorizers *authz.Authorizers
	restriction *admission.NodeRestriction
	webhooks    *webhook.Client
	services    service.Resolver // what is behind the Services
	policies    *policy.Policies
	hooks       *admissionwebhook.Hooks
	filters     *filters.Filters
	fairness    flowcontrol.Filter
	flowObjects *flowcontrol.Objects
	aggregator  *aggregator.Aggregator
	handlers    *handlers.Handlers
	reviews     *review.Reviews
	controllers *controlplane.Controllers
	repair      *controlplane.Repair
	tracking    *controlplane.TokenTracking
	foundIPs    map[string]bool // the IPAddresses that the server found at its start; nil in a new cluster
}

// New makes the server of process p and starts it: it fills the store with
// what every cluster has (unless it is there already), then its watch caches,
// and is then [Server.Ready].
func New(p *sim.Process, st *storage.Client, cfg Config) *Server {
	cfg.complete()
	bound.Expressions()
	s := &Server{
		identity: identity{k: p.Kernel(), name: cfg.Name, before: cfg.Before},
		cfg:      cfg, st: st.Connect(p.Lane.String()), caches: &caches.Caches{}, fields: &fieldmanager.Managers{},
	}
	s.names = &names.Generator{Stream: s.stream("apiserver")}
	s.addresses = s.stream("ipaddresses")
	s.workers.serve = s.serveEarly
	s.conversions = &crd.Conversions{Kernel: s.k, Client: func() *webhook.Client { return s.webhooks }}
	s.options = &options.Options{ReadFile: s.disk.ReadFile, Admission: func(cfg admission.Configurations) { s.handlers.Admission = s.newAdmission(cfg) }}
	if cfg.Provider != nil {
		s.options.Provider = cfg.Provider
	}
	s.disk = Disk{
		encryption: encrypt.NewAtRest(s.traced(), s.stream("encryption"), cfg.KMS),
		audit:      audit.NewAuditor(s.k, s.traced(), s.stream("audit"), audit.Sources{Lister: s.caches, Machine: cfg.AdvertiseIP}),
		configs:    s.options.Files(s.traced()),
	}
	if cfg.Peer != nil {
		s.join(cfg.Peer)
	} else {
		s.found(st)
	}
	s.caches.Usage = s.peers.usage
	s.peers.add(s)
	s.Restart(p)
	return s
}

// found makes the server the first of its cluster.
func (s *Server) found(st *storage.Client) {
	s.peers, s.keys = newPeers(), authn.NewKeys(s.k.Rand("serviceaccount-key"))
	authority, err := authn.NewAuthority(s.k.Rand("root-ca"), s.k.Epoch())
	if err != nil {
		panic("apiserver: " + err.Error()) // fixed input: it works always or never
	}
	authority.Clock = s.k.Now
	s.authenticators = authn.NewAuthenticators(authority, &authn.Expiry{}, s.keys, s.caches, s.cfg.Tokens)
	st.DescribeEvent = s.peers.describe
}

// join makes the server share what the servers of a cluster share with another.
func (s *Server) join(o *Server) {
	s.peers, s.keys = o.peers, o.keys
	s.authenticators = authn.NewAuthenticators(o.authenticators.Authority, o.authenticators.Expiry, s.keys, s.caches, s.cfg.Tokens)
	s.disk.copy(&s.peers.all[0].disk)
	if len(s.peers.all) == 1 && o.p.Alive() {
		o.p.Go("identity", o.controllers.KeepIdentity)
	}
}

// cidr is the range of the Services' cluster IPs.
func (cfg *Config) cidr() netip.Prefix { return netip.MustParsePrefix(cfg.ServiceCIDR) }

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

// Disk is what is on the disk of the server's machine.
func (s *Server) Disk() *Disk { return &s.disk }

// ConfigFiles are its configuration files.
func (s *Server) ConfigFiles() *configfile.Files { return s.disk.configs }

// Auditor is what writes the audit log.
func (s *Server) Auditor() *audit.Auditor { return s.disk.audit }

// Encryption is encryption at rest.
func (s *Server) Encryption() *encrypt.AtRest { return s.disk.encryption }

// Authenticators are those of the server.
func (s *Server) Authenticators() *authn.Authenticators { return s.authenticators }

// Access is [filters.Filters.Access].
func (s *Server) Access(t *sim.Task, req *request.Request, verb, path string) error {
	return s.filters.Access(t, req, verb, path)
}

// AuditAnswered is [filters.Filters.AuditAnswered].
func (s *Server) AuditAnswered(t *sim.Task, req *request.Request, code int, status *metav1.Status) {
	s.filters.AuditAnswered(t, req, code, status)
}

// Audits reports whether anything is written of requests.
func (s *Server) Audits() bool { return s.disk.audit.On() }

// Seats are what priority and fairness shares out.
func (s *Server) Seats() *fairness.Seats { return s.fairness.Seats }

// Aggregated is what other servers serve.
func (s *Server) Aggregated() aggregator.Aggregated { return s.aggregator }

// Wires are the ways from the servers of the cluster to their clients, for those who do
// something to them.
func (s *Server) Wires() *cacher.Wires { return &s.peers.wires }

// Store is the server's connection to the store: kube-apiserver's --etcd-servers.
func (s *Server) Store() *storage.Conn { return s.st }

// ProbeStore reads from the store, and gives what is wrong with it.
func (s *Server) ProbeStore(t *sim.Task) error { return s.probe.Ask(t) }

// Resources lists what the server serves: the built-in kinds in the order of
// kubectl api-resources, then the custom ones.
func (s *Server) Resources() []*registry.Kind { return s.caches.Resources() }

// WriteFlows writes a dump of /debug/api_priority_and_fairness/, and reports
// whether there is one of the name.
func (s *Server) WriteFlows(w io.Writer, dump string, details bool) bool {
	return s.fairness.Seats.Dump(w, s.k.Elapsed(), s.k.Epoch(), dump, details)
}

// WriteMetrics writes the server's metrics: those of priority and fairness.
func (s *Server) WriteMetrics(w io.Writer) { s.fairness.Seats.WriteMetrics(w, s.k.Elapsed()) }

// OpenID are the documents by which others check service account tokens.
func (s *Server) OpenID() serviceaccount.OpenID {
	return serviceaccount.OpenID{Address: s.cfg.AdvertiseIP, Keys: s.keys}
}

// Client is an in-process connection as user, for the component in lane.
func (s *Server) Client(lane trace.Lane, user authn.User) client.Interface {
	return s.ClientThrough(s, lane, user)
}

// ClientThrough is [Server.Client] by way of what stands before the servers.
func (s *Server) ClientThrough(h inprocess.Handler, lane trace.Lane, user authn.User) client.Interface {
	return inprocess.New(h, discovery{s}, lane, user)
}

// BearerThrough is the connection of a client with a bearer token, through the load balancer.
func (s *Server) BearerThrough(h inprocess.Handler, lane trace.Lane, token string) client.Interface {
	return inprocess.WithToken(h, discovery{s}, lane, token)
}
