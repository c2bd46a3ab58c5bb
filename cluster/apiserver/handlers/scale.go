package handlers

import (
	"bytes"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// scaleOf is the scale subresource of a kind that has replicas
// (pkg/registry/apps/deployment/storage scaleFromDeployment).
func scaleOf(obj runtime.Object) *autoscalingv1.Scale {
	m := object.Meta(obj)
	s := &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{
			Name: m.GetName(), Namespace: m.GetNamespace(), UID: m.GetUID(),
			ResourceVersion: m.GetResourceVersion(), CreationTimestamp: m.GetCreationTimestamp(),
		},
	}
	var selector *metav1.LabelSelector
	switch o := obj.(type) {
	case *appsv1.Deployment:
		selector, s.Status.Replicas = o.Spec.Selector, o.Status.Replicas
	case *appsv1.ReplicaSet:
		selector, s.Status.Replicas = o.Spec.Selector, o.Status.Replicas
	case *appsv1.StatefulSet:
		selector, s.Status.Replicas = o.Spec.Selector, o.Status.Replicas
	case *corev1.ReplicationController:
		selector, s.Status.Replicas = metav1.SetAsLabelSelector(o.Spec.Selector), o.Status.Replicas
	}
	s.Spec.Replicas = *replicasOf(obj)
	if sel, err := metav1.LabelSelectorAsSelector(selector); err == nil {
		s.Status.Selector = sel.String()
	}
	return s
}

// replicasOf points at spec.replicas, which defaulting has set.
func replicasOf(obj runtime.Object) *int32 {
	var p **int32
	switch o := obj.(type) {
	case *appsv1.Deployment:
		p = &o.Spec.Replicas
	case *appsv1.ReplicaSet:
		p = &o.Spec.Replicas
	case *appsv1.StatefulSet:
		p = &o.Spec.Replicas
	case *corev1.ReplicationController:
		p = &o.Spec.Replicas
	}
	if *p == nil {
		one := int32(1)
		return &one
	}
	return *p
}

func setReplicas(obj runtime.Object, n int32) {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		o.Spec.Replicas = &n
	case *appsv1.ReplicaSet:
		o.Spec.Replicas = &n
	case *appsv1.StatefulSet:
		o.Spec.Replicas = &n
	case *corev1.ReplicationController:
		o.Spec.Replicas = &n
	}
}

// updateScale is update and patch of the scale subresource: the object behind
// it is changed in one field.
func (h *Handlers) updateScale(c *Call) *request.Response {
	var body *autoscalingv1.Scale // nil of a patch
	var meant types.UID
	if c.Req.Verb == "update" {
		in, err := h.decode(c)
		if err != nil {
			return &request.Response{Err: err}
		}
		body = in.obj.(*autoscalingv1.Scale)
		if err := c.matchName(body.Name); err != nil {
			return &request.Response{Err: c.Refuse(trace.StageDecode, "", err)}
		}
		meant = body.UID
	} else {
		c.Pause(h.DecodeTime)
		if err := request.Offload(&c.Scope, "reading the patch", checkPatch, c.Req); err != nil {
			return &request.Response{Err: c.Refuse(trace.StageDecode, "", err)}
		}
	}
	c.Pause(h.AdmissionTime)
	var made written
	err := h.repeat(c, func(live bool) (err error) {
		made, err = h.scaleOnce(c, body, meant, live)
		return err
	})
	if err != nil {
		return &request.Response{Err: err}
	}
	result, err := h.scaleOf(c, made.Object)
	if err != nil {
		return &request.Response{Err: err}
	}
	return &request.Response{Object: result}
}

func (h *Handlers) scaleOnce(c *Call, body *autoscalingv1.Scale, meant types.UID, live bool) (written, error) {
	old, err := h.Store.Current(&c.Scope, c.At(), live)
	if err != nil {
		return written{}, c.Refuse(trace.StageStorage, "", err)
	}
	if err := h.checkIdentity(c, meant, object.Meta(old.Object).GetUID(), old); err != nil {
		return written{}, err
	}
	current, err := h.scaleToChange(c, old.Object)
	if err != nil {
		return written{}, c.Refuse(trace.StageDecode, "", err)
	}
	owners := h.lendOwners(c, current, old.Object)
	var scale *autoscalingv1.Scale
	if body != nil {
		scale = body.DeepCopy() // another round begins with what was sent
	} else {
		if scale, err = h.patchScale(c, current); err != nil {
			return written{}, c.Refuse(trace.StageDecode, "", err)
		}
		c.Pass(trace.StageDecode, "", "Applied the "+patchName(c.Req.PatchType)+" to the scale: spec.replicas is "+object.FormatRevision(int64(scale.Spec.Replicas))+".", nil)
	}
	obj := old.Object.DeepCopyObject()
	owned, err := h.Fields.Track(&c.Scope, c.Req, c.PartOf(registry.ScaleGVK), scale, current)
	if err != nil {
		return written{}, c.Refuse(trace.StageMutatingAdmission, "", err)
	}
	scale.ManagedFields = object.Meta(owned).GetManagedFields()
	a := h.Attributes(c, admission.Update, obj, old)
	a.Sent, a.OldSent = scale, current
	fit, err := h.mutate(c, a)
	if err != nil {
		return written{}, err
	}
	if err := h.useScale(c, scale, fit, owners); err != nil {
		return written{}, err
	}
	if err := h.checkRevision(c, fit, old); err != nil {
		return written{}, err
	}
	valid, err := h.validateUpdate(c, fit, old, "") // the whole object
	if err != nil {
		return written{}, err
	}
	ready, err := h.admit(c, a, valid)
	if err != nil {
		return written{}, err
	}
	return h.replace(c, ready, old)
}

