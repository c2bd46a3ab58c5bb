package apiserver

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
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
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// What the audit log says of one request.

// auditRequest is where the policy says how much of the request is written down,
// and the event RequestReceived is written (apiserver
// pkg/endpoints/filters/audit.go WithAudit).
func (c *call) auditRequest() {
	const stage = trace.StageAudit
	a := c.s.audit
	if !c.req.System {
		a.id(c.req)
	}
	if a.policy == nil {
		c.Pass(stage, "", "There is no audit policy: nothing is written.", nil)
		return
	}
	record, v := a.begin(&c.Scope, c.req, c.user, c.s.sourceIPs)
	if record != nil {
		c.record, c.Audit = record, record
	}
	by := ""
	if v.Rule > 0 {
		by = "rule " + strconv.Itoa(v.Rule)
	}
	pass := func(note string) {
		c.Tell(&trace.Stage{Request: c.Number, Stage: stage, By: by, Verdict: "pass", Note: note, Level: string(v.Level)})
	}
	switch {
	case record == nil && v.Rule == 0:
		pass("No rule of the audit policy matches: nothing is written.")
		return
	case record == nil:
		pass("The level is None: nothing is written.")
		return
	case v.Omits(auditapi.StageRequestReceived):
		pass("The level is " + string(v.Level) + "; the stage RequestReceived is omitted.")
		return
	}
	note := "The level is " + string(v.Level) + "; the event RequestReceived is in the audit log."
	if err := a.write(record, auditapi.StageRequestReceived, c.Last); err != nil {
		_, failures := a.log.Counts()
		note = fmt.Sprintf("The level is %s, but the event could not be written: %v. The request goes on; apiserver_audit_error_total is %d.", v.Level, err, failures)
	}
	pass(note)
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
	on := &request.Scope{Task: t, Began: t.Elapsed()}
	user, ok := s.authenticators.Sender(t, req.credentials())
	if !ok {
		s.audit.refused(on, req, s.sourceIPs)
		return
	}
	record, _ := s.audit.begin(on, req, user, s.sourceIPs)
	if record == nil {
		return
	}
	_ = s.audit.write(record, auditapi.StageRequestReceived, trace.ID{}) // counted
	path, _, _ := strings.Cut(req.path(), "?")
	a := authz.Attributes{User: user, Verb: req.Verb, Path: path}
	if req.Resource.Resource != "" {
		a = attributesOf(req, user)
	}
	auditAccess(record, s.authorizers.DecideFor(t, a))
	var body func() runtime.Object
	if status != nil {
		body = func() runtime.Object { return status }
	}
	record.Answer(code, status, body)
	_ = s.audit.write(record, auditapi.StageResponseComplete, trace.ID{}) // counted
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
func auditAccess(record *audit.Record, d authz.Decision) {
	if record == nil {
		return
	}
	decision := "allow"
	switch {
	case !d.Allowed && d.Err != nil:
		record.Annotate("authorization.k8s.io/reason", "internal error")
		return
	case !d.Allowed:
		decision = "forbid"
	}
	record.Annotate("authorization.k8s.io/decision", decision)
	record.Annotate("authorization.k8s.io/reason", d.Why)
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
			auditDelete(c.record, c.kind, &c.req.Delete)
		}
	}
	status, _ := r.Object.(*metav1.Status)
	if r.Err != nil {
		status = request.StatusOf(r.Err)
	}
	c.record.Answer(r.Code, status, func() runtime.Object { return auditedBody(c.kind, r, status) })
	if c.req.Verb == "watch" || c.req.Subresource != "" && connects[c.req.Subresource] {
		_ = c.s.audit.write(c.record, auditapi.StageResponseStarted, c.Last) // counted
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
		_ = c.s.audit.write(c.record, auditapi.StageResponseComplete, c.Last) // counted
	}
}

func auditDelete(record *audit.Record, kind *registry.Kind, sent *metav1.DeleteOptions) {
	if object.Equal(*sent, metav1.DeleteOptions{}) {
		return
	}
	opts := sent.DeepCopy()
	opts.SetGroupVersionKind(kind.GroupVersion().WithKind("DeleteOptions"))
	record.Object(opts)
}

// auditedBody is the answer's body: the object, the list, or a Status.
func auditedBody(kind *registry.Kind, r *Response, status *metav1.Status) runtime.Object {
	switch {
	case r.Err != nil:
		return status
	case r.IsList:
		return listBody(kind, r)
	case r.Watch != nil:
		return nil
	}
	return r.Object
}

// listBody is a list as its client gets it, of shared items.
func listBody(kind *registry.Kind, r *Response) runtime.Object {
	gvk := kind.GroupVersion().WithKind(kind.ListKind())
	if kind.Custom != nil {
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

// attributes are the request as the policy's rules see it.
func (r *Request) attributes(user authn.User) authorizer.AttributesRecord {
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
	if user.Name != "" {
		a.User = user.Info()
	}
	return a
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
func (r *Request) userAgent(user authn.User) string {
	if r.UserAgent != "" {
		return r.UserAgent
	}
	program := r.Lane.Component
	switch _, controller, _ := authn.SplitUsername(user.Name); {
	case controller != "" && strings.HasPrefix(user.Name, "system:serviceaccount:kube-system:") && program != trace.CompPod && program != trace.CompProxy && program != trace.CompDNS:
		return "kube-controller-manager/" + componentVersion + "/" + user.Name
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
func (s *Server) sourceIPs(r *Request) []string {
	if r.SourceIPs != nil {
		return r.SourceIPs
	}
	if name := r.Lane.Instance; name != "" {
		switch r.Lane.Component {
		case trace.CompPod:
			if en := s.caches[registry.KindFor(client.Pods.GroupVersionResource)].Get(name); en != nil && en.Object.(*corev1.Pod).Status.PodIP != "" {
				return []string{en.Object.(*corev1.Pod).Status.PodIP}
			}
		default:
			if en := s.caches[registry.KindFor(client.Nodes.GroupVersionResource)].Get(name); en != nil {
				for _, a := range en.Object.(*corev1.Node).Status.Addresses {
					if a.Type == corev1.NodeInternalIP {
						return []string{a.Address}
					}
				}
			}
		}
	}
	return []string{s.cfg.AdvertiseIP}
}
