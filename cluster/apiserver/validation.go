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

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/trace"
)

// validateCreate is the stage in which the kind's strategy clears what the
// writer may not set, and Kubernetes' own validation looks at the whole object
// (apiserver pkg/registry/rest/create.go BeforeCreate).
func (c *call) validateCreate() error {
	if err := c.holds(); err != nil {
		return err
	}
	st := c.kind.Strategy
	var before runtime.Object
	if !c.req.System {
		before = c.obj.DeepCopyObject()
	}
	if st.Prepare != nil {
		c.prepare(st.Prepare, nil)
	}
	if err := c.allocate(nil); err != nil {
		return c.Refuse(trace.StageValidation, "", err)
	}
	errs := st.Validate(c.obj)
	if len(errs) == 0 && !c.req.System { // the kinds' own functions have looked at the metadata too
		errs = genericvalidation.ValidateObjectMetaAccessor(object.Meta(c.obj), c.kind.Namespaced, pathSegment, field.NewPath("metadata"))
	}
	if errs = c.declare(nil, errs); len(errs) > 0 {
		c.release()
		return c.Refuse(trace.StageValidation, "", apierrors.NewInvalid(c.kind.GroupKind(), object.Meta(c.obj).GetName(), errs))
	}
	if st.Canonicalize != nil {
		st.Canonicalize(c.obj)
	}
	c.warn(false)
	var diff []trace.FieldDiff
	if before != nil {
		diff = object.Diff(before, c.obj)
	}
	c.Pass(trace.StageValidation, "", "The "+c.kind.Kind+" obeys the rules of its kind"+c.allotted(nil)+".", diff)
	return nil
}

// validateUpdate is the same for an update (update.go BeforeUpdate).
func (c *call) validateUpdate() error {
	if err := c.holds(); err != nil {
		return err
	}
	st := c.kind.Strategy
	m, was := object.Meta(c.obj), object.Meta(c.old)
	m.SetGeneration(was.GetGeneration())
	prep, check := st.Prepare, st.ValidateUpdate
	if c.req.Subresource != "" {
		if p, ok := st.SubPrepare[c.req.Subresource]; ok {
			prep = p
		}
		if v, ok := st.SubValidate[c.req.Subresource]; ok {
			check = v
		}
	}
	if prep != nil {
		c.prepare(prep, c.old)
	}
	if m.GetUID() == "" {
		m.SetUID(was.GetUID())
	}
	m.SetCreationTimestamp(was.GetCreationTimestamp())
	if was.GetDeletionTimestamp() != nil {
		m.SetDeletionTimestamp(was.GetDeletionTimestamp())
	}
	if was.GetDeletionGracePeriodSeconds() != nil && m.GetDeletionGracePeriodSeconds() == nil {
		m.SetDeletionGracePeriodSeconds(was.GetDeletionGracePeriodSeconds())
	}
	if err := c.allocate(c.old); err != nil {
		return c.Refuse(trace.StageValidation, "", err)
	}
	var errs field.ErrorList
	if !sameMeta(m, was) {
		errs = genericvalidation.ValidateObjectMetaAccessor(m, c.kind.Namespaced, pathSegment, field.NewPath("metadata"))
		errs = append(errs, genericvalidation.ValidateObjectMetaAccessorUpdate(m, was, field.NewPath("metadata"))...)
	}
	errs = append(errs, check(c.obj, c.old)...)
	if errs = c.declare(c.old, errs); len(errs) > 0 {
		c.release()
		return c.Refuse(trace.StageValidation, "", apierrors.NewInvalid(c.kind.GroupKind(), m.GetName(), errs))
	}
	if st.Canonicalize != nil {
		st.Canonicalize(c.obj)
	}
	c.warn(true)
	note := "The change obeys the rules of the kind"
	if g := m.GetGeneration(); g != was.GetGeneration() {
		note += "; what is wanted changed, so the generation is now " + object.FormatRevision(g)
	}
	c.Pass(trace.StageValidation, "", note+c.allotted(c.old)+".", nil)
	return nil
}

// prepare has the kind's strategy clear what the writer may not set.
func (c *call) prepare(by func(w *registry.Write, obj, old runtime.Object), old runtime.Object) {
	w := c.write()
	by(w, c.obj, old)
	c.Warnings = append(c.Warnings, w.Warnings...)
}

func (c *call) write() *registry.Write {
	return &registry.Write{User: c.user, Now: c.Now(), System: c.req.System, Rand: c.s.rand}
}

// declare has the tags of the types have their say: they add to what the
// functions found, and speak for those functions that say the same. What a
// component of this process writes they are asked about only if it is wrong.
func (c *call) declare(old runtime.Object, errs field.ErrorList) field.ErrorList {
	st := c.kind.Strategy
	if sub, ok := st.SubDeclare[c.req.Subresource]; ok {
		return sub(c.obj, old, errs)
	}
	if st.Declare != nil {
		return st.Declare(c.obj, old, errs)
	}
	if c.kind.Custom != nil || c.kind.Is("CustomResourceDefinition") || c.req.System && len(errs) == 0 {
		return errs
	}
	return registry.Versioned{Resource: c.kind.Resource, Subresource: c.req.Subresource}.Declare(registry.Declarative)(c.obj, old, errs)
}

// warn collects the warnings that go with the answer; components of this
// process would not read them.
func (c *call) warn(update bool) {
	if c.req.System || c.kind.Strategy.Warn == nil {
		return
	}
	if w, ok := c.kind.Strategy.SubWarn[c.req.Subresource]; ok {
		c.Warnings = append(c.Warnings, w(c.obj, c.old)...)
		return
	}
	if c.req.Subresource == "status" {
		return // the strategies of statuses warn of nothing
	}
	if update {
		c.Warnings = append(c.Warnings, c.kind.Strategy.Warn(c.obj, c.old)...)
		return
	}
	c.Warnings = append(c.Warnings, c.kind.Strategy.Warn(c.obj, nil)...)
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
