package handlers

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// delete is the verb delete: at once, or, with finalizers or a grace period,
// by setting the deletionTimestamp and leaving the rest to others (apiserver
// pkg/registry/generic/registry/store.go Delete).
func (h *Handlers) delete(c *Call) *request.Response {
	opts := c.Req.Delete.DeepCopy()
	c.Req.DryRun = c.Req.DryRun || len(opts.DryRun) > 0
	if errs := metav1validation.ValidateDeleteOptions(opts); len(errs) > 0 {
		return &request.Response{Err: c.Refuse(trace.StageDecode, "", apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs))}
	}
	c.Pause(h.DecodeTime)
	c.Pass(trace.StageDecode, "", describeDelete(opts), nil)
	h.warnOfOrphans(c, opts)
	c.Pause(h.AdmissionTime)
	var did deletedObject
	err := h.repeat(c, func(live bool) error {
		old, err := h.Store.Current(&c.Scope, c.At(), live)
		if err != nil {
			return c.Refuse(trace.StageStorage, "", err)
		}
		c.Ref.UID = string(object.Meta(old.Object).GetUID())
		did, err = h.deleteOnce(c, h.Attributes(c, admission.Delete, nil, old), old, opts.DeepCopy())
		return err
	})
	if err != nil {
		return &request.Response{Err: err}
	}
	if !did.gone {
		return c.answer(did.written)
	}
	h.free(c, did.old)
	switch {
	case c.Kind.Is("Pod"):
		return &request.Response{Object: did.Object}
	case c.Kind.Custom == nil && returnsDeleted[c.Kind.Kind]:
		return &request.Response{Object: did.old.DeepCopyObject()}
	}
	return &request.Response{Object: h.deleted(c, did.old)}
}

// returnsDeleted are the kinds, none of which shares its name with another, whose
// deletion is answered with the object (registry.Store ReturnDeletedObject).
var returnsDeleted = map[string]bool{
	"ServiceAccount": true, "Service": true, "Namespace": true, "PodTemplate": true, "ResourceQuota": true,
	"PersistentVolume": true, "PersistentVolumeClaim": true, "CSIDriver": true, "CSINode": true,
	"StorageClass": true, "VolumeAttachment": true, "VolumeAttributesClass": true,
	"DeviceClass": true, "ResourceClaim": true, "ResourceClaimTemplate": true, "ResourceSlice": true,
}

// deleted is the answer to a deletion that is done.
func (h *Handlers) deleted(c *Call, old runtime.Object) runtime.Object {
	return &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: c.Ref.Name, Group: c.Kind.Group, Kind: c.Kind.GroupVersionResource.Resource, UID: object.Meta(old).GetUID()},
	}
}

func describeDelete(o *metav1.DeleteOptions) string {
	note := "Read the delete options"
	if o.PropagationPolicy != nil {
		note += "; dependents: " + string(*o.PropagationPolicy)
	}
	if o.GracePeriodSeconds != nil {
		note += "; grace period: " + object.FormatRevision(*o.GracePeriodSeconds) + " s"
	}
	return note + "."
}

// warnOfOrphans tells old clients what becomes of a job's pods
// (pkg/registry/batch/job/storage Delete).
func (h *Handlers) warnOfOrphans(c *Call, opts *metav1.DeleteOptions) {
	if !c.Req.System && c.Kind.Is("Job") && opts.PropagationPolicy == nil && opts.OrphanDependents == nil { //nolint:staticcheck // old clients still send it
		c.Warnings = append(c.Warnings, "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning")
	}
}

// deletedObject is the result of a deletion: the object as marked, or, if it is gone,
// as it would have been marked.
type deletedObject struct {
	written
	gone bool
	old  runtime.Object
}

