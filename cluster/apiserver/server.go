// Package apiserver is kube-apiserver: the only way to the cluster's state.
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
	"io"
	"math/rand/v2"
	"net/netip"
	"time"

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
	"kviz/cluster/apiserver/bootstrap"
	"kviz/cluster/apiserver/caches"
	"kviz/cluster/apiserver/configfile"
	"kviz/cluster/apiserver/controlplane"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/fieldmanager"
	"kviz/cluster/apiserver/flowcontrol"
	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/inprocess"
	"kviz/cluster/apiserver/names"
	"kviz/cluster/apiserver/oidc"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/registry/service"
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
	Components func() []handlers.ComponentHealth
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
	Kubelets handlers.Kubelets
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
	k     *sim.Kernel
	st    *storage.Conn
	names *names.Generator
	p     *sim.Process

	ready   bool
	begun   bool     // it has been ready, whatever became of it
	retired bool     // it ends for good
	started sim.Cond // ready changed

	// What goes on when the server starts again.
	caches         *caches.Caches
	keys           *authn.Keys
	fields         *fieldmanager.Managers
	encryption     *encrypt.AtRest
	audit          *audit.Auditor
	configs        *configfile.Files
	authenticators *authn.Authenticators
	issuers        *oidc.Issuers // nil where there are none
	conversions    *crd.Conversions
	peers          *peers            // the servers of the cluster, this one too
	delay          func(t *sim.Task) // see DelayHandlers; nil where there is none

	// What is made anew when it does.
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
	fairness    flowcontrol.Filter
	flowObjects *flowcontrol.Objects
	aggregator  *aggregator.Aggregator
	handlers    *handlers.Handlers
	reviews     *review.Reviews
	controllers *controlplane.Controllers
	workers     workers
}

// New makes the server of process p and starts it: it fills the store with
// what every cluster has (unless it is there already), then its watch caches,
// and is then [Server.Ready].
func New(p *sim.Process, st *storage.Client, cfg Config) *Server {
	cfg.complete()
	s := &Server{cfg: cfg, k: p.Kernel(), st: st.Connect(p.Lane.String()), caches: &caches.Caches{}, fields: &fieldmanager.Managers{}}
	s.names = &names.Generator{Stream: s.stream("apiserver")}
	s.encryption = encrypt.NewAtRest(s.whose(), s.stream("encryption"), s.cfg.KMS)
	s.audit = audit.NewAuditor(s.k, s.whose(), s.stream("audit"), audit.Sources{Lister: s.caches, Machine: s.cfg.AdvertiseIP})
	s.conversions = &crd.Conversions{Kernel: s.k, Client: func() *webhook.Client { return s.webhooks }}
	s.configs = s.newConfigFiles()
	if cfg.Peer != nil {
		s.join(cfg.Peer)
	} else {
		s.found(st)
	}
	s.caches.Usage = s.peers.usage
	s.peers.all = append(s.peers.all, s)
	s.peers.several = s.peers.several || len(s.peers.all) > 1
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
	s.newAuthenticators(authority, &authn.Expiry{})
	st.DescribeEvent = s.peers.describe
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

// cidr is the range of the Services' cluster IPs.
func (s *Server) cidr() netip.Prefix { return netip.MustParsePrefix(s.cfg.ServiceCIDR) }

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

// Authority is the cluster's certificate authority, whose client certificates the
// server believes.
func (s *Server) Authority() *authn.Authority { return s.authenticators.Authority }

// Seats are what priority and fairness shares out.
func (s *Server) Seats() *fairness.Seats { return s.fairness.Seats }

// ConfigFiles are its configuration files.
func (s *Server) ConfigFiles() *configfile.Files { return s.configs }

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

// ProbeStore reads from the store, and gives what is wrong with it.
func (s *Server) ProbeStore(t *sim.Task) error { return s.probe.Ask(t) }

// KindFor is the kind served as a resource now; nil if none is.
func (s *Server) KindFor(r schema.GroupVersionResource) *registry.Kind { return s.caches.KindFor(r) }

// Resources lists what the server serves: the built-in kinds in the order of
// kubectl api-resources, then the custom ones.
func (s *Server) Resources() []*registry.Kind { return s.caches.Resources() }

// Authorize answers what the authorizers say: for the reviews, and for
// requests that are for no resource (/version, /metrics).
func (s *Server) Authorize(t *sim.Task, a authz.Attributes) authz.Decision {
	return s.authorizers.DecideFor(t, a)
}

// Client is an in-process connection as user, for the component in lane.
func (s *Server) Client(lane trace.Lane, user authn.User) client.Interface {
	return s.ClientThrough(s, lane, user)
}

// ClientThrough is [Server.Client] by way of what stands before the servers.
func (s *Server) ClientThrough(h inprocess.Handler, lane trace.Lane, user authn.User) client.Interface {
	return inprocess.New(h, discovery{s}, lane, user)
}

// BearerThrough is the connection of somebody who shows a bearer token, by way of what stands
// before the servers.
func (s *Server) BearerThrough(h inprocess.Handler, lane trace.Lane, token string) client.Interface {
	return inprocess.WithToken(h, discovery{s}, lane, token)
}

// WriteFlows writes a dump of /debug/api_priority_and_fairness/, and reports
// whether there is one of the name.
func (s *Server) WriteFlows(w io.Writer, dump string, details bool) bool {
	return s.fairness.Seats.Dump(w, s.k.Elapsed(), s.k.Epoch(), dump, details)
}

// WriteMetrics writes the server's metrics: those of priority and fairness.
func (s *Server) WriteMetrics(w io.Writer) { s.fairness.Seats.WriteMetrics(w, s.k.Elapsed()) }

// OpenIDConfig tells who issues service account tokens and where the keys are, as JSON.
func (s *Server) OpenIDConfig() ([]byte, error) {
	return serviceaccount.OpenIDConfig(s.cfg.AdvertiseIP)
}

// JWKS is the public half of the key that signs service account tokens, as a JSON web
// key set.
func (s *Server) JWKS() ([]byte, error) { return serviceaccount.JWKS(s.keys) }

// transformer is how a kind's values are encrypted.
func (s *Server) transformer(k *registry.Kind) *encrypt.Transformer {
	return s.encryption.Transformer(k.GroupResource())
}
