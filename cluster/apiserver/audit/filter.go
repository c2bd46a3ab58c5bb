package audit

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// What is logged about one request.

// Received is where the policy says how much of a request is written down, and the event
// RequestReceived is written (apiserver pkg/endpoints/filters/audit.go WithAudit). record is
// what is written of it; nil where that is nothing.
func (a *Auditor) Received(r *request.Scope, req *request.Request, user authn.User) (record *Record) {
	const stage = trace.StageAudit
	if !req.System {
		a.id(req)
	}
	if a.policy == nil {
		r.Pass(stage, "", "There is no audit policy: nothing is written.", nil)
		return nil
	}
	record, v := a.begin(r, req, user)
	if record != nil {
		r.Audit = record
	}
	by := ""
	if v.Rule > 0 {
		by = "rule " + strconv.Itoa(v.Rule)
	}
	pass := func(note string) {
		r.Tell(&trace.Stage{Request: r.Number, Stage: stage, By: by, Verdict: "pass", Note: note, Level: string(v.Level)})
	}
	switch {
	case record == nil && v.Rule == 0:
		pass("No rule of the audit policy matches: nothing is written.")
		return nil
	case record == nil:
		pass("The level is None: nothing is written.")
		return nil
	case v.Omits(auditapi.StageRequestReceived):
		pass("The level is " + string(v.Level) + "; the stage RequestReceived is omitted.")
		return record
	}
	note := "The level is " + string(v.Level) + "; the event RequestReceived is in the audit log."
	if err := a.write(record, auditapi.StageRequestReceived, r.Last); err != nil {
		_, failures := a.log.Counts()
		note = fmt.Sprintf("The level is %s, but the event could not be written: %v. The request goes on; apiserver_audit_error_total is %d.", v.Level, err, failures)
	}
	pass(note)
	return record
}

// Access notes what the authorizers said (endpoints/filters/authorization.go).
func (r *Record) Access(d authz.Decision) {
	if r == nil {
		return
	}
	decision := "allow"
	switch {
	case !d.Allowed && d.Err != nil:
		r.Annotate("authorization.k8s.io/reason", "internal error")
		return
	case !d.Allowed:
		decision = "forbid"
	}
	r.Annotate("authorization.k8s.io/decision", decision)
	r.Annotate("authorization.k8s.io/reason", d.Why)
}

// Body notes the decoded body of a request.
func (r *Record) Body(req *request.Request, kind *registry.Kind, obj runtime.Object) {
	if r == nil {
		return
	}
	if r.Level != auditapi.LevelMetadata && req.Verb == "create" && kind.Namespaced && object.Meta(obj).GetNamespace() == "" {
		obj = obj.DeepCopyObject()
		object.Meta(obj).SetNamespace(req.Namespace)
	}
	r.Object(obj)
}

// Options notes what a request for something that is served asks for beside an object's body.
func (r *Record) Options(req *request.Request, kind *registry.Kind) {
	switch {
	case r == nil:
	case req.Verb == "patch":
		r.Patch(req.Patch)
	case (req.Verb == "delete" || req.Verb == "deletecollection") && !object.Equal(req.Delete, metav1.DeleteOptions{}):
		opts := req.Delete.DeepCopy()
		opts.SetGroupVersionKind(kind.GroupVersion().WithKind("DeleteOptions"))
		r.Object(opts)
	}
}

// Answered writes how a request ended. What takes long (a watch, a connection to a container)
// has an event when the answer begins, and another when it ends.
func (a *Auditor) Answered(r *request.Scope, record *Record, resp *request.Response, long bool) {
	if record == nil {
		return
	}
	status, _ := resp.Object.(*metav1.Status)
	if resp.Err != nil {
		status = request.StatusOf(resp.Err)
	}
	record.Answer(resp.Code, status, func() runtime.Object { return answerBody(resp, status) })
	if long {
		_ = a.write(record, auditapi.StageResponseStarted, r.Last) // counted
	}
	end := func() { a.end(r, record) }
	if w, ok := resp.Watch.(interface{ OnEnd(fn func()) }); ok {
		w.OnEnd(end)
		return
	}
	end()
}

// end writes the last event of a request. A process that was killed writes nothing any more.
func (a *Auditor) end(r *request.Scope, record *Record) {
	if a.process.Alive() {
		_ = a.write(record, auditapi.StageResponseComplete, r.Last) // counted
	}
}

// AnsweredBefore logs a request that was answered before the pipeline: a non-resource
// request, whose Resource is empty and whose Path says what it was for, or one that the
// router refused. may is the authorizers' decision; status is the answer if it is a Status,
// else nil.
func (a *Auditor) AnsweredBefore(r *request.Scope, req *request.Request, user authn.User, may func() authz.Decision, code int, status *metav1.Status) {
	record, _ := a.begin(r, req, user)
	if record == nil {
		return
	}
	_ = a.write(record, auditapi.StageRequestReceived, trace.ID{}) // counted
	record.Access(may())
	var body func() runtime.Object
	if status != nil {
		body = func() runtime.Object { return status }
	}
	record.Answer(code, status, body)
	_ = a.write(record, auditapi.StageResponseComplete, trace.ID{}) // counted
}

// answerBody is the answer's body: the object, the list, or a Status.
func answerBody(r *request.Response, status *metav1.Status) runtime.Object {
	switch {
	case r.Err != nil:
		return status
	case r.IsList:
		return listBody(r.Kind, r)
	case r.Watch != nil:
		return nil
	}
	return r.Object
}

// listBody is a list as its client gets it, of shared items.
func listBody(kind *registry.Kind, r *request.Response) runtime.Object {
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
func attributes(r *request.Request, user authn.User) authorizer.AttributesRecord {
	path, _, _ := strings.Cut(r.URL(), "?")
	a := authorizer.AttributesRecord{
		Verb: r.Verb, APIGroup: r.Resource.Group, APIVersion: r.Resource.Version, Resource: r.Resource.Resource,
		Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name, ResourceRequest: r.Resource.Resource != "", Path: path,
	}
	if r.Name == "" {
		a.Name = r.SelectedName()
	}
	if r.Resource.Resource == "namespaces" && r.Resource.Group == "" {
		a.Namespace = r.Name // likewise
	}
	if user.Name != "" {
		a.User = user.Info()
	}
	return a
}

// userAgent is what the sender calls itself. The components of this process
// send no header; theirs is made up as client-go makes it.
func userAgent(r *request.Request, user authn.User) string {
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
		return r.Sender()
	}
	return program + "/" + componentVersion
}

// componentVersion is the rest of a component's user agent.
const componentVersion = "v1.37.1 (linux/amd64) kubernetes/kviz"