// deleteOnce marks or removes the object that is stored, if admission lets it.
func (h *Handlers) deleteOnce(c *Call, a *admission.Attributes, old *etcd3.Stored, opts *metav1.DeleteOptions) (deletedObject, error) {
	none := deletedObject{old: old.Object}
	if _, err := h.mutate(c, a); err != nil {
		return none, err
	}
	if err := h.deletePreconditions(c, old, opts); err != nil {
		return none, err
	}
	m := h.mark(c, old, opts)
	if _, err := h.admit(c, a, validated{}); err != nil {
		return none, err
	}
	return h.remove(c, old, m)
}

// marked is an object as it is to be stored or removed.
type marked struct {
	obj runtime.Object
	do  deletion
}

// mark marks a copy of the object that is stored.
func (h *Handlers) mark(c *Call, old *etcd3.Stored, opts *metav1.DeleteOptions) marked {
	obj := old.Object.DeepCopyObject()
	do, note := h.markDeletion(c, obj, opts)
	c.Pass(trace.StageValidation, "", note, nil)
	return marked{obj, do}
}

// remove does to the stored object what marking it has come to.
func (h *Handlers) remove(c *Call, old *etcd3.Stored, m marked) (deletedObject, error) {
	obj := m.obj
	switch m.do {
	case deleteNothing:
		c.Pass(trace.StageStorage, "", "Nothing is written: the deletion is under way.", nil)
		return deletedObject{written: written{Object: obj}, old: old.Object}, nil
	case deleteLater:
		made, err := h.replace(c, approved{obj}, old)
		return deletedObject{written: made, old: old.Object}, err
	}
	if was := object.Meta(old.Object); was.GetDeletionTimestamp() != nil && was.GetDeletionGracePeriodSeconds() != nil && *was.GetDeletionGracePeriodSeconds() == 0 {
		obj = old.Object.DeepCopyObject() // nothing is written before it goes (store.go updateForGracefulDeletionAndFinalizers)
	}
	return deletedObject{written: written{Object: obj}, gone: true, old: old.Object}, h.Store.Delete(&c.Scope, c.At(), old, c.writer())
}

// deletePreconditions checks UID and revision (rest/delete.go BeforeDelete; Namespaces
// and definitions have a deletion, and words, of their own).
func (h *Handlers) deletePreconditions(c *Call, old *etcd3.Stored, opts *metav1.DeleteOptions) error {
	p, m := opts.Preconditions, object.Meta(old.Object)
	var what, again, want, is string
	switch {
	case p == nil:
		return nil
	case p.UID != nil && *p.UID != m.GetUID():
		what, again, want, is = "UID", "deleted and then recreated", string(*p.UID), string(m.GetUID())
	case p.ResourceVersion != nil && *p.ResourceVersion != m.GetResourceVersion():
		what, again, want, is = "ResourceVersion", "modified", *p.ResourceVersion, m.GetResourceVersion()
	default:
		return nil
	}
	if err := h.Store.UpToDate(&c.Scope, c.At(), old); err != nil {
		return err
	}
	gr, format := c.Kind.GroupResource(), "recondition failed: %s in precondition: %s, %[1]s in object meta: %[3]s"
	var err error
	switch {
	case c.Kind.Is("Namespace"):
		err = fmt.Errorf("P"+format, what, want, is)
	case c.Kind.Is("CustomResourceDefinition"):
		err = fmt.Errorf("p"+format, what, want, is)
	default:
		gr.Group, gr.Resource = c.Kind.GroupKind().Group, c.Kind.Kind
		err = fmt.Errorf("the %s in the precondition (%s) does not match the %[1]s in record (%[3]s). The object might have been %s", what, want, is, again)
	}
	return c.Refuse(trace.StageValidation, "", apierrors.NewConflict(gr, m.GetName(), err))
}

// deletion says what a deletion does to the key.
type deletion int

const (
	deleteNow     deletion = iota // remove the key
	deleteLater                   // write the marked object
	deleteNothing                 // it is marked already
)

