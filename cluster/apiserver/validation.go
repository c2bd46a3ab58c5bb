package apiserver

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	genericvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kviz/cluster/trace"
)

// validateCreate is the stage in which the kind's strategy clears what the
// writer may not set, and Kubernetes' own validation looks at the whole object
// (apiserver pkg/registry/rest/create.go BeforeCreate).
func (c *call) validateCreate() error {
	st := c.kind.strategy
	if st.prepare != nil {
		st.prepare(c, c.obj, nil)
	}
	if err := c.allocate(nil); err != nil {
		return c.refuse(trace.StageValidation, "", err)
	}
	errs := st.validate(c.obj)
	if len(errs) == 0 {
		errs = genericvalidation.ValidateObjectMetaAccessor(metaOf(c.obj), c.kind.Namespaced, pathSegment, field.NewPath("metadata"))
	}
	if len(errs) > 0 {
		c.release()
		return c.refuse(trace.StageValidation, "", apierrors.NewInvalid(c.kind.GVK().GroupKind(), metaOf(c.obj).GetName(), errs))
	}
	if st.canonicalize != nil {
		st.canonicalize(c.obj)
	}
	c.warn(false)
	c.pass(trace.StageValidation, "", "The "+c.kind.Kind+" obeys the rules of its kind.", nil)
	return nil
}

// validateUpdate is the same for an update (update.go BeforeUpdate).
func (c *call) validateUpdate() error {
	st := c.kind.strategy
	m, was := metaOf(c.obj), metaOf(c.old)
	m.SetGeneration(was.GetGeneration())
	prep, check := st.prepare, st.validateUpdate
	if c.req.Subresource != "" {
		if p, ok := st.subPrepare[c.req.Subresource]; ok {
			prep = p
		}
		if v, ok := st.subValidate[c.req.Subresource]; ok {
			check = v
		}
	}
	if prep != nil {
		prep(c, c.obj, c.old)
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
		return c.refuse(trace.StageValidation, "", err)
	}
	errs := genericvalidation.ValidateObjectMetaAccessor(m, c.kind.Namespaced, pathSegment, field.NewPath("metadata"))
	errs = append(errs, genericvalidation.ValidateObjectMetaAccessorUpdate(m, was, field.NewPath("metadata"))...)
	errs = append(errs, check(c.obj, c.old)...)
	if len(errs) > 0 {
		c.release()
		return c.refuse(trace.StageValidation, "", apierrors.NewInvalid(c.kind.GVK().GroupKind(), m.GetName(), errs))
	}
	if st.canonicalize != nil {
		st.canonicalize(c.obj)
	}
	c.warn(true)
	note := "The change obeys the rules of the kind"
	if g := m.GetGeneration(); g != was.GetGeneration() {
		note += "; what is wanted changed, so the generation is now " + formatRevision(g)
	}
	c.pass(trace.StageValidation, "", note+".", nil)
	return nil
}

// warn collects the warnings that go with the answer; components of this
// process would not read them.
func (c *call) warn(update bool) {
	if c.req.System || c.kind.strategy.warn == nil {
		return
	}
	if update {
		c.warnings = append(c.warnings, c.kind.strategy.warn(c.obj, c.old)...)
		return
	}
	c.warnings = append(c.warnings, c.kind.strategy.warn(c.obj, nil)...)
}

// pathSegment is what every name must obey, to fit in a URL.
func pathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}
