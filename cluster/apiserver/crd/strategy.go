package crd

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	structurallisttype "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apioperation "k8s.io/apimachinery/pkg/api/operation"
	genericvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
)

// customStrategy is what is particular about writing a custom object: the
// strategy, status strategy and validator of apiextensions-apiserver
// pkg/registry/customresource. (The package itself would bring the generic
// registry and its etcd client along; TestCustomRefusalsAreUpstreams compares.)
func customStrategy(k *registry.Kind) *registry.Strategy {
	v := Of(k)
	st := &registry.Strategy{
		Conditional: true,
		Prepare:     func(_ *registry.Write, obj, old runtime.Object) { v.prepare(MapOf(obj), MapOf(old)) },
		ValidateIn: func(ctx context.Context, sub string, obj, old runtime.Object) field.ErrorList {
			switch {
			case old == nil:
				return v.validate(ctx, k, MapOf(obj))
			case sub == "status":
				return v.validateStatus(ctx, k, MapOf(obj), MapOf(old))
			}
			return v.validateUpdate(ctx, k, MapOf(obj), MapOf(old))
		},
		Warn: finalizerWarnings,
	}
	if v.hasStatus() {
		st.SubPrepare = registry.Preparers{"status": func(_ *registry.Write, obj, old runtime.Object) { prepareCustomStatus(MapOf(obj), MapOf(old)) }}
	}
	return st
}

// MapOf is an object of a custom kind as it is: a map. Nil for nil.
func MapOf(obj runtime.Object) *unstructured.Unstructured {
	u, _ := obj.(*unstructured.Unstructured)
	return u
}

func (v *Version) hasStatus() bool {
	return v.spec.Subresources != nil && v.spec.Subresources.Status != nil
}

