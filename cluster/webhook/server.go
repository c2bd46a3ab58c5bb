// Package webhook is the webhook servers of a cluster: programs that are asked about
// objects before they are stored, over HTTPS, with an AdmissionReview; or asked to
// convert custom objects between versions, with a ConversionReview.
//
// In Kubernetes such a server is anybody's program, running in the cluster behind a
// Service or outside it under a URL. Here a small catalogue of them is simulated: the
// program inside a pod is named by the pod's image (docker.io/kviz/webhook-NAME), and
// each is also reached as the host NAME.webhooks.kviz.dev. Simplified: a program is
// one process however many pods run it, calls go from task to task instead of over
// TLS, and certificates are not checked. Start reading at [Servers.Send]; what the
// programs do is in catalogue.go and convert.go, how they can be made to fail in lies.go.
package webhook

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simulated,
	What: "webhook servers are a small catalogue of programs, told by the image docker.io/kviz/webhook-NAME; one process each, however many pods run it",
	Seen: "kviz fault list",
})

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simulated, In: "cluster/apiserver/webhook",
	What: "there are no sockets between the API server and what it asks outside: the address of a webhook leads to one of the simulated servers",
})

// latency is how long a server takes for one review.
const latency = 3 * time.Millisecond

// Address is where the hosts of the servers are: one outside the cluster.
const Address = "198.51.100.10"

// Servers are the simulated webhook servers. Their methods may be called only on
// the kernel's goroutine.
type Servers struct {
	by    map[string]*Server
	begin func(name string, causes []trace.ID)
	watch func(name string, body []byte)
}

// Watch makes fn be called with every request that a server takes.
func (s *Servers) Watch(fn func(name string, body []byte)) { s.watch = fn }

// Server is one of them.
type Server struct {
	program
	remote.Server
	lie Lie
}

// New makes the servers of the catalogue. begin is called to have one's process
// begin, when it is called for the first time.
func New(begin func(name string, causes []trace.ID)) *Servers {
	s := &Servers{by: map[string]*Server{}, begin: begin}
	for _, p := range catalogue {
		v := &Server{program: p}
		v.Latency, v.Handle = latency, v.serve
		s.by[p.name] = v
	}
	return s
}

// Names lists the catalogue.
func Names() []string {
	names := make([]string, len(catalogue))
	for i, p := range catalogue {
		names[i] = p.name
	}
	slices.Sort(names)
	return names
}

// Image is the name of the server that an image holds; "" if it holds none.
func (s *Servers) Image(image string) string {
	repo := strings.TrimPrefix(image, "docker.io/")
	if i := strings.IndexAny(repo, ":@"); i >= 0 {
		repo = repo[:i]
	}
	name, ok := strings.CutPrefix(repo, "kviz/webhook-")
	if !ok || s.by[name] == nil {
		return ""
	}
	return name
}

// Host is the name of the server that a host name leads to; "" for any other.
func (s *Servers) Host(host string) string {
	name, ok := strings.CutSuffix(host, ".webhooks.kviz.dev")
	if !ok || s.by[name] == nil {
		return ""
	}
	return name
}

// Start serves calls as process p, until that is killed.
func (s *Servers) Start(name string, p *sim.Process) { s.by[name].Start(p) }

// Slow adds d to every review of a server.
func (s *Servers) Slow(name string, d time.Duration) { s.by[name].Slow(d) }

// SetLie has a server lie; [Honest] ends it.
func (s *Servers) SetLie(name string, l Lie) { s.by[name].lie = l }

// Send posts a body to a server; nil if nobody listens there.
func (s *Servers) Send(t *sim.Task, name, path string, body []byte) *remote.Call {
	v := s.by[name]
	if !v.Started() && s.begin != nil {
		s.begin(name, t.Causes())
	}
	c := v.Send(t, remote.Request{Method: http.MethodPost, Path: path, Body: body})
	if c != nil && s.watch != nil {
		s.watch(name, body)
	}
	return c
}

// serve is the server's HTTP handler.
func (v *Server) serve(t *sim.Task, r *remote.Request) remote.Answer {
	payload := &trace.WebhookCall{Webhook: v.name, Path: r.Path}
	code, answer := http.StatusOK, []byte(nil)
	review := &admissionv1.AdmissionReview{}
	switch err := json.Unmarshal(r.Body, review); {
	case r.Path != v.path:
		code, answer = http.StatusNotFound, []byte("404 page not found\n")
		payload.Error = fmt.Sprintf("it serves %s only", v.path)
	case v.program.answer != nil:
		code, answer = v.program.answer(r.Body, v.lie, payload)
	case err != nil || review.Request == nil:
		code, answer = http.StatusBadRequest, []byte("want an AdmissionReview with a request\n")
		payload.Error = "the body is no AdmissionReview with a request"
	default:
		req := review.Request
		payload.UID, payload.Operation, payload.Object = string(req.UID), string(req.Operation), objectOf(req)
		resp := v.review(req)
		resp.UID = req.UID
		answer = v.lie.tell(review, resp, payload)
	}
	payload.Code = code
	return remote.Answer{Code: code, Body: answer, Event: t.Emit(trace.Event{Kind: trace.WebhookCalled, Payload: payload})}
}

// objectOf names what a request is about: "pods demo/web".
func objectOf(req *admissionv1.AdmissionRequest) string {
	name := req.Name
	if req.Namespace != "" {
		name = req.Namespace + "/" + name
	}
	what := req.Resource.Resource
	if req.SubResource != "" {
		what += "/" + req.SubResource
	}
	return strings.TrimSpace(what + " " + name)
}
