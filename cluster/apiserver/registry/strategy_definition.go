package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kviz/cluster/apiserver/object"
)

// The kind CustomResourceDefinition: an object that tells the server to serve a
// kind more. Here is what is particular about writing one (apiextensions-apiserver
// pkg/registry/customresourcedefinition/strategy.go); what it brings about begins in
// apiserver/crd, whose controllers answer it with conditions.

var CustomResourceDefinitionStrategy = &Strategy{
	Conditional: true,
	Prepare: prepare(func(_ *Write, crd, old *apiextensionsv1.CustomResourceDefinition) {
		if old == nil {
			crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
			crd.Generation = 1
		} else {
			crd.Status = *old.Status.DeepCopy()
			if !object.Equal(old.Spec, crd.Spec) {
				crd.Generation = old.Generation + 1
			}
		}
		for _, v := range crd.Spec.Versions {
			if v.Storage {
				if !apihelpers.IsStoredVersion(crd, v.Name) {
					crd.Status.StoredVersions = append(crd.Status.StoredVersions, v.Name)
				}
				break
			}
		}
	}),
	SubPrepare: Preparers{"status": prepare(func(_ *Write, crd, old *apiextensionsv1.CustomResourceDefinition) { crd.Spec = old.Spec })},
	Validate: creation(func(crd *apiextensions.CustomResourceDefinition) field.ErrorList {
		return schemasInOrder(crdvalidation.ValidateCustomResourceDefinition(context.Background(), crd))
	}),
	ValidateUpdate: updating(func(crd, old *apiextensions.CustomResourceDefinition) field.ErrorList {
		return schemasInOrder(crdvalidation.ValidateCustomResourceDefinitionUpdate(context.Background(), crd, old))
	}),
	SubValidate: Validators{"status": updating(func(crd, old *apiextensions.CustomResourceDefinition) field.ErrorList {
		return schemasInOrder(crdvalidation.ValidateUpdateCustomResourceDefinitionStatus(context.Background(), crd, old))
	})},
	Warn: func(obj, old runtime.Object) []string {
		had := map[string]bool{}
		if old != nil {
			for _, w := range definitionWarnings(old) {
				had[w] = true
			}
		}
		return slices.DeleteFunc(definitionWarnings(obj), func(w string) bool { return had[w] })
	},
}

// InOrder sorts refusals that upstream gives in the random order of its maps.
func InOrder(errs field.ErrorList) field.ErrorList {
	slices.SortStableFunc(errs, func(a, b *field.Error) int {
		return strings.Compare(a.Field+"\x00"+a.Error(), b.Field+"\x00"+b.Error())
	})
	return errs
}

// schemasInOrder sorts those of a definition that are next to one another and about
// schemas; only there upstream goes through maps.
func schemasInOrder(errs field.ErrorList) field.ErrorList {
	schema := func(e *field.Error) bool { return strings.Contains(e.Field, "openAPIV3Schema") }
	for from := 0; from < len(errs); from++ {
		to := from
		for to < len(errs) && schema(errs[to]) {
			to++
		}
		InOrder(errs[from:to])
		from = max(from, to-1)
	}
	return errs
}

// definitionWarnings are of formats that nobody checks and sets that cannot be
// merged (WarningsOnCreate).
func definitionWarnings(obj runtime.Object) []string {
	crd := Internal[apiextensions.CustomResourceDefinition](obj)
	found := map[string]bool{}
	look := func(s *apiextensions.JSONSchemaProps) bool {
		if s.Format != "" {
			typed := &spec.Schema{SchemaProps: spec.SchemaProps{Format: s.Format, Type: []string{s.Type}}}
			for _, f := range apiservervalidation.GetUnrecognizedFormats(typed, environment.DefaultCompatibilityVersion()) {
				found[fmt.Sprintf("unrecognized format %q", f)] = true
			}
		}
		if s.XListType != nil && *s.XListType == "set" && s.Items != nil && s.Items.Schema != nil && (s.Items.Schema.Type == "object" || s.Items.Schema.Type == "array") {
			found[fmt.Sprintf("x-kubernetes-list-type: set for items of type %q is not supported by server-side apply or CEL validation rules", s.Items.Schema.Type)] = true
		}
		return false // go on
	}
	if v := crd.Spec.Validation; v != nil && v.OpenAPIV3Schema != nil {
		crdvalidation.SchemaHas(v.OpenAPIV3Schema, look)
	}
	for _, v := range crd.Spec.Versions {
		if v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			crdvalidation.SchemaHas(v.Schema.OpenAPIV3Schema, look)
		}
	}
	return slices.Sorted(maps.Keys(found))
}
