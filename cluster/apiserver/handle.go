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
	"kviz/cluster/apiserver/fairness"
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
	s     *Server
	t     *sim.Task
	req   *Request
	kind  *Kind
	sub   *Subresource
	user  authn.User
	ref   trace.Ref
	n     uint64
	last  trace.ID // the newest event of the request: the cause of the next
	began time.Duration

	obj      runtime.Object // as it will be stored
	old      runtime.Object // as it is stored; shared
	oldRev   int64
	oldValue []byte
	cached   bool           // old comes from the watch cache
	listed   tally          // how the values of a list from the store were encrypted
	stale    bool           // old, read from the store, is encrypted otherwise than it would be now
	live     bool           // the next look must be at the store
	body     runtime.Object // the decoded body of an update, until it is used
	meant    types.UID      // whose update it is, by that body
	original runtime.Object // what was stored, as the watch cache has it; shared
	commits  []trace.ID     // what it wrote
	warnings []string
	refused  string         // the stage that ended it
	raw      runtime.Object // of a custom kind: the body before it was pruned
	pruned   []string       // and what was
	settled  bool           // it waited for its definition to be known

	sent, sentOld runtime.Object // of a subresource with an object of its own, as admission sees it
	judged        []judgement    // what admission policies found
	evicting      bool           // the deletion is an eviction
	record        *audit.Record  // what the audit log says of it; nil where that is nothing
	routed        bool           // it is allowed, and for something that is served
	seat          fairness.Seat  // while it is served
	schema        *fairness.Schema
	class         fairness.Class

	space   *stageSpace
	staged  int
	caused  int
	created bool           // an update made the object
	marked  runtime.Object // what a deletion at once would have written, had it not been at once
}

// serve is the pipeline: DefaultBuildHandlerChain and the verb's handler.
func (s *Server) serve(t *sim.Task, req *Request) *Response {
	s.peers.requests++
	c := &call{s: s, t: t, req: req, n: s.peers.requests, began: t.Elapsed(), kind: req.kind, space: &stageSpace{}}
	if c.kind == nil {
		c.kind = s.kindFor(req.Resource)
	}
	if c.kind.mayConvert() { // a conversion is a part of the request that needs it
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
	// longestRequest is kube-apiserver's --request-timeout.
	longestRequest = time.Minute
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
	limit := longestRequest
	if c.req.Verb != "get" && c.req.Verb != "list" {
		limit = longestWrite
	}
	if c.req.Timeout > 0 {
		limit = min(limit, c.req.Timeout)
	}
	return c.began + limit
}

// run takes the request through its stages.
func (c *call) run() *Response {
	c.pause(c.s.cfg.Cost.Access)
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
	c.pause(c.s.slow)
	switch {
	case c.kind.is("Binding"):
		return c.bindNamed()
	case c.kind.is("ComponentStatus"):
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
	if c.kind.deprecated != "" && !c.req.System {
		c.warnings = append(c.warnings, c.kind.deprecated)
	}
	verbs := c.kind.Verbs
	if c.req.Subresource != "" {
		if c.sub = c.kind.subresource(c.req.Subresource); c.sub == nil {
			if c.kind.is("Pod") && connects[c.req.Subresource] {
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
	return apierrors.NewMethodNotSupported(c.kind.groupResource(), c.req.Verb)
}

// connects are the pod subresources that are connections to its kubelet.
var connects = map[string]bool{"log": true, "exec": true, "attach": true, "portforward": true, "proxy": true}

func notServed() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "the server could not find the requested resource", 0, true)
}

// receive notes that the request is here.
func (c *call) receive() {
	r := c.req
	c.ref = trace.Ref{Namespace: r.Namespace, Name: r.Name}
	if c.kind != nil {
		c.ref.APIVersion, c.ref.Kind = c.kind.apiVersion, c.kind.Kind
		if r.Object != nil && c.ref.Name == "" && c.kind.Stored() {
			c.ref.Name = nameOf(r.Object)
		}
	}
	user := r.User
	if user == nil {
		user = &authn.User{}
	}
	payload := &trace.Request{
		Request: c.n, Verb: r.Verb, Path: r.path(), Resource: r.Resource.Resource, Subresource: r.Subresource,
		Namespace: r.Namespace, Name: r.Name, User: user.Name, Client: r.sender(), Patch: string(r.Patch),
	}
	if r.Object != nil && !r.System {
		payload.Body = trace.Obj(r.Object.DeepCopyObject())
	}
	c.last = c.t.Emit(trace.Event{Kind: trace.RequestReceived, Object: c.ref, Causes: causesOf(r.Causes), Payload: payload})
}

// causesOf is ids, never nil, so that a request without causes has none.
func causesOf(ids []trace.ID) []trace.ID {
	if ids == nil {
		return []trace.ID{}
	}
	return ids
}

// pause lets the modelled time of a part of the pipeline pass.
func (c *call) pause(d time.Duration) {
	if d > 0 {
		c.t.Sleep(d)
	}
}

// pass notes that a stage let the request through, and what it did.
func (c *call) pass(stage, by, note string, diff []trace.FieldDiff) {
	st := c.newStage()
	*st = trace.Stage{Request: c.n, Stage: stage, By: by, Verdict: "pass", Note: note, Diff: diff}
	c.stage(st)
}

// refuse notes that a stage ended the request, and gives the error back.
func (c *call) refuse(stage, by string, err error) error {
	if bad, ok := err.(*undecrypted); ok {
		stage, by = trace.StageDecrypt, bad.label
	}
	var took time.Duration
	if bad, ok := err.(*unconverted); ok {
		by, took = bad.by, bad.took
	}
	if r, ok := err.(*hookRefusal); ok {
		by, took, err = r.by, r.took, r.err
	}
	c.refused = stage
	st := statusOf(err)
	c.stage(&trace.Stage{Request: c.n, Stage: stage, By: by, Verdict: "refuse", Note: st.Message, Code: int(st.Code), Took: took})
	return err
}

func (c *call) stage(st *trace.Stage) {
	c.last = c.t.Emit(trace.Event{Kind: trace.RequestStage, Object: c.ref, Causes: c.because(), Payload: st})
}

// A request's stage events live and die together, so their payloads and causes
// are made in one piece.
type stageSpace struct {
	stages [12]trace.Stage
	causes [16]trace.ID
}

func (c *call) newStage() *trace.Stage {
	if c.staged == len(c.space.stages) {
		return &trace.Stage{}
	}
	c.staged++
	return &c.space.stages[c.staged-1]
}

// because is the newest event of the request, as the cause of the next.
func (c *call) because() []trace.ID {
	if c.caused == len(c.space.causes) {
		return []trace.ID{c.last}
	}
	c.caused++
	at := c.space.causes[c.caused-1 : c.caused : c.caused]
	at[0] = c.last
	return at
}

// respond is the last stage: the answer goes back.
func (c *call) respond(r *Response) *Response {
	c.pause(c.s.cfg.Cost.Respond)
	r.Warnings, r.Stage, r.Took = c.warnings, c.refused, c.t.Elapsed()-c.began
	r.Kind = c.kind
	payload := &trace.Response{Request: c.n, Verb: c.req.Verb, Took: r.Took, Stage: c.refused}
	if r.Err != nil {
		st := statusOf(r.Err)
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
	causes := []trace.ID{c.last}
	causes = append(causes, c.commits...)
	c.t.Emit(trace.Event{Kind: trace.RequestDone, Object: c.ref, Causes: causes, Payload: payload})
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
	k := KindFor(r.Resource)
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