// prepare keeps the status out of a write of the object, and counts changes of
// anything but metadata as new generations.
func (v *Version) prepare(obj, old *unstructured.Unstructured) {
	if old == nil {
		if v.hasStatus() {
			delete(obj.Object, "status")
		}
		obj.SetGeneration(1)
		return
	}
	if v.hasStatus() {
		if was, ok := old.Object["status"]; ok {
			obj.Object["status"] = was
		} else {
			delete(obj.Object, "status")
		}
	}
	if !object.Equal(withoutMeta(obj), withoutMeta(old)) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

func withoutMeta(u *unstructured.Unstructured) map[string]any {
	out := make(map[string]any, len(u.Object))
	for k, part := range u.Object {
		if k != "metadata" {
			out[k] = part
		}
	}
	return out
}

// prepareCustomStatus takes nothing but the status of a write to /status.
func prepareCustomStatus(obj, old *unstructured.Unstructured) {
	status, has := obj.Object["status"]
	managed := obj.GetManagedFields()
	obj.Object = old.DeepCopy().Object
	obj.SetManagedFields(managed)
	if has {
		obj.Object["status"] = status
	} else {
		delete(obj.Object, "status")
	}
}

// validate is customResourceStrategy.Validate.
func (v *Version) validate(ctx context.Context, k *registry.Kind, u *unstructured.Unstructured) field.ErrorList {
	if errs := rightType(k, u); len(errs) > 0 {
		return errs
	}
	made := v.schema()
	var errs field.ErrorList
	if m, bad := typedMeta(u); len(bad) > 0 {
		errs = append(errs, bad...)
	} else {
		errs = append(errs, genericvalidation.ValidateObjectMetaDeclaratively(ctx, apioperation.Create, m, nil, k.Namespaced, genericvalidation.NameIsDNSSubdomain, field.NewPath("metadata"), true)...)
	}
	errs = append(errs, registry.InOrder(apiservervalidation.ValidateCustomResource(nil, u.Object, made.whole))...)
	errs = append(errs, made.checkReplicas(u)...)
	errs = append(errs, made.checkScaleStatus(u)...)
	errs = append(errs, registry.InOrder(schemaobjectmeta.Validate(ctx, nil, u.Object, made.structural, false))...)
	errs = append(errs, registry.InOrder(structurallisttype.ValidateListSetsAndMaps(nil, made.structural, u.Object))...)
	return made.checkRules(ctx, errs, u.Object, nil)
}

// validateUpdate is customResourceStrategy.ValidateUpdate: what was wrong already
// and does not change is let be (ratcheting).
func (v *Version) validateUpdate(ctx context.Context, k *registry.Kind, u, old *unstructured.Unstructured) field.ErrorList {
	if errs := rightType(k, u); len(errs) > 0 {
		return errs
	}
	made := v.schema()
	pair := common.NewCorrelatedObject(u.Object, old.Object, &model.Structural{Structural: made.structural})
	errs := checkMetaUpdate(ctx, k, u, old)
	errs = append(errs, registry.InOrder(apiservervalidation.ValidateCustomResourceUpdate(nil, u.Object, old.Object, made.whole, apiservervalidation.WithRatcheting(pair)))...)
	errs = append(errs, made.checkReplicas(u)...)
	errs = append(errs, made.checkScaleStatus(u)...)
	errs = append(errs, registry.InOrder(schemaobjectmeta.Validate(ctx, nil, u.Object, made.structural, false))...)
	errs = append(errs, made.checkListTypes(u, old)...)
	return made.checkRules(ctx, errs, u.Object, old.Object, cel.WithRatcheting(pair))
}

// validateStatus is statusStrategy.ValidateUpdate: the schema of the status only,
// but all rules.
func (v *Version) validateStatus(ctx context.Context, k *registry.Kind, u, old *unstructured.Unstructured) field.ErrorList {
	if errs := rightType(k, u); len(errs) > 0 {
		return errs
	}
	made := v.schema()
	pair := common.NewCorrelatedObject(u.Object, old.Object, &model.Structural{Structural: made.structural})
	var options []apiservervalidation.ValidationOption
	if made.structural != nil {
		options = append(options, apiservervalidation.WithRatcheting(pair.Key("status")))
	}
	errs := checkMetaUpdate(ctx, k, u, old)
	if status, ok := u.Object["status"]; ok {
		errs = append(errs, registry.InOrder(apiservervalidation.ValidateCustomResourceUpdate(field.NewPath("status"), status, old.Object["status"], made.status, options...))...)
	}
	errs = append(errs, made.checkScaleStatus(u)...)
	errs = append(errs, made.checkListTypes(u, old)...)
	return made.checkRules(ctx, errs, u.Object, old.Object, cel.WithRatcheting(pair))
}

// rightType refuses an object of another kind or version.
func rightType(k *registry.Kind, u *unstructured.Unstructured) (errs field.ErrorList) {
	if u.GetKind() != k.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), u.GetKind(), fmt.Sprintf("must be %v", k.Kind)))
	}
	if u.GetAPIVersion() != k.APIVersion {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), u.GetAPIVersion(), fmt.Sprintf("must be %v", k.APIVersion)))
	}
	return errs
}

func typedMeta(u *unstructured.Unstructured) (*metav1.ObjectMeta, field.ErrorList) {
	m := &metav1.ObjectMeta{}
	raw, ok := u.Object["metadata"].(map[string]any)
	if !ok {
		if u.Object["metadata"] == nil {
			return m, nil
		}
		return nil, field.ErrorList{field.Invalid(field.NewPath("metadata"), u.Object["metadata"], fmt.Sprintf("expected map[string]interface{}, got %T", u.Object["metadata"]))}
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, m); err != nil {
		return nil, field.ErrorList{field.Invalid(field.NewPath("metadata"), raw, err.Error())}
	}
	return m, nil
}

