package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kviz/cluster/apiserver/audit"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/filters"
	"kviz/cluster/apiserver/flowcontrol"
	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// call is one request on its way through the pipeline.
type call struct {
	handlers.Call

	record *audit.Record    // what the audit log says of it; nil where that is nothing
	turn   flowcontrol.Turn // its seats, while it is served
}

// serve is the pipeline for a caller in the same task.
func (s *Server) serve(t *sim.Task, req *request.Request) *request.Response {
	return s.serveEarly(t, req, nil)
}

// serveEarly is the pipeline: DefaultBuildHandlerChain and the verb's handler. early, if not
// nil, gets the answer 504 when the request's time is over while a part of it is still being
// computed; the result of that part is then dropped (endpoints/handlers/finisher).
func (s *Server) serveEarly(t *sim.Task, req *request.Request, early func(*request.Response)) *request.Response {
	s.peers.requests++
	c := &call{Call: handlers.Call{Scope: request.NewScope(t, s.peers.requests), Req: req, Kind: req.Kind}}
	if c.Kind == nil {
		c.Kind = s.caches.KindFor(req.Resource)
	}
	if c.Kind.MayConvert() { // a conversion is a part of the request that needs it
		defer s.conversions.In(&c.Scope)()
	}
	outer := t.Deadline()
	if !req.Part { // a part has what is left to the whole
		t.SetDeadline(filters.Deadline(req, c.Began, c.connects()))
	}
	receive(&c.Scope, req, c.Kind)
	c.Client, c.Parts = req.Gone, &s.parts
	var late error
	if early != nil {
		c.TimedOut = func() {
			late = etcd3.Error(context.DeadlineExceeded)
			early(&request.Response{Err: late, Code: http.StatusGatewayTimeout, Kind: c.Kind, AuditID: req.AuditID, Flow: c.turn.Class(), Took: t.Elapsed() - c.Began})
		}
	}
	c.Pause(s.cfg.Cost.Access)
	var resp *request.Response
	if broken := t.HandleCrash(func() { resp = s.answer(c) }); broken != nil {
		resp = panicked(req, broken)
	}
	if late != nil {
		resp = &request.Response{Err: late}
	}
	c.Pause(s.cfg.Cost.Respond)
	_ = t.HandleCrashOn(trace.Ref{}, "the response", func() { respond(c, resp, s.disk.audit) })
	t.SetDeadline(outer)
	c.turn.Finish(t.Elapsed())
	s.fairness.Seats.LookAfter()
	return resp
}

// panicked is the answer to a request at which the server panicked; the others go on
// (apiserver pkg/server/filters/wrap.go WithPanicRecovery).
func panicked(req *request.Request, broken *sim.PanicError) *request.Response {
	return &request.Response{Err: apierrors.NewInternalError(fmt.Errorf(
		"%s %q: This request caused apiserver to panic. Look in the logs for details: %s", req.Verb, req.URL(), broken.Brief(),
	))}
}

// answer takes the request through its stages: whether it is let in, what it is for; then
// its verb.
func (s *Server) answer(c *call) *request.Response {
	err := filter(c, s.filters, &s.fairness)
	if err != nil {
		return &request.Response{Err: err}
	}
	if c.Req.Proxied != nil {
		return aggregate(&c.Call, s.aggregator)
	}
	if err := awaitFirstObjects(&c.Call, s.aggregator, s.flowObjects); err != nil {
		return &request.Response{Err: err}
	}
	if c.Sub, err = route(&c.Call); err != nil {
		return &request.Response{Err: err}
	}
	limitWrite(&c.Call)
	c.record.Options(c.Req, c.Kind)
	if s.cfg.Delay != nil {
		s.cfg.Delay(c.Task)
	}
	switch h := s.handlers; {
	case c.Kind.Is("Binding"):
		return h.BindNamed(&c.Call)
	case c.Kind.Is("ComponentStatus"):
		return h.ComponentStatus(&c.Call)
	case !c.Kind.Stored():
		return s.reviews.Create(&c.Call)
	case c.Req.Subresource != "" && c.Sub == nil:
		return h.Connect(&c.Call)
	default:
		return h.Verb(&c.Call)
	}
}

// filter is the part of the pipeline that looks at nothing but the request's headers and
// path: who sends it, what is logged about it, whom it impersonates, when it is its turn,
// whether it is allowed.
func filter(c *call, f *filters.Filters, turns *flowcontrol.Filter) error {
	on, req := &c.Scope, c.Req
	sender, err := f.Authenticate(on, req)
	if err != nil {
		return err
	}
	c.record = f.Auditor.Received(on, req, sender)
	if c.User, err = f.Impersonate(on, req, sender); err != nil {
		return err
	}
	on.Sender = c.User.Name
	if req.Impersonate != nil {
		c.record.Impersonated(c.User.Info())
	}
	if err := turns.Take(&c.turn, on, req, c.Kind, c.User, c.connects()); err != nil {
		return err
	}
	decision, err := f.Authorize(on, req, c.Kind, c.User)
	c.record.Access(decision)
	return err
}

// connects reports whether the request is a connection to a pod, or to what is behind a Service.
func (c *call) connects() bool { return c.Kind != nil && handlers.Connects(c.Kind, c.Req.Subresource) }

// longestWrite is endpoints/handlers/rest.go requestTimeoutUpperBound.
const longestWrite = 34 * time.Second

// limitWrite gives the handler of a write a shorter time, from when it begins. The
// deletion of a collection may be long (endpoints/handlers/delete.go DeleteCollection).
func limitWrite(c *handlers.Call) {
	until := c.Task.Deadline()
	if until == 0 || c.Req.Part {
		return
	}
	switch c.Req.Verb {
	case "create", "update", "patch", "delete":
		c.Task.SetDeadline(min(until, c.Task.Elapsed()+longestWrite))
	}
}
