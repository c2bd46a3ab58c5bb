package apiserver

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kviz/cluster/apiserver/audit"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/apiserver/webhook"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// auditing is the audit log as one server has it. The file and the log are on
// the machine's disk and outlive the process.
type auditing struct {
	file   []byte        // what audit.PolicyFile holds; nil where there is none
	policy *audit.Policy // in force; nil where nothing is
	log    audit.Log
	rand   *rand.Rand
	failed bool // the newest event could not be written
	// rotations of the log that the trace has told of
	rotations int
}

// AuditState is what is known of the audit log.
type AuditState struct {
	FileHash, LoadedHash   string // "" where there is none
	FileRules, LoadedRules []string
	Files                  []string // of the log, the newest last
	Events, Errors         uint64   // apiserver_audit_event_total, apiserver_audit_error_total
	Full                   bool     // the log's disk has no room
}

// Audit tells what the policy's file says, what is in force, and of the log.
func (s *Server) Audit() AuditState {
	a := &s.audit
	st := AuditState{Files: a.log.Files(), Full: a.log.Full()}
	st.Events, st.Errors = a.log.Counts()
	if a.file != nil {
		if p, err := audit.Parse(a.file); err == nil {
			st.FileHash, st.FileRules = p.Hash, p.Rules()
		}
	}
	if a.policy != nil {
		st.LoadedHash, st.LoadedRules = a.policy.Hash, a.policy.Rules()
	}
	return st
}

// WriteAuditPolicy puts a policy into the server's file, which it reads when it
// starts. One that the server could not start with is refused in its words.
func (s *Server) WriteAuditPolicy(t *sim.Task, file []byte) error {
	p, err := audit.Parse(file)
	if err != nil {
		return err
	}
	s.audit.file = slices.Clone(file)
	s.tellAudit(t, &trace.Audit{What: "written", File: audit.PolicyFile, Hash: p.Hash, Rules: p.Rules()})
	return nil
}

// RemoveAuditPolicy takes the file away: the server starts without the flag then.
func (s *Server) RemoveAuditPolicy(t *sim.Task) {
	if s.audit.file != nil {
		s.audit.file = nil
		s.tellAudit(t, &trace.Audit{What: "removed", File: audit.PolicyFile})
	}
}

// FillAuditDisk takes the room on the audit log's disk away, or gives it back.
func (s *Server) FillAuditDisk(full bool) { s.audit.log.Fill(full) }

// ReadFile is what a file on the server's machine holds: its configurations and
// its audit log. The error of a file that is not there is fs.ErrNotExist.
func (s *Server) ReadFile(name string) ([]byte, error) {
	switch {
	case name == audit.PolicyFile && s.audit.file != nil:
		return s.audit.file, nil
	case name == encrypt.File && s.enc.file != nil:
		return s.enc.file, nil
	}
	for _, f := range s.configs {
		if f.path == name && f.file != nil {
			return f.file, nil
		}
	}
	if file := webhook.File(name); file != nil {
		return file, nil
	}
	return s.audit.log.Read(name)
}

// Files are the names of the files that ReadFile can read.
func (s *Server) Files() []string {
	var names []string
	if s.audit.file != nil {
		names = append(names, audit.PolicyFile)
	}
	if s.enc.file != nil {
		names = append(names, encrypt.File)
	}
	for _, f := range s.configs {
		if f.file != nil {
			names = append(names, f.path)
		}
	}
	names = append(names, webhook.Files()...)
	names = append(names, s.audit.log.Files()...)
	slices.Sort(names)
	return names
}

func (s *Server) tellAudit(t *sim.Task, p *trace.Audit) {
	p.Server = s.whose()
	t.Emit(trace.Event{Kind: trace.AuditChanged, Payload: p})
}

// startAudit reads the policy: a part of the server's start.
func (s *Server) startAudit(t *sim.Task) {
	a := &s.audit
	was := a.policy
	a.policy = nil
	if a.file != nil {
		p, err := audit.Parse(a.file)
		if err != nil {
			panic("apiserver: " + err.Error()) // it was read when it was written
		}
		a.policy = p
		s.tellAudit(t, &trace.Audit{What: "loaded", File: audit.PolicyFile, Hash: p.Hash, Rules: p.Rules()})
	} else if was != nil {
		s.tellAudit(t, &trace.Audit{What: "loaded", File: audit.PolicyFile})
	}
}

