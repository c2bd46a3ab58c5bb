package serve

import (
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	flowcontrol "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	auditapi "k8s.io/apiserver/pkg/apis/audit"

	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// serveAPI answers a request for a resource: parse, negotiate, through the
// pipeline, encode.
func (h *Handler) serveAPI(w http.ResponseWriter, r *http.Request) {
	early := &noted{ResponseWriter: w}
	req, out, ok := h.understand(early, r)
	if !ok {
		h.audit(r, req, early)
		return
	}
	if req.Log != nil || req.Connect != nil {
		h.serveConnection(w, r, req)
		return
	}
	h.handle(w, r, req, func(a answer) {
		if a.feed != nil {
			h.writeWatch(w, r, req, out, a.feed, a.resp)
			return
		}
		h.writeResponse(w, r, req, out, a.resp, a.now)
	})
}

// handle sends a request through the pipeline, and has write tell what came of it,
// unless nobody answered or the request was turned down for want of a seat.
func (h *Handler) handle(w http.ResponseWriter, r *http.Request, req *request.Request, write func(answer)) {
	caller := h.caller(r, req)
	req.Client, req.Causes = caller.Client, caller.Causes
	req.AuditID, req.UserAgent, req.SourceIPs = r.Header.Get(auditapi.HeaderAuditID), r.UserAgent(), sourceIPs(r)
	if caller.Process != nil {
		req.Lane = caller.Process.Lane
	}
	req.Selected()
	h.announce(req, caller)

	got, err := h.ask(r, req, caller)
	resp := got.resp
	if resp != nil && resp.AuditID != "" {
		w.Header().Set(auditapi.HeaderAuditID, resp.AuditID)
	}
	if resp != nil && resp.Flow.Schema != "" {
		w.Header().Set(flowcontrol.ResponseHeaderMatchedPriorityLevelConfigurationUID, string(resp.Flow.LevelUID))
		w.Header().Set(flowcontrol.ResponseHeaderMatchedFlowSchemaUID, string(resp.Flow.SchemaUID))
	}
	switch {
	case panicked(w, err):
	case errors.Is(err, sim.ErrStopped):
		writeStatus(w, r, unavailable("the simulation has stopped"))
	case resp == nil: // the client has gone
	case client.IsUnreachable(resp.Err):
		h.refuse(w, r)
	case resp.Err != nil && resp.Stage == trace.StageFairness: // in plain words, as upstream's filter
		w.Header().Set("Retry-After", strconv.Itoa(int(resp.Status().Details.RetryAfterSeconds)))
		http.Error(w, resp.Status().Message, http.StatusTooManyRequests)
	default:
		write(got)
	}
}

// understand reads what a request is for, and in which form the answer is wanted. If
// it cannot be understood, or there is nothing of the kind, it has answered.
func (h *Handler) understand(w http.ResponseWriter, r *http.Request) (req *request.Request, out output, ok bool) {
	req, status := whatFor(r)
	if status != nil {
		writeStatus(w, r, status)
		return &request.Request{}, out, false
	}
	kind, ok := h.route(w, r, req)
	if !ok {
		return req, out, false
	}
	if connects(kind, req) {
		status = parseConnection(r, kind, req)
	} else if status = parseOptions(r, req); status == nil {
		out, status = negotiate(r, restrictionsOf(kind, req.Subresource))
	}
	if status != nil && kind.Deprecation() != "" && (req.Verb != "patch" || status.Code != http.StatusUnsupportedMediaType) { // upstream's handlers are wrapped in the warning
		warn(w, kind.Deprecation())
	}
	if status == nil {
		req.Impersonate, status = actAs(r)
	}
	if status != nil {
		writeStatus(w, r, status)
		return req, out, false
	}
	return req, out, true
}

// answer is what the pipeline gave.
type answer struct {
	resp *request.Response
	feed *stream // of a watch
	now  time.Time

	number uint64 // of the request, among what entered
}

// ask has the pipeline answer, in a task. A client that goes before ends the waiting and
// not the task, which then has nobody to give its answer to: whoever of the two is later
// ends a watch that came of it.
func (h *Handler) ask(r *http.Request, req *request.Request, caller Caller) (answer, error) {
	given := make(chan answer, 1)
	var gone atomic.Bool
	forget := func() {
		select {
		case a := <-given:
			if a.feed != nil {
				a.feed.stop()
			}
		default:
		}
	}
	var number uint64
	req.Gone = r.Context()
	err := h.cfg.Kernel.Call(r.Context(), caller.Process, req.Verb+" "+req.Resource.Resource, func(t *sim.Task) {
		given <- h.answer(t, req, caller, number)
		if gone.Load() {
			forget()
		}
	}, func() { number = h.enter(inputRequest, h.requested(req, caller)) })
	if err != nil {
		gone.Store(true)
		forget()
		return answer{}, err
	}
	select {
	case a := <-given:
		return a, nil
	default: // the task was killed, with its server
		return answer{resp: &request.Response{Err: client.ErrUnreachable}}, nil
	}
}

// answer is what the pipeline answers.
func (h *Handler) answer(t *sim.Task, req *request.Request, caller Caller, number uint64) answer {
	t.SetCauses(caller.Causes...)
	a := answer{resp: &request.Response{Err: client.ErrUnreachable}, number: number}
	if api := h.cfg.API(); api != nil {
		a.resp = api.Handle(t, req)
		req.Forget()
	}
	a.now = t.Now()
	switch {
	case a.resp.Watch != nil:
		a.feed = h.feed(t, a.resp.Watch, req, caller, number)
	case req.Verb == "watch" && apierrors.IsResourceExpired(a.resp.Err):
		a.feed = expired(t, a.resp.Err)
	}
	return a
}

// sourceIPs are the addresses that a request came by; none where there is no
// socket.
func sourceIPs(r *http.Request) []string {
	var all []string
	for _, ip := range utilnet.SourceIPs(r) {
		all = append(all, ip.String())
	}
	return all
}

// refuse closes the connection without an answer, as a server does that is down. One
// that has never been ready is starting: clients over HTTPS are told to try again
// (apiserver pkg/util/notfoundhandler).
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request) {
	if n, ok := w.(*noted); ok {
		w = n.ResponseWriter
	}
	if l, ok := w.(*localWriter); ok {
		l.fail(errRefused)
		return
	}
	if h.starting() {
		s := unavailable("the request has been made before all known HTTP paths have been installed, please try again")
		s.Details = &metav1.StatusDetails{RetryAfterSeconds: startTime}
		writeStatus(w, r, s)
		return
	}
	panic(http.ErrAbortHandler)
}