// useScale brings the scale, as admission has left it, into the object behind it
// (scaleUpdatedObjectInfo UpdatedObject). That of a custom object is validated with
// the object, and one without a revision keeps that of the object.
func (h *Handlers) useScale(c *Call, scale *autoscalingv1.Scale, of admitted, owners *managedfields.ScaleHandler) error {
	m, builtin := object.Meta(of.obj), c.Kind.Custom == nil
	if errs := autoscalingvalidation.ValidateScale(registry.Internal[autoscaling.Scale](scale)); builtin && len(errs) > 0 {
		return c.Refuse(trace.StageValidation, "", apierrors.NewInvalid(registry.ScaleGVK.GroupKind(), m.GetName(), errs))
	}
	if uid := m.GetUID(); builtin && scale.UID != "" && scale.UID != uid {
		gr := c.Kind.GroupResource()
		gr.Resource += "/scale"
		return c.Refuse(trace.StageStorage, "", apierrors.NewConflict(gr, m.GetName(), fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", scale.UID, uid)))
	}
	if err := h.setReplicas(c, of.obj, scale.Spec.Replicas); err != nil {
		return c.Refuse(trace.StageDecode, "", err)
	}
	if builtin || scale.ResourceVersion != "" {
		m.SetResourceVersion(scale.ResourceVersion)
	}
	entries, err := owners.ToParent(scale.ManagedFields)
	if err != nil {
		return c.Refuse(trace.StageMutatingAdmission, "", apierrors.NewInternalError(err))
	}
	m.SetManagedFields(entries)
	return nil
}

// lendOwners gives a scale the owners of the replicas of the object behind it, as its
// own managed fields (managedfields.ScaleHandler): an apply of it may be a conflict.
func (h *Handlers) lendOwners(c *Call, scale *autoscalingv1.Scale, of runtime.Object) *managedfields.ScaleHandler {
	paths := managedfields.ResourcePathMappings{c.Kind.GroupVersion().String(): fieldpath.MakePathOrDie("spec", "replicas")}
	if c.Kind.Custom != nil {
		paths = crd.Of(c.Kind).ReplicasPaths()
	}
	owners := managedfields.NewScaleHandler(object.Meta(of).GetManagedFields(), c.Kind.GroupVersion(), paths)
	scale.ManagedFields, _ = owners.ToSubresource() // what cannot be read was not written by us
	return owners
}

// PartOf is the kind, with no registry of its own, that the objects of a
// subresource are of.
func (c *Call) PartOf(gvk schema.GroupVersionKind) *registry.Kind {
	k := &registry.Kind{Resource: c.Kind.Resource}
	k.Kind, k.GroupVersionResource.Group, k.GroupVersionResource.Version = gvk.Kind, gvk.Group, gvk.Version
	return k
}

// patchScale applies a patch to the scale.
func (h *Handlers) patchScale(c *Call, s *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	p, err := h.applyPatch(c, c.PartOf(registry.ScaleGVK), s, false)
	if err != nil {
		return nil, err
	}
	scale := p.obj.(*autoscalingv1.Scale)
	if !bytes.Contains(c.Req.Patch, []byte("resourceVersion")) {
		scale.ResourceVersion = "" // the client did not ask for a certain one
	}
	return scale, nil
}

// scaleOf is the scale subresource of an object.
func (h *Handlers) scaleOf(c *Call, obj runtime.Object) (*autoscalingv1.Scale, error) {
	if c.Kind.Custom == nil {
		return scaleOf(obj), nil
	}
	return crd.Of(c.Kind).ReadScale(crd.MapOf(obj))
}

func (h *Handlers) scaleToChange(c *Call, obj runtime.Object) (*autoscalingv1.Scale, error) {
	if c.Kind.Custom == nil {
		return scaleOf(obj), nil
	}
	return crd.Of(c.Kind).ScaleToChange(crd.MapOf(obj))
}

func (h *Handlers) setReplicas(c *Call, obj runtime.Object, n int32) error {
	if c.Kind.Custom == nil {
		setReplicas(obj, n)
		return nil
	}
	return crd.Of(c.Kind).SetScale(crd.MapOf(obj), n)
}