// auditRequest is where the policy says how much of the request is written down,
// and the event RequestReceived is written (apiserver
// pkg/endpoints/filters/audit.go WithAudit).
func (c *call) auditRequest() {
	const stage = trace.StageAudit
	if !c.req.System {
		c.auditID()
	}
	if c.s.audit.policy == nil {
		c.Pass(stage, "", "There is no audit policy: nothing is written.", nil)
		return
	}
	v := c.beginAudit()
	by := ""
	if v.Rule > 0 {
		by = "rule " + strconv.Itoa(v.Rule)
	}
	pass := func(note string) {
		c.Tell(&trace.Stage{Request: c.Number, Stage: stage, By: by, Verdict: "pass", Note: note, Level: string(v.Level)})
	}
	switch {
	case c.record == nil && v.Rule == 0:
		pass("No rule of the audit policy matches: nothing is written.")
		return
	case c.record == nil:
		pass("The level is None: nothing is written.")
		return
	case v.Omits(auditapi.StageRequestReceived):
		pass("The level is " + string(v.Level) + "; the stage RequestReceived is omitted.")
		return
	}
	note := "The level is " + string(v.Level) + "; the event RequestReceived is in the audit log."
	if err := c.writeAudit(auditapi.StageRequestReceived); err != nil {
		_, failures := c.s.audit.log.Counts()
		note = fmt.Sprintf("The level is %s, but the event could not be written: %v. The request goes on; apiserver_audit_error_total is %d.", v.Level, err, failures)
	}
	pass(note)
}

// beginAudit asks the policy, and begins the request's record unless the level
// is None.
func (c *call) beginAudit() audit.Verdict {
	attrs := c.attributes()
	v := c.s.audit.policy.Evaluate(attrs)
	c.s.audit.log.Judged(v.Level)
	if v.Level == auditapi.LevelNone {
		return v
	}
	c.record = audit.Begin(v, &audit.Request{
		ID: c.auditID(), URI: c.req.uri(), UserAgent: c.userAgent(), SourceIPs: c.sourceIPs(),
		Received: c.Task.Kernel().Epoch().Add(c.Began), Attributes: attrs,
	}, &c.s.audit.log)
	c.Audit = c.record
	return v
}

// attributes are the request as the policy's rules see it.
func (c *call) attributes() authorizer.AttributesRecord {
	r := c.req
	path, _, _ := strings.Cut(r.path(), "?")
	a := authorizer.AttributesRecord{
		Verb: r.Verb, APIGroup: r.Resource.Group, APIVersion: r.Resource.Version, Resource: r.Resource.Resource,
		Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name, ResourceRequest: r.Resource.Resource != "", Path: path,
	}
	if r.Name == "" && r.List.FieldSelector != "" { // as RequestInfo has it
		a.Name = exactFields(r.List.FieldSelector)["metadata.name"]
	}
	if r.Resource.Resource == "namespaces" && r.Resource.Group == "" {
		a.Namespace = r.Name // likewise
	}
	if c.user.Name != "" {
		a.User = c.user.Info()
	}
	return a
}

// auditID is the request's: what its sender gave, or a new one
// (endpoints/filters/audit_init.go).
func (c *call) auditID() string {
	if c.req.AuditID == "" {
		c.req.AuditID = string(object.NewUID(c.s.audit.rand))
	}
	return c.req.AuditID
}

// auditRefused writes of a request whose sender nobody vouches for
// (endpoints/filters/authn_audit.go).
func (c *call) auditRefused() {
	if c.s.audit.policy == nil {
		return
	}
	if c.beginAudit(); c.record == nil {
		return
	}
	st := request.StatusOf(apierrors.NewUnauthorized("Unauthorized"))
	c.record.Answer(int(st.Code), st, func() runtime.Object { return st })
	_ = c.writeAudit(auditapi.StageResponseStarted) // counted
	c.record, c.Audit = nil, nil
}

// Audits reports whether anything is written of requests.
func (s *Server) Audits() bool { return s.audit.policy != nil }