func checkMetaUpdate(ctx context.Context, k *registry.Kind, u, old *unstructured.Unstructured) field.ErrorList {
	m, errs := typedMeta(u)
	if len(errs) > 0 {
		return errs
	}
	was, errs := typedMeta(old)
	if len(errs) > 0 {
		return errs
	}
	return genericvalidation.ValidateObjectMetaDeclaratively(ctx, apioperation.Update, m, was, k.Namespaced, nil, field.NewPath("metadata"), true)
}

// checkListTypes refuses sets and maps with doubles, unless there were some.
func (made *customSchema) checkListTypes(u, old *unstructured.Unstructured) field.ErrorList {
	errs := structurallisttype.ValidateListSetsAndMaps(nil, made.structural, u.Object)
	if len(errs) > 0 && len(structurallisttype.ValidateListSetsAndMaps(nil, made.structural, old.Object)) > 0 {
		return nil
	}
	return registry.InOrder(errs)
}

// checkRules runs the rules (x-kubernetes-validations), unless the object is so
// wrong that they could not be trusted.
func (made *customSchema) checkRules(ctx context.Context, errs field.ErrorList, obj, old map[string]any, options ...cel.Option) field.ErrorList {
	if !made.ruled {
		return errs
	}
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return append(errs, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
		}
	}
	var before any
	if old != nil {
		before = old
	}
	rules := made.rules()
	if rules == nil {
		return errs
	}
	broken, _ := rules.Validate(ctx, nil, made.structural, obj, before, celconfig.RuntimeCELCostBudget, options...)
	return append(errs, registry.InOrder(broken)...)
}

// checkReplicas is ValidateScaleSpec.
func (made *customSchema) checkReplicas(u *unstructured.Unstructured) field.ErrorList {
	if made.scale == nil {
		return nil
	}
	return checkCount(u, made.scale.SpecReplicasPath)
}

// checkScaleStatus is ValidateScaleStatus.
func (made *customSchema) checkScaleStatus(u *unstructured.Unstructured) field.ErrorList {
	if made.scale == nil {
		return nil
	}
	errs := checkCount(u, made.scale.StatusReplicasPath)
	if p := made.scale.LabelSelectorPath; p != nil {
		if sel, _, err := unstructured.NestedString(u.Object, pathOf(*p)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*p), sel, err.Error()))
		}
	}
	return errs
}

func checkCount(u *unstructured.Unstructured, path string) field.ErrorList {
	n, _, err := unstructured.NestedInt64(u.Object, pathOf(path)...)
	switch at := field.NewPath(path); {
	case err != nil:
		return field.ErrorList{field.Invalid(at, n, err.Error())}
	case n < 0:
		return field.ErrorList{field.Invalid(at, n, "should be a non-negative integer")}
	case n > math.MaxInt32:
		return field.ErrorList{field.Invalid(at, n, fmt.Sprintf("should be less than or equal to %v", math.MaxInt32))}
	}
	return nil
}

// pathOf splits ".spec.replicas".
func pathOf(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

// finalizerWarnings are for finalizers with names that might collide
// (validator.go validateKubeFinalizerName).
func finalizerWarnings(obj, old runtime.Object) []string {
	var had, out []string
	if old != nil {
		had = object.Meta(old).GetFinalizers()
	}
	added := slices.Clone(object.Meta(obj).GetFinalizers())
	slices.Sort(added)
	for _, f := range slices.Compact(added) {
		if slices.Contains(had, f) {
			continue
		}
		for _, msg := range validation.IsQualifiedName(f) {
			out = append(out, fmt.Sprintf("metadata.finalizers: %q: %s", f, msg))
		}
		if strings.Contains(f, "/") || f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents || f == string(corev1.FinalizerKubernetes) {
			continue
		}
		how := "a domain-qualified finalizer name"
		if strings.Contains(f, ".") {
			how += " including a path (/)"
		}
		out = append(out, fmt.Sprintf("metadata.finalizers: %q: prefer %s to avoid accidental conflicts with other finalizer writers", f, how))
	}
	return out
}