// startTime is after how many seconds a client is to come again; upstream says five, and
// takes that long to start.
const startTime = 1

// starting reports whether the server has not been ready yet.
func (h *Handler) starting() (yes bool) {
	if h.cfg.Starting == nil {
		return false
	}
	h.cfg.Kernel.Do(func() { yes = h.cfg.Starting() })
	return yes
}

// announce puts a request that finds the cluster paused into the trace, where
// it can be seen to wait.
func (h *Handler) announce(req *request.Request, caller Caller) {
	k := h.cfg.Kernel
	k.PostControl(func() {
		if !k.Paused() {
			return
		}
		user := ""
		if req.User != nil {
			user = req.User.Name
		}
		k.Emit(trace.Event{Kind: trace.RequestWaiting, Lane: req.Lane, Causes: caller.Causes, Payload: &trace.Request{
			Verb: req.Verb, Path: req.Path, Resource: req.Resource.Resource, Subresource: req.Subresource,
			Namespace: req.Namespace, Name: req.Name, User: user, Client: req.Client,
		}})
	})
}

// A request for a resource that is not served, or with a method it has not, is
// answered before the pipeline, as upstream's router does: to those who may ask.
func (h *Handler) route(w http.ResponseWriter, r *http.Request, req *request.Request) (*registry.Kind, bool) {
	kinds := h.resources()
	if kinds == nil {
		if h.cfg.Kernel.Do(func() {}) != nil {
			writeStatus(w, r, unavailable("the simulation has stopped"))
			return nil, false
		}
		h.refuse(w, r)
		return nil, false
	}
	turnDown := func(status *metav1.Status) (*registry.Kind, bool) {
		if h.mayAsk(w, r, req) {
			writeStatus(w, r, status)
		}
		return nil, false
	}
	for _, k := range kinds {
		if k.GroupVersionResource != req.Resource {
			continue
		}
		verbs := k.Verbs
		if req.Subresource != "" {
			verbs = nil
			for _, s := range k.Subresources {
				if s.Name == req.Subresource {
					verbs = s.Verbs
				}
			}
			if why := unserved[req.Resource.Resource+"/"+req.Subresource]; verbs == nil && req.Resource.Group == "" && why != "" {
				return turnDown(notImplemented(why))
			}
			if verbs == nil {
				verbs = handlers.ConnectVerbs(k, req.Subresource)
			}
			if verbs == nil {
				return turnDown(routeError(http.StatusNotFound, ""))
			}
		}
		if status := routable(r, k, req, verbs); status != nil {
			return turnDown(status)
		}
		return k, true
	}
	if req.Resource.Group == "" || hasGroup(kinds, req.Resource.Group) {
		return turnDown(routeError(http.StatusNotFound, ""))
	}
	if h.mayAsk(w, r, req) {
		writePathNotFound(w)
	}
	return nil, false
}

// unserved are what the real API server hands on to a kubelet and this one does not, and
// what to use here.
var unserved = map[string]string{
	"nodes/proxy": "kubelets are simulated and have no port; what they do is in the node pane, their numbers in kubectl top nodes with manifests/metrics-server.yaml",
}

// fits reports whether a path is one that the verb has: one object is named to
// be changed, none to be created.
func fits(req *request.Request) bool {
	switch req.Verb {
	case "update", "patch", "delete", "get":
		return req.Name != ""
	case "create":
		return req.Name == "" || req.Subresource != ""
	}
	return true
}

// stop ends a stream nobody reads any more.
func (s *stream) stop() {
	if s.watch == nil {
		return
	}
	s.h.cfg.Kernel.Post(func() {
		if !s.over {
			s.h.enter(inputStop, input{Server: s.h.cfg.Name, Of: s.number})
		}
		s.halt()
	})
}

// halt is stop on the kernel's goroutine.
func (s *stream) halt() { s.watch.Stop() }

var errRefused = &refusedError{}

// refusedError reads to kubectl as a server that is not there: "The connection
// to the server … was refused".
type refusedError struct{}

func (*refusedError) Error() string { return "dial tcp: connect: connection refused" }
func (*refusedError) Unwrap() error { return client.ErrUnreachable }
