package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/audit"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/fairness"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Handle runs a request through the pipeline as a task of the server's
// process, on behalf of task t, and gives the answer. If the server is down or
// dies meanwhile, the answer's Err wraps [client.ErrUnreachable]. Called from a
// task of the server's own process, it runs in that task.
//
// Besides the verbs of objects it takes "get" and "create" of the pod
// subresources log, exec, attach, portforward and proxy: it then decides about
// access, and answers with the pod; the caller does the rest.
func (s *Server) Handle(t *sim.Task, req *Request) *Response {
	if req.Causes == nil {
		req.Causes = t.Causes()
	}
	if t.Process() == s.p && s.Ready() {
		return s.serve(t, req)
	}
	if !s.Ready() {
		t.Sleep(refusedAfter)
		return &Response{Err: unreachable(req, "connect")}
	}
	j := &job{req: req}
	s.employ(j)
	for !j.over {
		j.wait.Wait(t)
	}
	if j.resp == nil {
		return &Response{Err: unreachable(req, "read")}
	}
	return j.resp
}

// refusedAfter is how long it takes to hear that nobody listens.
const refusedAfter = 200 * time.Microsecond

func unreachable(req *Request, op string) error {
	return fmt.Errorf("%s %s: %s the API server: %w", req.Verb, req.path(), op, client.ErrUnreachable)
}

// call is one request on its way through the pipeline.
type call struct {
	request.Scope
	s    *Server
	req  *Request
	kind *registry.Kind
	sub  *registry.Subresource
	user authn.User

	obj      runtime.Object // as it will be stored
	old      runtime.Object // as it is stored; shared
	oldRev   int64
	oldValue []byte
	cached   bool           // old comes from the watch cache
	listed   cacher.Tally   // how the values of a list from the store were encrypted
	stale    bool           // old, read from the store, is encrypted otherwise than it would be now
	live     bool           // the next look must be at the store
	body     runtime.Object // the decoded body of an update, until it is used
	meant    types.UID      // whose update it is, by that body
	original runtime.Object // what was stored, as the watch cache has it; shared
	raw      runtime.Object // of a custom kind: the body before it was pruned
	pruned   []string       // and what was
	settled  bool           // it waited for its definition to be known

	sent, sentOld runtime.Object // of a subresource with an object of its own, as admission sees it
	evicting      bool           // the deletion is an eviction
	record        *audit.Record  // what the audit log says of it; nil where that is nothing
	routed        bool           // it is allowed, and for something that is served
	seat          fairness.Seat  // while it is served
	schema        *fairness.Schema
	class         fairness.Class
	created       bool           // an update made the object
	marked        runtime.Object // what a deletion at once would have written, had it not been at once
}

// serve is the pipeline: DefaultBuildHandlerChain and the verb's handler.
func (s *Server) serve(t *sim.Task, req *Request) *Response {
	s.peers.requests++
	c := &call{Scope: request.NewScope(t, s.peers.requests), s: s, req: req, kind: req.kind}
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
	s.lookAfterFlows()
	return resp
}

const (
	// longestWrite is endpoints/handlers/rest.go requestTimeoutUpperBound.
	longestWrite = 34 * time.Second
)

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

// run takes the request through its stages.
func (c *call) run() *Response {
	c.Pause(c.s.cfg.Cost.Access)
	for _, stage := range []func(*call) error{authenticate, auditRequest, impersonate, queueFairly, authorize} {
		if err := stage(c); err != nil {
			return &Response{Err: err}
		}
	}
	if c.req.Proxied != nil {
		return c.aggregate()
	}
	if err := c.route(); err != nil {
		return &Response{Err: err}
	}
	c.routed = true
	c.Pause(c.s.slow)
	switch {
	case c.kind.Is("Binding"):
		return c.bindNamed()
	case c.kind.Is("ComponentStatus"):
		return c.componentStatus()
	case !c.kind.Stored():
		return c.review()
	}
	if c.req.Subresource != "" && c.sub == nil {
		return c.connect()
	}
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

// route finds the kind and subresource; what is not served is 404, a verb it
// does not have 405.
func (c *call) route() error {
	if c.kind == nil {
		return notServed()
	}
	if err := c.routeCustom(); err != nil {
		return err
	}
	if err := c.routeFlows(); err != nil {
		return err
	}
	if err := c.routeAPIServices(); err != nil {
		return err
	}
	if c.kind.Deprecation() != "" && !c.req.System {
		c.Warnings = append(c.Warnings, c.kind.Deprecation())
	}
	verbs := c.kind.Verbs
	if c.req.Subresource != "" {
		if c.sub = c.kind.Subresource(c.req.Subresource); c.sub == nil {
			if c.kind.Is("Pod") && connects[c.req.Subresource] {
				return nil
			}
			return notServed()
		}
		verbs = c.sub.Verbs
	}
	for _, v := range verbs {
		if v == c.req.Verb {
			return nil
		}
	}
	return apierrors.NewMethodNotSupported(c.kind.GroupResource(), c.req.Verb)
}

// connects are the pod subresources that are connections to its kubelet.
var connects = map[string]bool{"log": true, "exec": true, "attach": true, "portforward": true, "proxy": true}

func notServed() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "the server could not find the requested resource", 0, true)
}