// AuditAnswered writes of a request that was answered before the pipeline: one for no
// resource, whose Resource is empty and whose Path says what it was for, or one that
// the router refused. status is the answer where it is a Status, else nil.
func (s *Server) AuditAnswered(t *sim.Task, req *Request, code int, status *metav1.Status) {
	if s.audit.policy == nil {
		return
	}
	c := &call{Scope: request.Scope{Task: t, Began: t.Elapsed()}, s: s, req: req}
	var ok bool
	if c.user, ok = s.authenticators.Sender(t, req.credentials()); !ok {
		c.user = authn.User{}
		c.auditRefused()
		return
	}
	if c.beginAudit(); c.record == nil {
		return
	}
	_ = c.writeAudit(auditapi.StageRequestReceived) // counted
	path, _, _ := strings.Cut(req.path(), "?")
	a := authz.Attributes{User: c.user, Verb: req.Verb, Path: path}
	if req.Resource.Resource != "" {
		a = attributesOf(req, c.user)
	}
	c.auditAccess(s.authorizers.DecideFor(t, a))
	var body func() runtime.Object
	if status != nil {
		body = func() runtime.Object { return status }
	}
	c.record.Answer(code, status, body)
	_ = c.writeAudit(auditapi.StageResponseComplete) // counted
}

// auditBody notes the decoded body of a request.
func (c *call) auditBody(obj runtime.Object) {
	if c.record == nil {
		return
	}
	if c.record.Level != auditapi.LevelMetadata && c.req.Verb == "create" && c.kind.Namespaced && object.Meta(obj).GetNamespace() == "" {
		obj = obj.DeepCopyObject()
		object.Meta(obj).SetNamespace(c.req.Namespace)
	}
	c.record.Object(obj)
}

// auditAccess notes what the authorizers said
// (endpoints/filters/authorization.go).
func (c *call) auditAccess(d authz.Decision) {
	if c.record == nil {
		return
	}
	decision := "allow"
	switch {
	case !d.Allowed && d.Err != nil:
		c.record.Annotate("authorization.k8s.io/reason", "internal error")
		return
	case !d.Allowed:
		decision = "forbid"
	}
	c.record.Annotate("authorization.k8s.io/decision", decision)
	c.record.Annotate("authorization.k8s.io/reason", d.Why)
}

// auditAnswer writes how the request ended. What takes long has an event when the
// answer begins, and another when it ends.
func (c *call) auditAnswer(r *Response) {
	if c.record == nil {
		return
	}
	if c.routed {
		switch {
		case c.req.Verb == "patch":
			c.record.Patch(c.req.Patch)
		case c.req.Verb == "delete" || c.req.Verb == "deletecollection":
			c.auditDelete()
		}
	}
	status, _ := r.Object.(*metav1.Status)
	if r.Err != nil {
		status = request.StatusOf(r.Err)
	}
	c.record.Answer(r.Code, status, func() runtime.Object { return c.auditedBody(r, status) })
	if c.req.Verb == "watch" || c.req.Subresource != "" && connects[c.req.Subresource] {
		_ = c.writeAudit(auditapi.StageResponseStarted) // counted
	}
	if w, ok := r.Watch.(*cacher.Watcher); ok {
		w.OnEnd(c.auditEnd)
		return
	}
	c.auditEnd()
}

// auditEnd writes the last event of a request. A process that was killed writes
// nothing any more.
func (c *call) auditEnd() {
	if c.s.p.Alive() {
		_ = c.writeAudit(auditapi.StageResponseComplete) // counted
	}
}

func (c *call) auditDelete() {
	if object.Equal(c.req.Delete, metav1.DeleteOptions{}) {
		return
	}
	opts := c.req.Delete.DeepCopy()
	opts.SetGroupVersionKind(c.kind.GroupVersion().WithKind("DeleteOptions"))
	c.record.Object(opts)
}

// auditedBody is the answer's body: the object, the list, or a Status.
func (c *call) auditedBody(r *Response, status *metav1.Status) runtime.Object {
	switch {
	case r.Err != nil:
		return status
	case r.IsList:
		return c.listBody(r)
	case r.Watch != nil:
		return nil
	}
	return r.Object
}