// markDeletion marks obj for deletion as the options ask, and says what to do.
func (h *Handlers) markDeletion(c *Call, obj runtime.Object, opts *metav1.DeleteOptions) (deletion, string) {
	if ns, ok := obj.(*corev1.Namespace); ok {
		return h.markNamespace(c, ns, opts)
	}
	if crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition); ok && crd.DeletionTimestamp == nil {
		return h.markDefinition(c, crd)
	}
	graceful, pending := h.beforeDelete(c, obj, opts)
	if pending {
		return deleteNothing, "The object is being deleted already; the grace period only ever gets shorter."
	}
	m := object.Meta(obj)
	m.SetFinalizers(h.collectorFinalizers(c, m, opts))
	switch {
	case graceful && (*opts.GracePeriodSeconds > 0 || len(m.GetFinalizers()) > 0):
		return deleteLater, "Set the deletionTimestamp: the kubelet has " + object.FormatRevision(*opts.GracePeriodSeconds) + " s to stop the containers, and then deletes the pod for good."
	case len(m.GetFinalizers()) > 0:
		h.markDeleting(c, m)
		return deleteLater, "Set the deletionTimestamp: the finalizers " + fmt.Sprint(m.GetFinalizers()) + " have to be removed before the object may go."
	}
	return deleteNow, "Nothing holds the object; delete it at once."
}

// beforeDelete handles the grace period, which only pods have (rest/delete.go
// BeforeDelete, pod strategy CheckGracefulDelete).
func (h *Handlers) beforeDelete(c *Call, obj runtime.Object, opts *metav1.DeleteOptions) (graceful, pending bool) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return false, false
	}
	if g := opts.GracePeriodSeconds; g != nil && *g < 0 {
		*g = 1
	}
	if p.DeletionTimestamp != nil {
		return h.shortenGrace(c, p, opts)
	}
	period := int64(0)
	switch {
	case opts.GracePeriodSeconds != nil:
		period = *opts.GracePeriodSeconds
	case p.Spec.TerminationGracePeriodSeconds != nil:
		period = *p.Spec.TerminationGracePeriodSeconds
	}
	if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
		period = 0
	}
	if period < 0 {
		period = 1
	}
	opts.GracePeriodSeconds = &period
	at := metav1.NewTime(c.Now().Add(time.Duration(period) * time.Second))
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &period
	if p.Generation > 0 {
		p.Generation++
	}
	return true, false
}

func (h *Handlers) shortenGrace(c *Call, p *corev1.Pod, opts *metav1.DeleteOptions) (graceful, pending bool) {
	if p.DeletionGracePeriodSeconds == nil || *p.DeletionGracePeriodSeconds == 0 {
		return false, false
	}
	if opts.GracePeriodSeconds == nil {
		return false, true
	}
	period := *opts.GracePeriodSeconds
	if period >= *p.DeletionGracePeriodSeconds {
		return false, true
	}
	at := metav1.NewTime(p.DeletionTimestamp.Add(-time.Second * time.Duration(*p.DeletionGracePeriodSeconds)).Add(time.Second * time.Duration(period)))
	if now := c.Now(); at.Before(&now) {
		at = now
		if period != 0 {
			period = 1
		}
	}
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &period
	opts.GracePeriodSeconds = &period
	return true, false
}

// markDeleting marks an object that finalizers hold.
func (h *Handlers) markDeleting(c *Call, m metav1.Object) {
	now, zero := c.Now(), int64(0)
	if m.GetDeletionTimestamp() == nil && m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	if t := m.GetDeletionTimestamp(); t == nil || t.After(now.Time) {
		m.SetDeletionTimestamp(&now)
	}
	m.SetDeletionGracePeriodSeconds(&zero)
}

