package handlers

import (
	"context"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	genericvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// validateCreate is the stage in which the kind's strategy clears what the
// writer may not set, and Kubernetes' own validation looks at the whole object
// (apiserver pkg/registry/rest/create.go BeforeCreate).
func (h *Handlers) validateCreate(c *Call, in admitted) (validated, error) {
	obj, sub := in.obj, c.Req.Subresource
	if err := h.confirmNoEscalation(c, obj, nil, sub); err != nil {
		return validated{}, err
	}
	st := c.Kind.Strategy
	var before runtime.Object
	if !c.Req.System {
		before = obj.DeepCopyObject()
	}
	if st.Prepare != nil {
		h.prepare(c, st.Prepare, obj, nil)
	}
	if err := h.allocate(c, obj, nil, sub); err != nil {
		return validated{}, c.Refuse(trace.StageValidation, "", err)
	}
	effort, err := c.effort(obj)
	if err != nil {
		return validated{}, err
	}
	errs := request.OffloadDear(&c.Scope, effort, "validation", faultsOfNew, judged{kind: c.Kind, component: c.Req.System, sub: sub, obj: obj})
	if len(errs) > 0 {
		return validated{}, c.Refuse(trace.StageValidation, "", invalid(c, obj, errs))
	}
	if st.Canonicalize != nil {
		st.Canonicalize(obj)
	}
	h.warn(c, obj, nil, sub)
	var diff []trace.FieldDiff
	if before != nil {
		diff = c.difference(before, obj)
	}
	c.Pass(trace.StageValidation, "", "The "+c.Kind.Kind+" obeys the rules of its kind"+allotted(obj, nil, sub)+".", diff)
	return validated(in), nil
}

// validateUpdate is the same for an update (update.go BeforeUpdate) of an object, or of
// a part of it that is a subresource.
func (h *Handlers) validateUpdate(c *Call, in admitted, was *etcd3.Stored, sub string) (validated, error) {
	obj, old := in.obj, was.Object
	if err := h.confirmNoEscalation(c, obj, old, sub); err != nil {
		return validated{}, err
	}
	st := c.Kind.Strategy
	m, had := object.Meta(obj), object.Meta(old)
	m.SetGeneration(had.GetGeneration())
	prep, check := st.Prepare, st.ValidateUpdate
	if sub != "" {
		if p, ok := st.SubPrepare[sub]; ok {
			prep = p
		}
		if v, ok := st.SubValidate[sub]; ok {
			check = v
		}
	}
	if prep != nil {
		h.prepare(c, prep, obj, old)
	}
	if m.GetUID() == "" {
		m.SetUID(had.GetUID())
	}
	m.SetCreationTimestamp(had.GetCreationTimestamp())
	if had.GetDeletionTimestamp() != nil {
		m.SetDeletionTimestamp(had.GetDeletionTimestamp())
	}
	if had.GetDeletionGracePeriodSeconds() != nil && m.GetDeletionGracePeriodSeconds() == nil {
		m.SetDeletionGracePeriodSeconds(had.GetDeletionGracePeriodSeconds())
	}
	if err := h.allocate(c, obj, old, sub); err != nil {
		return validated{}, c.Refuse(trace.StageValidation, "", err)
	}
	var errs field.ErrorList
	if !sameMeta(m, had) {
		errs = genericvalidation.ValidateObjectMetaAccessor(m, c.Kind.Namespaced, pathSegment, field.NewPath("metadata"))
		errs = append(errs, genericvalidation.ValidateObjectMetaAccessorUpdate(m, had, field.NewPath("metadata"))...)
	}
	effort, err := c.effort(obj)
	if err != nil {
		return validated{}, err
	}
	errs = request.OffloadDear(&c.Scope, effort, "validation", faultsOfChange, judged{kind: c.Kind, component: c.Req.System, sub: sub, obj: obj, old: old, check: check, errs: errs})
	if len(errs) > 0 {
		return validated{}, c.Refuse(trace.StageValidation, "", invalid(c, obj, errs))
	}
	if st.Canonicalize != nil {
		st.Canonicalize(obj)
	}
	h.warn(c, obj, old, sub)
	note := "The change obeys the rules of the kind"
	if g := m.GetGeneration(); g != had.GetGeneration() {
		note += "; what is wanted changed, so the generation is now " + object.FormatRevision(g)
	}
	c.Pass(trace.StageValidation, "", note+allotted(obj, old, sub)+".", nil)
	return validated(in), nil
}

// invalid is the error with errs. Making its message is quadratic in their number, and so
// is offloaded too.
func invalid(c *Call, obj runtime.Object, errs field.ErrorList) error {
	return request.Offload(&c.Scope, "the refusal", func(errs field.ErrorList) error {
		return apierrors.NewInvalid(c.Kind.GroupKind(), object.Meta(obj).GetName(), errs)
	}, errs)
}

// prepare has the kind's strategy clear what the writer may not set.
func (h *Handlers) prepare(c *Call, by func(w *registry.Write, obj, old runtime.Object), obj, old runtime.Object) {
	w := h.Write(c)
	by(w, obj, old)
	c.Warnings = append(c.Warnings, w.Warnings...)
}

// Write is who writes, when, and with which random numbers, for a kind's strategy.
func (h *Handlers) Write(c *Call) *registry.Write {
	return &registry.Write{User: c.User, Now: c.Now(), System: c.Req.System, Rand: h.Names.Rand()}
}

// judged is an object that is judged by the rules of its kind.
type judged struct {
	kind      *registry.Kind
	component bool // a component of this process writes it
	sub       string
	asked     string // the request's subresource: scale, where sub is ""
	obj, old  runtime.Object
	check     func(obj, old runtime.Object) field.ErrorList // of a change
	errs      field.ErrorList                               // that were found already
}

func faultsOfNew(ctx context.Context, j judged) field.ErrorList {
	var errs field.ErrorList
	if by := j.kind.Strategy.ValidateIn; by != nil {
		errs = by(ctx, j.sub, j.obj, nil)
	} else {
		errs = j.kind.Strategy.Validate(j.obj)
	}
	if len(errs) == 0 && !j.component { // the kinds' own functions have looked at the metadata too
		errs = genericvalidation.ValidateObjectMetaAccessor(object.Meta(j.obj), j.kind.Namespaced, pathSegment, field.NewPath("metadata"))
	}
	return j.declare(errs)
}

func faultsOfChange(ctx context.Context, j judged) field.ErrorList {
	if by := j.kind.Strategy.ValidateIn; by != nil {
		return j.declare(append(j.errs, by(ctx, j.sub, j.obj, j.old)...))
	}
	return j.declare(append(j.errs, j.check(j.obj, j.old)...))
}

// effort reports whether the validation of an object may take long for what it is: for the rules
// and the patterns of its kind, or the expressions in it that are compiled. One that would take
// longer than any client waits is not begun: it is answered as if it had been.
func (c *Call) effort(obj runtime.Object) (dear bool, err error) {
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		if c.Kind.Custom == nil {
			return false, nil
		}
		v := crd.Of(c.Kind)
		steps := v.Steps(o)
		if steps > mostSteps {
			return false, c.Refuse(trace.StageValidation, "", etcd3.Error(context.DeadlineExceeded))
		}
		return v.HasRules() || steps > manySteps, nil
	case *apiextensionsv1.CustomResourceDefinition:
		return crd.Costly(o), nil
	case *admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.MutatingAdmissionPolicy:
		return true, nil
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return slices.ContainsFunc(o.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return len(w.MatchConditions) > 0 }), nil
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return slices.ContainsFunc(o.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return len(w.MatchConditions) > 0 }), nil
	}
	return false, nil
}