// listBody is a list as its client gets it, of shared items.
func (c *call) listBody(r *Response) runtime.Object {
	gvk := c.kind.GroupVersion().WithKind(c.kind.ListKind())
	if c.kind.Custom != nil {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk)
		list.SetResourceVersion(r.ListMeta.ResourceVersion)
		list.SetContinue(r.ListMeta.Continue)
		for _, item := range r.Items {
			list.Items = append(list.Items, *item.(*unstructured.Unstructured))
		}
		return list
	}
	list := registry.NewObject(gvk)
	if err := meta.SetList(list, r.Items); err != nil {
		return nil
	}
	_ = meta.EachListItem(list, func(o runtime.Object) error { // in a typed list the items do not say their kind
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return nil
	})
	list.GetObjectKind().SetGroupVersionKind(gvk)
	if m, ok := list.(metav1.ListInterface); ok {
		m.SetResourceVersion(r.ListMeta.ResourceVersion)
		m.SetContinue(r.ListMeta.Continue)
	}
	return list
}

// writeAudit writes the event of a stage. That the log begins to fail, or works
// again, or that its file was rotated, is told in the trace.
func (c *call) writeAudit(stage auditapi.Stage) error {
	a := &c.s.audit
	err := c.record.Write(stage, c.s.k.Now())
	told := &trace.Audit{File: audit.LogFile, Server: c.s.whose()}
	rotations, name := a.log.Rotations()
	switch {
	case err != nil && !a.failed:
		told.What, told.Error = "failed", err.Error()
	case err == nil && a.failed:
		told.What = "recovered"
	case err == nil && rotations > a.rotations:
		told.What, told.File = "rotated", name
	}
	a.failed, a.rotations = err != nil, rotations
	if told.What != "" {
		told.Events, told.Errors = a.log.Counts()
		c.s.k.Emit(trace.Event{Lane: c.s.p.Lane, Kind: trace.AuditChanged, Causes: causesOf(c.lastEvent()), Payload: told})
	}
	return err
}

// lastEvent is the newest event of the request; none where it leaves nothing in the
// trace.
func (c *call) lastEvent() []trace.ID {
	if c.Last.IsZero() {
		return nil
	}
	return []trace.ID{c.Last}
}

// uri is the request's, with what it asks for in the query.
func (r *Request) uri() string {
	uri := r.path()
	if r.Verb == "watch" && !strings.Contains(uri, "?") {
		uri += "?watch=true"
	}
	return uri
}

// userAgent is what the sender calls itself. The components of this process
// send no header; theirs is made up as client-go makes it.
func (c *call) userAgent() string {
	r := c.req
	if r.UserAgent != "" {
		return r.UserAgent
	}
	program := r.Lane.Component
	switch _, controller, _ := authn.SplitUsername(c.user.Name); {
	case controller != "" && strings.HasPrefix(c.user.Name, "system:serviceaccount:kube-system:") && program != trace.CompPod && program != trace.CompProxy && program != trace.CompDNS:
		return "kube-controller-manager/" + componentVersion + "/" + c.user.Name
	case program == trace.CompScheduler || program == trace.CompKCM || program == trace.CompProxy || program == trace.CompAPIServer:
		program = "kube-" + program
	case program == "":
		return r.sender()
	}
	return program + "/" + componentVersion
}

// componentVersion is the rest of a component's user agent.
const componentVersion = "v1.37.1 (linux/amd64) kubernetes/kviz"

// sourceIPs are the sender's addresses: the HTTP edge says them of who is outside;
// a node's or pod's is in its object; everything else runs on the control plane's
// machine.
func (c *call) sourceIPs() []string {
	if c.req.SourceIPs != nil {
		return c.req.SourceIPs
	}
	if name := c.req.Lane.Instance; name != "" {
		switch c.req.Lane.Component {
		case trace.CompPod:
			if en := c.s.caches[registry.KindFor(client.Pods.GroupVersionResource)].Get(name); en != nil && en.Object.(*corev1.Pod).Status.PodIP != "" {
				return []string{en.Object.(*corev1.Pod).Status.PodIP}
			}
		default:
			if en := c.s.caches[registry.KindFor(client.Nodes.GroupVersionResource)].Get(name); en != nil {
				for _, a := range en.Object.(*corev1.Node).Status.Addresses {
					if a.Type == corev1.NodeInternalIP {
						return []string{a.Address}
					}
				}
			}
		}
	}
	return []string{c.s.cfg.AdvertiseIP}
}