// collectorFinalizers are the finalizers with those that tell the garbage
// collector what to do about dependents (store.go
// deletionFinalizersForGarbageCollection).
func (h *Handlers) collectorFinalizers(c *Call, m metav1.Object, opts *metav1.DeleteOptions) []string {
	if c.Kind.Strategy.NoOrphans {
		return m.GetFinalizers()
	}
	had := m.GetFinalizers()
	orphan := slices.Contains(had, metav1.FinalizerOrphanDependents)
	foreground := slices.Contains(had, metav1.FinalizerDeleteDependents)
	switch {
	case opts.OrphanDependents != nil: //nolint:staticcheck // old clients still send it
		orphan, foreground = *opts.OrphanDependents, false //nolint:staticcheck // see above
	case opts.PropagationPolicy != nil:
		orphan = *opts.PropagationPolicy == metav1.DeletePropagationOrphan
		foreground = *opts.PropagationPolicy == metav1.DeletePropagationForeground
	case !orphan && !foreground:
		orphan = c.Kind.Strategy.Orphans
	}
	var out []string
	for _, f := range had {
		if f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents {
			out = append(out, f)
		}
	}
	if orphan {
		out = append(out, metav1.FinalizerOrphanDependents)
	}
	if foreground {
		out = append(out, metav1.FinalizerDeleteDependents)
	}
	return out
}

// markNamespace begins the termination of a namespace, which the namespace
// controller completes (pkg/registry/core/namespace/storage Delete).
func (h *Handlers) markNamespace(c *Call, ns *corev1.Namespace, opts *metav1.DeleteOptions) (deletion, string) {
	if ns.DeletionTimestamp == nil {
		now := c.Now()
		ns.DeletionTimestamp = &now
		ns.Status.Phase = corev1.NamespaceTerminating
		ns.Finalizers = h.collectorFinalizers(c, ns, opts)
		return deleteLater, "The namespace is Terminating: the namespace controller deletes what is in it, then the namespace."
	}
	if len(ns.Spec.Finalizers) > 0 {
		return deleteNothing, "The namespace is being deleted already; its content has to go first."
	}
	if len(ns.Finalizers) > 0 {
		return deleteNothing, "The finalizers " + fmt.Sprint(ns.Finalizers) + " have to be removed first."
	}
	return deleteNow, "The namespace is empty; delete it."
}

// shouldDeleteDuringUpdate reports whether an update took the last thing that held an object
// being deleted (store.go ShouldDeleteDuringUpdate).
func shouldDeleteDuringUpdate(obj, old runtime.Object) bool {
	m, was := object.Meta(obj), object.Meta(old)
	if len(m.GetFinalizers()) != 0 || was.GetDeletionTimestamp() == nil {
		return false
	}
	if ns, ok := obj.(*corev1.Namespace); ok {
		return len(ns.Spec.Finalizers) == 0
	}
	return was.GetDeletionGracePeriodSeconds() == nil || *was.GetDeletionGracePeriodSeconds() == 0
}

// deleteCollection deletes what a list gives, one by one.
func (h *Handlers) deleteCollection(c *Call) *request.Response {
	listed, err := h.Store.GetList(&c.Scope, etcd3.Range{Kind: c.Kind, Namespace: c.Req.Namespace, Name: c.Req.Name}, c.Req.List)
	if err != nil {
		return &request.Response{Err: err}
	}
	h.warnOfOrphans(c, &c.Req.Delete)
	for _, obj := range listed.Items {
		m := object.Meta(obj)
		req := &request.Request{
			Verb: "delete", Resource: c.Req.Resource, Namespace: m.GetNamespace(), Name: m.GetName(), User: &c.User,
			Client: c.Req.Sender(), Causes: []trace.ID{c.Last}, Part: true, Kind: c.Req.Kind, Delete: c.Req.Delete, DryRun: c.Req.DryRun, System: c.Req.System,
		}
		if r := h.Serve(c.Task, req); r.Err != nil && !apierrors.IsNotFound(r.Err) {
			return &request.Response{Err: r.Err}
		}
	}
	return &request.Response{IsList: true, Items: listed.Items, ListMeta: listed.Meta}
}
