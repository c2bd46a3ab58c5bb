// Package serve is the HTTP edge of kube-apiserver: it turns REST requests
// into requests of the pipeline (package apiserver) and the pipeline's answers
// into what kubectl and client-go read.
//
// In Kubernetes this is k8s.io/apiserver/pkg/endpoints (handlers, negotiation,
// responsewriters, discovery) and pkg/server. Content negotiation, request
// paths, serializers and table printing are Kubernetes' own code; the rest is
// written out here, small enough to read.
//
// Requests come in by two ways: [Handler.Transport], an http.RoundTripper inside
// the process (the console's kubectl), and [Handler.Listen], TLS on 127.0.0.1
// with a kubeconfig (everybody else). Both lead to [Handler.ServeHTTP]; start
// reading there.
//
// Discovery, OpenAPI, the service account keys, /version and /metrics are answered right here:
// they cost no virtual time and leave nothing in the trace; /livez and /readyz also read from
// the store. Everything else enters the simulation as work from outside and waits, visibly,
// while the cluster is paused.
//
// Simplified: no CBOR; OpenAPI documents are sent uncompressed, and
// describe all of Kubernetes v1.37, while discovery says what is served.
package serve

import (
	"context"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "no CBOR; OpenAPI documents are sent uncompressed and describe all of Kubernetes v1.37, while discovery says what is served; nodes/proxy is not served",
	Seen: "nodes/proxy answers 501 in words",
})

// API is the API server as the edge needs it; *apiserver.Server is one. Each part is
// declared beside what asks for it. The methods are called on the kernel's goroutine only.
type API interface {
	requests
	auditor
	discovered
	aggregated
	healthy
	flows
	issuer
	// WriteMetrics writes the server's own metrics as a scrape has them.
	WriteMetrics(w io.Writer)
}

// requests are what the API server does with a request.
type requests interface {
	Handle(t *sim.Task, req *request.Request) *request.Response
	// Access is whether a request may be made that the edge answers itself.
	Access(t *sim.Task, req *request.Request, verb, path string) error
}

// Config is what a Handler is made of.
type Config struct {
	Kernel *sim.Kernel
	// API gives the API server, or nil while there is none yet. It is called on
	// the kernel's goroutine.
	API func() API
	// Starting reports whether the API server has not been ready yet since the cluster
	// began; nil: it has. It is called on the kernel's goroutine.
	Starting func() bool
	// Documents holds discovery/discovery.json and openapi/… (assets.Documents).
	// Without it there is no OpenAPI, and discovery says what the registry knows.
	Documents fs.FS
	// Name is the API server's, where this is its own edge past the load balancer.
	Name string
	// Untaken is for how long of the machine's time a connection may take nothing of what is
	// written to it; 0 is a minute.
	Untaken time.Duration
}

// Handler answers the API's HTTP requests.
type Handler struct {
	cfg        Config
	docs       *documents
	table      tables
	customDocs customDocs
	encoded    encodings
	unread     *unread // of all edges
	turns      turns   // likewise

	process *sim.Process // whose tasks requests of outside programs are
	again   repeated     // kernel's goroutine

	mu      sync.Mutex
	admin   string // bearer token of the kubeconfig
	closing context.Context
	close   context.CancelFunc
	open    sync.WaitGroup // requests inside ServeHTTP
}

// New makes a handler. The kernel need not run yet.
func New(cfg Config) *Handler {
	h := &Handler{
		cfg: cfg, docs: &documents{fs: cfg.Documents}, table: newTables(), unread: &unread{}, turns: newTurns(),
		process: cfg.Kernel.NewProcess(trace.Lane{Component: trace.CompClient}),
	}
	h.closing, h.close = context.WithCancel(context.Background())
	return h
}

// Another is the same edge at another address, behind which another server answers. It
// is to be closed by itself.
func (h *Handler) Another(name string, api func() API) *Handler {
	o := New(Config{Kernel: h.cfg.Kernel, API: api, Starting: h.cfg.Starting, Documents: h.cfg.Documents, Name: name, Untaken: h.cfg.Untaken})
	o.docs, o.unread, o.turns = h.docs, h.unread, h.turns
	return o
}

// Close ends every open request (watches, for the most part) and waits until
// they have ended.
func (h *Handler) Close() {
	h.close()
	h.open.Wait()
}

// ServeHTTP answers one request. One at which it panics gets 500, and the others go on
// (apiserver pkg/server/filters/wrap.go WithPanicRecovery).
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	aborted := false
	broken := h.cfg.Kernel.HandleCrash("request "+r.Method+" "+r.URL.Path, func() {
		defer func() {
			if v := recover(); v == http.ErrAbortHandler { //nolint:errorlint // it is panicked with as it is
				aborted = true
			} else if v != nil {
				panic(v)
			}
		}()
		h.serve(w, r)
	})
	if aborted {
		panic(http.ErrAbortHandler)
	}
	if broken != nil {
		writePanicked(w)
	}
}

func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	if h.closing.Err() != nil {
		h.mu.Unlock()
		writeStatus(w, r, unavailable("the API server is shutting down"))
		return
	}
	h.open.Add(1)
	h.mu.Unlock()
	defer h.open.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.closing, cancel)()
	r = r.WithContext(ctx)

	w.Header().Set("Cache-Control", "no-cache, private")
	path := strings.TrimSuffix(r.URL.Path, "/")
	if strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/apis/") {
		if h.serveAggregated(w, r, path) {
			return
		}
		if !isDiscovery(path) {
			h.serveAPI(w, r)
			return
		}
	}
	noted := &noted{ResponseWriter: w}
	h.servePlain(noted, r, path)
	h.audit(r, &request.Request{}, noted)
}

// servePlain answers a request for no resource.
func (h *Handler) servePlain(w http.ResponseWriter, r *http.Request, path string) {
	if !h.mayRead(w, r) {
		return
	}
	switch {
	case path == "":
		h.servePaths(w, r)
	case path == "/version":
		serveVersion(w, r)
	case path == "/healthz" || path == "/livez" || path == "/readyz" || strings.HasPrefix(path, "/readyz/") || strings.HasPrefix(path, "/livez/") || strings.HasPrefix(path, "/healthz/"):
		h.serveHealth(w, r, strings.Trim(path, "/"))
	case path == "/metrics":
		h.serveMetrics(w)
	case strings.HasPrefix(path, debugFlows):
		h.serveFlows(w, r, strings.TrimPrefix(path, debugFlows))
	case path == "/openapi/v2" || path == "/openapi/v3" || strings.HasPrefix(path, "/openapi/v3/"):
		h.serveOpenAPI(w, r, path)
	case isOpenID(path):
		h.serveOpenID(w, r, path)
	case isDiscovery(path):
		h.serveDiscovery(w, r, path)
	default:
		writePathNotFound(w)
	}
}

// resources lists what is served now; nil while there is no API server.
func (h *Handler) resources() []*registry.Kind {
	var kinds []*registry.Kind
	h.cfg.Kernel.Do(func() {
		if api := h.cfg.API(); api != nil {
			kinds = api.Resources()
		}
	})
	return kinds
}

func unavailable(message string) *metav1.Status {
	return &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable,
		Reason: metav1.StatusReasonServiceUnavailable, Message: message,
	}
}
