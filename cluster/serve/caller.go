package serve

import (
	"context"
	"crypto/x509"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/request"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Caller is who sends a request, where the sender is inside this process. It
// travels in the request's context.
type Caller struct {
	User    authn.User
	Client  string        // for the trace: "kubectl"
	Process *sim.Process  // whose task the request is; its lane is the sender's
	Causes  []trace.ID    // what made the sender send it
	Waits   bool          // for the end of a watch: until then, time passes for it
	Most    time.Duration // how long a watch lasts, virtual; 0: as the request says
	Feed    *Feed         // of a watch whose sender waits in virtual time for what comes; else nil

	// Shows says that the sender does not count as User: it presents Certificates, and
	// has the key of the first one, or a bearer token in the request's header, and the
	// pipeline authenticates it.
	Shows        bool
	Certificates []*x509.Certificate
}

// Feed is what has come of a watch. It belongs to the kernel's goroutine.
type Feed struct {
	Came    int // events
	Over    bool
	Changed sim.Cond
}

// add notes what has come, or that no more will.
func (f *Feed) add(events int, over bool) {
	if f == nil {
		return
	}
	f.Came += events
	f.Over = f.Over || over
	f.Changed.Broadcast()
}

type callerKey struct{}

// WithCaller returns a context whose requests are sent by c.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// caller is who sends r; it writes into req who that is or which credentials were
// presented. Within this process it is who the request says. From outside: the bearer
// of the kubeconfig's token is the cluster's administrator, unless a certificate
// proves another; any other token or certificate is for the pipeline's authentication
// stage to judge.
func (h *Handler) caller(r *http.Request, req *request.Request) Caller {
	if c, ok := r.Context().Value(callerKey{}).(Caller); ok {
		if c.Shows {
			req.Token, req.Certificates = bearerToken(r), c.Certificates
		} else {
			req.User = &c.User
		}
		if len(c.Causes) > 0 {
			req.Command = c.Causes[0].String()
		}
		return c
	}
	if r.TLS != nil {
		req.Certificates = r.TLS.PeerCertificates
	}
	req.Peer = r.RemoteAddr
	token := bearerToken(r)
	if h.isAdminToken(token) {
		admin := authn.Admin()
		req.User, req.Kubeconfig = &admin, true
	} else {
		req.Token = token
	}
	return Caller{Client: clientName(r.UserAgent()), Process: h.process}
}

// open are the paths that everybody may read: what the ClusterRole
// system:public-info-viewer names. They are answered while there is no policy to
// ask, too.
var open = []string{"/version", "/healthz", "/livez", "/readyz"}

// mayRead reports whether a program outside may have a path that is no resource:
// discovery and OpenAPI are for anybody with an identity, metrics for those who are allowed
// them. If not, it has answered. The kubeconfig's administrator may everything, and
// a caller inside is not asked.
func (h *Handler) mayRead(w http.ResponseWriter, r *http.Request) bool {
	path := r.URL.Path
	if strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/apis/") {
		if !isDiscovery(strings.TrimSuffix(path, "/")) {
			return true // the pipeline decides
		}
	}
	for _, p := range open {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return h.mayAsk(w, r, &request.Request{})
}

// mayAsk reports whether the sender of a request that the pipeline does not see may
// ask for what it asks for: a resource, or a path. If not, it has answered.
func (h *Handler) mayAsk(w http.ResponseWriter, r *http.Request, req *request.Request) bool {
	path := r.URL.Path
	caller := h.caller(r, req)
	var status *metav1.Status
	if req.Impersonate, status = actAs(r); status != nil {
		writeStatus(w, r, status)
		return false
	}
	if req.User != nil && len(req.Certificates) == 0 && req.Impersonate == nil {
		return true
	}
	refused := error(client.ErrUnreachable)
	verb := strings.ToLower(r.Method)
	err := h.cfg.Kernel.Call(r.Context(), caller.Process, "read "+path, func(t *sim.Task) {
		refused = h.access(t, req, verb, path)
	}, func() {
		in := h.requested(req, caller)
		in.Verb, in.Path = verb, path
		h.enter(inputAccess, in)
	})
	switch {
	case panicked(w, err):
	case err != nil:
		writeStatus(w, r, unavailable("the simulation has stopped"))
	case refused == nil:
		return true
	case client.IsUnreachable(refused):
		h.refuse(w, r)
	default:
		writeStatus(w, r, statusOf(refused))
	}
	return false
}

// access is whether a request may have a path.
func (h *Handler) access(t *sim.Task, req *request.Request, verb, path string) error {
	api := h.cfg.API()
	if api == nil {
		return client.ErrUnreachable
	}
	return api.Access(t, req, verb, path)
}

// bearerToken is that of the header Authorization; "" for none
// (apiserver pkg/authentication/request/bearertoken).
func bearerToken(r *http.Request) string {
	parts := strings.SplitN(strings.TrimSpace(r.Header.Get("Authorization")), " ", 3)
	if len(parts) < 2 || !strings.EqualFold(parts[0], "bearer") {
		return ""
	}
	return parts[1]
}

// clientName is the first word of a user agent: "kubectl/v1.37.2 (…)" is "kubectl".
func clientName(userAgent string) string {
	name, _, _ := strings.Cut(userAgent, "/")
	if name == "" {
		return "unknown"
	}
	return name
}