// receive notes that the request is here.
func (c *call) receive() {
	r := c.req
	c.Ref = trace.Ref{Namespace: r.Namespace, Name: r.Name}
	if c.kind != nil {
		c.Ref.APIVersion, c.Ref.Kind = c.kind.APIVersion, c.kind.Kind
		if r.Object != nil && c.Ref.Name == "" && c.kind.Stored() {
			c.Ref.Name = object.Name(r.Object)
		}
	}
	user := r.User
	if user == nil {
		user = &authn.User{}
	}
	payload := &trace.Request{
		Request: c.Number, Verb: r.Verb, Path: r.path(), Resource: r.Resource.Resource, Subresource: r.Subresource,
		Namespace: r.Namespace, Name: r.Name, User: user.Name, Client: r.sender(), Patch: string(r.Patch),
	}
	if r.Object != nil && !r.System {
		payload.Body = trace.Obj(r.Object.DeepCopyObject())
	}
	c.Last = c.Task.Emit(trace.Event{Kind: trace.RequestReceived, Object: c.Ref, Causes: causesOf(r.Causes), Payload: payload})
}

// causesOf is ids, never nil, so that a request without causes has none.
func causesOf(ids []trace.ID) []trace.ID {
	if ids == nil {
		return []trace.ID{}
	}
	return ids
}

// respond is the last stage: the answer goes back.
func (c *call) respond(r *Response) *Response {
	c.Pause(c.s.cfg.Cost.Respond)
	r.Warnings, r.Stage, r.Took = c.Warnings, c.Refused, c.Task.Elapsed()-c.Began
	r.Kind = c.kind
	payload := &trace.Response{Request: c.Number, Verb: c.req.Verb, Took: r.Took, Stage: c.Refused}
	if r.Err != nil {
		st := request.StatusOf(r.Err)
		r.Code = int(st.Code)
		payload.Reason, payload.Message = string(st.Reason), st.Message
	} else if r.Raw != nil {
		r.Code = r.Raw.Code
		if r.Code >= http.StatusBadRequest {
			payload.Message = strings.TrimSpace(string(r.Raw.Body))
		}
	} else if r.Code == 0 {
		r.Code = http.StatusOK
		if c.created {
			r.Code = http.StatusCreated
		}
	}
	payload.Code = r.Code
	r.AuditID, r.Flow = c.req.AuditID, c.class
	c.auditAnswer(r)
	if r.Object != nil && r.Err == nil {
		payload.Object = trace.Obj(c.shared(r.Object))
	}
	causes := []trace.ID{c.Last}
	causes = append(causes, c.Commits...)
	c.Task.Emit(trace.Event{Kind: trace.RequestDone, Object: c.Ref, Causes: causes, Payload: payload})
	return r
}

// shared is an object for the trace equal to what goes to the caller, who may
// change his.
func (c *call) shared(obj runtime.Object) runtime.Object {
	if c.original != nil {
		return c.original
	}
	return obj.DeepCopyObject()
}

// own is the caller's own copy of a shared object.
func (c *call) own(obj runtime.Object) runtime.Object {
	c.original = obj
	return obj.DeepCopyObject()
}

// path is the request's URL path.
func (r *Request) path() string {
	if r.Path != "" {
		return r.Path
	}
	p := "/api/" + r.Resource.Version
	if r.Resource.Group != "" {
		p = "/apis/" + r.Resource.Group + "/" + r.Resource.Version
	}
	k := registry.KindFor(r.Resource)
	if r.Namespace != "" && (k == nil || k.Namespaced) { // a custom kind's client gives none if it is not namespaced
		p += "/namespaces/" + r.Namespace
	}
	p += "/" + r.Resource.Resource
	if r.Name != "" {
		p += "/" + r.Name
	}
	if r.Subresource != "" {
		p += "/" + r.Subresource
	}
	return p
}

// Sender is who sent the request: a lane's name, or what a program calls itself.
func (r *Request) Sender() string { return r.sender() }

// sender is who sent the request, for the trace.
func (r *Request) sender() string {
	if r.Client != "" {
		return r.Client
	}
	if r.Lane == (trace.Lane{}) {
		return trace.CompClient
	}
	return r.Lane.String()
}
