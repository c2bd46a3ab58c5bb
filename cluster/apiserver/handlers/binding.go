package handlers

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// createSub is the verb create on a subresource.
func (h *Handlers) createSub(c *Call) *request.Response {
	obj, err := h.decode(c)
	if err != nil {
		return &request.Response{Err: err}
	}
	c.Pause(h.AdmissionTime)
	var out runtime.Object
	switch c.Sub.Name {
	case "binding":
		out, err = h.bind(c, obj.obj.(*corev1.Binding))
	case "eviction":
		out, err = h.evict(c, obj.obj.(*policyv1.Eviction))
	case "token":
		out, err = h.Tokens.Issue(c, h.Attributes(c, admission.Create, nil, nil), obj.obj)
	}
	if err != nil {
		return &request.Response{Err: err}
	}
	r := &request.Response{Object: out, Created: true}
	if st, ok := out.(*metav1.Status); ok {
		r.Code = int(st.Code) // that of a failure, too (responsewriters transformResponseObject)
	}
	return r
}

// BindNamed is the creation of a Binding that says itself which pod it is of, as
// old clients send it (pkg/registry/core/pod/storage LegacyBindingREST).
func (h *Handlers) BindNamed(c *Call) *request.Response {
	obj, err := h.decode(c)
	if err != nil {
		return &request.Response{Err: err}
	}
	b := obj.obj.(*corev1.Binding)
	if err := c.MatchNamespace(b); err != nil {
		return &request.Response{Err: c.Refuse(trace.StageDecode, "", err)}
	}
	c.Kind = registry.KindFor(client.Pods.GroupVersionResource)
	c.Sub = c.Kind.Subresource("binding")
	req := *c.Req
	req.Name, c.Req = b.Name, &req
	c.Ref.Kind, c.Ref.Name = c.Kind.Kind, b.Name
	c.Pause(h.AdmissionTime)
	out, err := h.bind(c, b)
	if err != nil {
		return &request.Response{Err: err}
	}
	return &request.Response{Object: out, Created: true}
}

func success() *metav1.Status {
	return &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess, Code: 201}
}

// bind is pods/binding: it sets spec.nodeName, once
// (pkg/registry/core/pod/storage/storage.go BindingREST). Admission judges the
// Binding before anything is known of the pod: only the write looks at that.
func (h *Handlers) bind(c *Call, b *corev1.Binding) (runtime.Object, error) {
	a := h.Attributes(c, admission.Create, nil, nil)
	a.Sent = b
	if _, err := h.mutate(c, a); err != nil {
		return nil, err
	}
	if b.Name != c.Req.Name {
		return nil, c.Refuse(trace.StageValidation, "", apierrors.NewBadRequest("name in URL does not match name in Binding object"))
	}
	if errs := validation.ValidatePodBinding(registry.Internal[core.Binding](b)); len(errs) > 0 {
		return nil, c.Refuse(trace.StageValidation, "", errs.ToAggregate())
	}
	c.Pass(trace.StageValidation, "", "The Binding gives the pod the node "+b.Target.Name+".",
		[]trace.FieldDiff{{Path: "spec.nodeName", To: strconv.Quote(b.Target.Name)}})
	if _, err := h.admit(c, a, validated{}); err != nil {
		return nil, err
	}
	return success(), h.repeat(c, func(live bool) error { return h.bindOnce(c, b, live) })
}

func (h *Handlers) bindOnce(c *Call, b *corev1.Binding, live bool) error {
	old, err := h.Store.Current(&c.Scope, c.At(), live)
	if err != nil {
		return c.Refuse(trace.StageStorage, "", err)
	}
	p := bindable(old.Object.(*corev1.Pod), b)
	c.Ref.UID = string(p.UID)
	if err := h.mayBind(c, p, b); err != nil {
		if old.Cached {
			return etcd3.ErrStale
		}
		return c.Refuse(trace.StageStorage, "", err)
	}
	p.Spec.NodeName = b.Target.Name
	p.Status.NominatedNodeName = ""
	for k, v := range b.Annotations {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, k, v)
	}
	for k, v := range b.Labels {
		metav1.SetMetaDataLabel(&p.ObjectMeta, k, v)
	}
	registry.SetPodCondition(p, c.Now(), corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
	_, err = h.replace(c, approved{p}, old)
	return err
}

// bindable is a copy of the pod in which everything a binding changes can be
// changed; the rest is shared.
func bindable(old *corev1.Pod, b *corev1.Binding) *corev1.Pod {
	p := *old
	p.Status.Conditions = slices.Clone(old.Status.Conditions)
	if len(b.Annotations) > 0 {
		p.Annotations = maps.Clone(old.Annotations)
	}
	if len(b.Labels) > 0 {
		p.Labels = maps.Clone(old.Labels)
	}
	return &p
}

// mayBind says why a pod cannot be bound, as a conflict.
func (h *Handlers) mayBind(c *Call, p *corev1.Pod, b *corev1.Binding) error {
	subject := func(err error) error {
		gr := c.Kind.GroupResource()
		gr.Resource += "/binding"
		return apierrors.NewConflict(gr, p.Name, err)
	}
	switch {
	case b.UID != "" && b.UID != p.UID:
		return h.preconditionFailed(c, "UID", b.UID, p.UID)
	case b.ResourceVersion != "" && b.ResourceVersion != p.ResourceVersion:
		return h.preconditionFailed(c, "ResourceVersion", b.ResourceVersion, p.ResourceVersion)
	case p.DeletionTimestamp != nil:
		return subject(fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", p.Name))
	case p.Spec.NodeName != "":
		return subject(fmt.Errorf("pod %v is already assigned to node %q", p.Name, p.Spec.NodeName))
	case len(p.Spec.SchedulingGates) != 0:
		return subject(fmt.Errorf("pod %v has non-empty .spec.schedulingGates", p.Name))
	}
	return nil
}
