package apiserver

import (
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	genericvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/trace"
)

// validateCreate is the stage in which the kind's strategy clears what the
// writer may not set, and Kubernetes' own validation looks at the whole object
// (apiserver pkg/registry/rest/create.go BeforeCreate).
func (c *call) validateCreate(in admitted) (validated, error) {
	obj, sub := in.obj, c.req.Subresource
	if err := c.confirmNoEscalation(obj, nil, sub); err != nil {
		return validated{}, err
	}
	st := c.kind.Strategy
	var before runtime.Object
	if !c.req.System {
		before = obj.DeepCopyObject()
	}
	if st.Prepare != nil {
		c.prepare(st.Prepare, obj, nil)
	}
	if err := c.allocate(obj, nil, sub); err != nil {
		return validated{}, c.Refuse(trace.StageValidation, "", err)
	}
	var errs field.ErrorList
	c.aside("validation", func() {
		errs = st.Validate(obj)
		if len(errs) == 0 && !c.req.System { // the kinds' own functions have looked at the metadata too
			errs = genericvalidation.ValidateObjectMetaAccessor(object.Meta(obj), c.kind.Namespaced, pathSegment, field.NewPath("metadata"))
		}
		errs = c.declare(obj, nil, sub, errs)
	})
	if len(errs) > 0 {
		c.release(obj, nil)
		return validated{}, c.Refuse(trace.StageValidation, "", apierrors.NewInvalid(c.kind.GroupKind(), object.Meta(obj).GetName(), errs))
	}
	if st.Canonicalize != nil {
		st.Canonicalize(obj)
	}
	c.warn(obj, nil, sub)
	var diff []trace.FieldDiff
	if before != nil {
		diff = c.difference(before, obj)
	}
	c.Pass(trace.StageValidation, "", "The "+c.kind.Kind+" obeys the rules of its kind"+allotted(obj, nil, sub)+".", diff)
	return validated(in), nil
}

// validateUpdate is the same for an update (update.go BeforeUpdate) of an object, or of
// a part of it that is a subresource.
func (c *call) validateUpdate(in admitted, was *etcd3.Stored, sub string) (validated, error) {
	obj, old := in.obj, was.Object
	if err := c.confirmNoEscalation(obj, old, sub); err != nil {
		return validated{}, err
	}
	st := c.kind.Strategy
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
		c.prepare(prep, obj, old)
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
	if err := c.allocate(obj, old, sub); err != nil {
		return validated{}, c.Refuse(trace.StageValidation, "", err)
	}
	var errs field.ErrorList
	if !sameMeta(m, had) {
		errs = genericvalidation.ValidateObjectMetaAccessor(m, c.kind.Namespaced, pathSegment, field.NewPath("metadata"))
		errs = append(errs, genericvalidation.ValidateObjectMetaAccessorUpdate(m, had, field.NewPath("metadata"))...)
	}
	c.aside("validation", func() {
		errs = append(errs, check(obj, old)...)
		errs = c.declare(obj, old, sub, errs)
	})
	if len(errs) > 0 {
		c.release(obj, old)
		return validated{}, c.Refuse(trace.StageValidation, "", apierrors.NewInvalid(c.kind.GroupKind(), m.GetName(), errs))
	}
	if st.Canonicalize != nil {
		st.Canonicalize(obj)
	}
	c.warn(obj, old, sub)
	note := "The change obeys the rules of the kind"
	if g := m.GetGeneration(); g != had.GetGeneration() {
		note += "; what is wanted changed, so the generation is now " + object.FormatRevision(g)
	}
	c.Pass(trace.StageValidation, "", note+allotted(obj, old, sub)+".", nil)
	return validated(in), nil
}

// prepare has the kind's strategy clear what the writer may not set.
func (c *call) prepare(by func(w *registry.Write, obj, old runtime.Object), obj, old runtime.Object) {
	w := c.write()
	by(w, obj, old)
	c.Warnings = append(c.Warnings, w.Warnings...)
}

func (c *call) write() *registry.Write {
	return &registry.Write{User: c.user, Now: c.Now(), System: c.req.System, Rand: c.s.rand}
}

// declare has the tags of the types have their say: they add to what the
// functions found, and speak for those functions that say the same. What a
// component of this process writes they are asked about only if it is wrong.
func (c *call) declare(obj, old runtime.Object, sub string, errs field.ErrorList) field.ErrorList {
	st := c.kind.Strategy
	if declare, ok := st.SubDeclare[sub]; ok {
		return declare(obj, old, errs)
	}
	if st.Declare != nil {
		return st.Declare(obj, old, errs)
	}
	if c.kind.Custom != nil || c.kind.Is("CustomResourceDefinition") || c.req.System && len(errs) == 0 {
		return errs
	}
	return registry.Versioned{Resource: c.kind.Resource, Subresource: sub}.Declare(registry.Declarative)(obj, old, errs)
}

// warn collects the warnings that go with the answer; components of this
// process would not read them.
func (c *call) warn(obj, old runtime.Object, sub string) {
	if c.req.System {
		return
	}
	c.aside("the warnings", func() {
		c.tellInert(obj, old)
		if c.kind.Strategy.Warn != nil {
			c.askToWarn(obj, old, sub)
		}
	})
}

// tellInert warns of what nothing in the cluster will act on. A status is written by who
// acts.
func (c *call) tellInert(obj, old runtime.Object) {
	if c.s.cfg.Inert == nil || c.kind.Custom != nil || c.req.Subresource == "status" {
		return
	}
	sub := c.req.Subresource
	if sub != "" {
		sub = c.kind.GroupVersionResource.Resource + "/" + sub
	}
	c.Warnings = append(c.Warnings, c.s.cfg.Inert(c.kind.GroupKind(), sub, obj, old)...)
}

// askToWarn asks the kind's strategy for warnings.
func (c *call) askToWarn(obj, old runtime.Object, sub string) {
	if w, ok := c.kind.Strategy.SubWarn[sub]; ok {
		c.Warnings = append(c.Warnings, w(obj, old)...)
		return
	}
	if sub == "status" {
		return // the strategies of statuses warn of nothing
	}
	c.Warnings = append(c.Warnings, c.kind.Strategy.Warn(obj, old)...)
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