// A step of a regular expression takes some 10 ns.
const (
	manySteps = 1e6 // more are not the kernel's
	mostSteps = 2e9 // more take longer than a write may (see longestWrite)
)

// declare has the tags of the types have their say: they add to what the
// functions found, and speak for those functions that say the same. What a
// component of this process writes they are asked about only if it is wrong.
func (j *judged) declare(errs field.ErrorList) field.ErrorList {
	st := j.kind.Strategy
	if declare, ok := st.SubDeclare[j.sub]; ok {
		return declare(j.obj, j.old, errs)
	}
	if st.Declare != nil {
		return st.Declare(j.obj, j.old, errs)
	}
	if j.kind.Custom != nil || j.kind.Is("CustomResourceDefinition") || j.component && len(errs) == 0 {
		return errs
	}
	return registry.Versioned{Resource: j.kind.Resource, Subresource: j.sub}.Declare(registry.Declarative)(j.obj, j.old, errs)
}

// warn collects the warnings that go with the answer; components of this
// process would not read them.
func (h *Handlers) warn(c *Call, obj, old runtime.Object, sub string) {
	j := judged{kind: c.Kind, sub: sub, asked: c.Req.Subresource, obj: obj, old: old}
	if c.Req.System {
		h.warnComponent(c, j)
		return
	}
	w := request.Offload(&c.Scope, "the warnings", h.warnings, j)
	c.Warnings = append(c.Warnings, w.all...)
	c.inert = w.inert
}

