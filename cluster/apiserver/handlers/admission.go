package handlers

import (
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/trace"
)

// Attributes are a request as admission sees it that writes obj in place of
// old: nil of a deletion, and of a creation.
func (h *Handlers) Attributes(c *Call, op admission.Operation, obj runtime.Object, old *etcd3.Stored) *admission.Attributes {
	made := &struct { // in one piece, as every write makes one
		admission.Attributes
		objects objectInterfaces
	}{objects: objectInterfaces{h.Kinds, c.of()}}
	a := &made.Attributes
	*a = admission.Attributes{
		Operation: op, Kind: c.Kind.GVK(), Resource: c.Kind.GroupVersionResource, Subresource: c.Req.Subresource,
		Namespaced: c.Kind.Namespaced, Custom: c.Kind.Custom != nil, Namespace: c.Ref.Namespace, Name: c.Ref.Name,
		DryRun: c.Req.DryRun, User: c.User, Object: obj,
		SentKind: c.BodyKind(), SentResource: c.Req.Resource, SentCreates: c.Req.Verb == "create",
		FieldManager: c.Req.FieldManager, Validation: c.Req.FieldValidation, Options: &c.Req.Delete, Objects: &made.objects,
	}
	if old != nil {
		a.OldObject = old.Object
	}
	return a
}

// mutate is the mutating admission stage.
func (h *Handlers) mutate(c *Call, a *admission.Attributes) (admitted, error) {
	const stage = trace.StageMutatingAdmission
	switch {
	case a.OldObject != nil:
		c.Ref.UID = string(object.Meta(a.OldObject).GetUID())
	case a.Object != nil:
		c.Ref.UID = string(object.Meta(a.Object).GetUID())
	default:
		c.Ref.UID = ""
	}
	if err := c.mayCreateCustom(a.Operation); err != nil {
		return admitted{}, c.Refuse(stage, "", err)
	}
	did, by, err := h.Admission.Admit(&c.Scope, a)
	if err != nil {
		return admitted{}, c.Refuse(stage, by, err)
	}
	if did.Note == "" {
		did.Note = "No admission plugin changes anything."
	}
	c.Pass(stage, by, did.Note, did.Diff)
	if by, err := h.Admission.AdmitDynamic(&c.Scope, a); err != nil {
		return admitted{}, c.Refuse(stage, by, err)
	}
	return admitted{a.Object}, nil
}

// admit is the validating admission stage; a is what mutating admission saw.
func (h *Handlers) admit(c *Call, a *admission.Attributes, in validated) (approved, error) {
	const stage = trace.StageValidatingAdmission
	a.Object, a.Name = in.obj, c.Ref.Name
	did, by, err := h.Admission.Validate(&c.Scope, a)
	if !c.Req.System {
		for _, w := range did.Warnings {
			c.Warn(w)
		}
	}
	if err != nil {
		return approved{}, c.Refuse(stage, by, err)
	}
	if did.Note == "" {
		did.Note = "No admission plugin objects."
	}
	c.Pass(stage, by, did.Note, nil)
	return approved(in), nil
}
