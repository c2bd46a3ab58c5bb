package apiserver

import (
	"time"

	"kviz/cluster/apiserver/audit"
	"kviz/cluster/apiserver/flowcontrol"
	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
)

// call is one request on its way through the pipeline.
type call struct {
	handlers.Call
	s *Server

	record *audit.Record    // what the audit log says of it; nil where that is nothing
	turn   flowcontrol.Turn // its seats, while it is served
}

// serve is the pipeline: DefaultBuildHandlerChain and the verb's handler.
func (s *Server) serve(t *sim.Task, req *request.Request) *request.Response {
	s.peers.requests++
	c := &call{s: s, Call: handlers.Call{Scope: request.NewScope(t, s.peers.requests), Req: req, Kind: req.Kind}}
	if c.Kind == nil {
		c.Kind = s.KindFor(req.Resource)
	}
	if c.Kind.MayConvert() { // a conversion is a part of the request that needs it
		defer s.conversions.In(&c.Scope)()
	}
	outer := t.Deadline()
	if !req.Part { // a part has what is left to the whole
		t.SetDeadline(c.deadline())
	}
	c.receive()
	resp := c.respond(c.run())
	t.SetDeadline(outer)
	c.turn.Finish(t.Elapsed())
	s.fairness.Seats.LookAfter()
	return resp
}

// deadline is when the request ends with 504 if it is not answered by then
// (endpoints/filters/request_deadline.go): a watch, or a connection to a
// container, may last. Only the store is waited for so long that it matters.
func (c *call) deadline() time.Duration {
	if c.Req.Verb == "watch" || c.connects() {
		return 0
	}
	limit := request.Longest
	if c.Req.Timeout > 0 {
		limit = min(limit, c.Req.Timeout)
	}
	return c.Began + limit
}

// connects reports whether the request is a connection to a pod, or to what is behind a Service.
func (c *call) connects() bool { return c.Kind != nil && handlers.Connects(c.Kind, c.Req.Subresource) }

// longestWrite is endpoints/handlers/rest.go requestTimeoutUpperBound.
const longestWrite = 34 * time.Second

// limitWrite gives the handler of a write a shorter time, from when it begins. The
// deletion of a collection may be long (endpoints/handlers/delete.go DeleteCollection).
func (c *call) limitWrite() {
	until := c.Task.Deadline()
	if until == 0 || c.Req.Part {
		return
	}
	switch c.Req.Verb {
	case "create", "update", "patch", "delete":
		c.Task.SetDeadline(min(until, c.Task.Elapsed()+longestWrite))
	}
}

// run takes the request through its stages: who sends it, what the audit log says of it,
// whom it acts as, when it is its turn, whether he may, what it is for; then its verb.
func (c *call) run() *request.Response {
	c.Pause(c.s.cfg.Cost.Access)
	err := c.access()
	if err != nil {
		return &request.Response{Err: err}
	}
	if c.Req.Proxied != nil {
		return c.aggregate()
	}
	if c.Sub, err = c.route(); err != nil {
		return &request.Response{Err: err}
	}
	c.limitWrite()
	c.record.Options(c.Req, c.Kind)
	if c.s.delay != nil {
		c.s.delay(c.Task)
	}
	h := c.s.handlers
	switch {
	case c.Kind.Is("Binding"):
		return h.BindNamed(&c.Call)
	case c.Kind.Is("ComponentStatus"):
		return h.ComponentStatus(&c.Call)
	case !c.Kind.Stored():
		return c.s.reviews.Create(&c.Call)
	case c.Req.Subresource != "" && c.Sub == nil:
		return h.Connect(&c.Call)
	}
	return h.Verb(&c.Call)
}

// access is the part of the pipeline that looks at nothing but the request's head.
func (c *call) access() (err error) {
	if c.User, err = c.authenticate(); err != nil {
		return err
	}
	c.record = c.s.audit.Received(&c.Scope, c.Req, c.User)
	if c.User, err = c.impersonate(c.User); err != nil {
		return err
	}
	if err := c.s.fairness.Take(&c.turn, &c.Scope, c.Req, c.Kind, c.User, c.connects()); err != nil {
		return err
	}
	return c.authorize(c.User)
}