// warned is what the writer of an object is warned of, and which of it is of something that
// nothing acts on.
type warned struct{ all, inert []string }

// warnings are of what nothing in the cluster will act on, and those of the kind's strategy.
// A status is written by who acts, and the strategies of statuses warn of nothing.
func (h *Handlers) warnings(j judged) (w warned) {
	if h.Inert != nil && j.kind.Custom == nil && j.asked != "status" {
		part := ""
		if j.asked != "" {
			part = j.kind.GroupVersionResource.Resource + "/" + j.asked
		}
		inert, assumed := h.Inert.Warnings(j.kind.GroupKind(), part, j.obj, j.old)
		w = warned{append(slices.Clip(inert), assumed...), inert}
	}
	st := j.kind.Strategy
	if st.Warn == nil {
		return w
	}
	warn, ok := st.SubWarn[j.sub]
	if !ok {
		if j.sub == "status" {
			return w
		}
		warn = st.Warn
	}
	w.all = append(slices.Clip(w.all), warn(j.obj, j.old)...)
	return w
}

// pathSegment is what every name must obey, to fit in a URL.
func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// sameMeta reports whether the metadata is what it was, which has been
// validated before.
func sameMeta(m, was metav1.Object) bool {
	return m.GetName() == was.GetName() && m.GetNamespace() == was.GetNamespace() && m.GetGenerateName() == was.GetGenerateName() &&
		m.GetUID() == was.GetUID() && m.GetResourceVersion() != "" && m.GetGeneration() == was.GetGeneration() &&
		m.GetDeletionTimestamp().Equal(was.GetDeletionTimestamp()) && m.GetDeletionGracePeriodSeconds() == nil && was.GetDeletionGracePeriodSeconds() == nil &&
		maps.Equal(m.GetLabels(), was.GetLabels()) && maps.Equal(m.GetAnnotations(), was.GetAnnotations()) &&
		slices.Equal(m.GetFinalizers(), was.GetFinalizers()) && equalOwners(m.GetOwnerReferences(), was.GetOwnerReferences()) &&
		len(m.GetManagedFields()) == 0
}

func equalOwners(a, b []metav1.OwnerReference) bool {
	return slices.EqualFunc(a, b, func(x, y metav1.OwnerReference) bool {
		return x.APIVersion == y.APIVersion && x.Kind == y.Kind && x.Name == y.Name && x.UID == y.UID &&
			equalBool(x.Controller, y.Controller) && equalBool(x.BlockOwnerDeletion, y.BlockOwnerDeletion)
	})
}

func equalBool(a, b *bool) bool { return a == b || a != nil && b != nil && *a == *b }
