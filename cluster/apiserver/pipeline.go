package apiserver

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/audit"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
)

// call is one request on its way through the pipeline.
type call struct {
	request.Scope
	s    *Server
	req  *Request
	kind *registry.Kind
	sub  *registry.Subresource
	user authn.User

	raw     runtime.Object // of a custom kind: the body before it was pruned
	pruned  []string       // and what was
	settled bool           // it waited for its definition to be known

	record *audit.Record // what the audit log says of it; nil where that is nothing
	seat   fairness.Seat // while it is served
	schema *fairness.Schema
	class  fairness.Class
}

// serve is the pipeline: DefaultBuildHandlerChain and the verb's handler.
func (s *Server) serve(t *sim.Task, req *Request) *Response {
	s.peers.requests++
	c := &call{Scope: request.NewScope(t, s.peers.requests), s: s, req: req, kind: req.Kind}
	if c.kind == nil {
		c.kind = s.kindFor(req.Resource)
	}
	if c.kind.MayConvert() { // a conversion is a part of the request that needs it
		outer := s.calls[t]
		s.calls[t] = c
		defer func() {
			if s.calls[t] = outer; outer == nil {
				delete(s.calls, t)
			}
		}()
	}
	outer := t.Deadline()
	t.SetDeadline(c.deadline())
	c.receive()
	resp := c.respond(c.run())
	t.SetDeadline(outer)
	c.seat.Finish(t.Elapsed())
	s.flows.LookAfter()
	return resp
}

// longestWrite is endpoints/handlers/rest.go requestTimeoutUpperBound.
const longestWrite = 34 * time.Second

// deadline is when the request ends with 504 if it is not answered by then
// (endpoints/filters/request_deadline.go): a watch, or a connection to a
// container, may last. Only the store is waited for so long that it matters.
func (c *call) deadline() time.Duration {
	if c.req.Verb == "watch" || connects[c.req.Subresource] {
		return 0
	}
	limit := request.Longest
	if c.req.Verb != "get" && c.req.Verb != "list" {
		limit = longestWrite
	}
	if c.req.Timeout > 0 {
		limit = min(limit, c.req.Timeout)
	}
	return c.Began + limit
}

// run takes the request through its stages: who sends it, what the audit log says of it,
// whom it acts as, when it is its turn, whether he may, what it is for; then its verb.
func (c *call) run() *Response {
	c.Pause(c.s.cfg.Cost.Access)
	err := c.access()
	if err != nil {
		return &Response{Err: err}
	}
	if c.req.Proxied != nil {
		return c.aggregate()
	}
	if c.sub, err = c.route(); err != nil {
		return &Response{Err: err}
	}
	c.record.Options(c.req, c.kind)
	if c.s.door != nil {
		c.s.door(c.Task)
	}
	switch {
	case c.kind.Is("Binding"):
		return c.bindNamed()
	case c.kind.Is("ComponentStatus"):
		return c.componentStatus()
	case !c.kind.Stored():
		return c.review()
	case c.req.Subresource != "" && c.sub == nil:
		return c.connect()
	}
	return c.verb()
}

// access is the part of the pipeline that looks at nothing but the request's head.
func (c *call) access() (err error) {
	if c.user, err = c.authenticate(); err != nil {
		return err
	}
	c.record = c.s.audit.Received(&c.Scope, c.req, c.user)
	if c.user, err = c.impersonate(c.user); err != nil {
		return err
	}
	if err := c.priorityAndFairness(); err != nil {
		return err
	}
	return c.authorize(c.user)
}

// verb is the handler of objects that are stored.
func (c *call) verb() *Response {
	switch c.req.Verb {
	case "get":
		return c.get()
	case "list":
		return c.list()
	case "watch":
		return c.watch()
	case "create":
		if c.sub != nil {
			return c.createSub()
		}
		return c.create()
	case "update", "patch":
		return c.update()
	case "delete":
		return c.delete()
	case "deletecollection":
		return c.deleteCollection()
	}
	return &Response{Err: apierrors.NewMethodNotSupported(c.req.Resource.GroupResource(), c.req.Verb)}
}

// The forms of an object on its way from the body of a request to the store and back.
// Each stage takes one and makes the next, so that none can be left out:
//
//	decode          body       → decoded    (update, patch: change)
//	mutate          decoded    → admitted
//	validate…       admitted   → validated
//	admit           validated  → approved
//	insert, replace approved   → written
//	answer          written    → Response
type (
	// decoded was read from the body, or made by a patch; it has its defaults.
	decoded struct{ obj runtime.Object }
	// admitted is what mutating admission has left.
	admitted struct{ obj runtime.Object }
	// validated obeys the rules of its kind.
	validated struct{ obj runtime.Object }
	// approved is what no validating plugin objects to.
	approved struct{ obj runtime.Object }
	// written has the revision at which it was stored.
	written = etcd3.Written
)
