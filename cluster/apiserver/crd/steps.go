package crd

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kviz/cluster/bound"
)

// HasRules reports whether the version has rules (x-kubernetes-validations): how long they take
// is not known before they run.
func (v *Version) HasRules() bool { return v.schema().ruled }

// Costly reports whether a definition has rules or patterns that take long to be read.
func Costly(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Schema != nil && anyOf(v.Schema.OpenAPIV3Schema, func(s *apiextensionsv1.JSONSchemaProps) bool {
			return len(s.XValidations) > 0 || strings.Contains(s.Pattern, "{")
		})
	})
}

func ruled(s *apiextensionsv1.JSONSchemaProps) bool { return len(s.XValidations) > 0 }

// anyOf reports whether something holds for a schema, or for one within it.
func anyOf(s *apiextensionsv1.JSONSchemaProps, holds func(*apiextensionsv1.JSONSchemaProps) bool) bool {
	switch {
	case s == nil:
		return false
	case holds(s), anyOf(s.Not, holds), s.Items != nil && anyOf(s.Items.Schema, holds), s.AdditionalProperties != nil && anyOf(s.AdditionalProperties.Schema, holds):
		return true
	}
	for _, p := range s.Properties {
		if anyOf(&p, holds) {
			return true
		}
	}
	in := func(s apiextensionsv1.JSONSchemaProps) bool { return anyOf(&s, holds) }
	return slices.ContainsFunc(s.AllOf, in) || slices.ContainsFunc(s.AnyOf, in) || slices.ContainsFunc(s.OneOf, in)
}

// Steps is how many steps the patterns of the version's schema take with an object, at most: for
// each text the instructions of the pattern's program times the bytes of the text. regexp does
// no more, and cannot be interrupted.
func (v *Version) Steps(u *unstructured.Unstructured) float64 {
	made := v.schema()
	if len(made.patterns) == 0 {
		return 0
	}
	return made.steps(made.structural, u.Object)
}

func (made *customSchema) steps(s *structuralschema.Structural, value any) (n float64) {
	if s == nil {
		return 0
	}
	n = made.stepsOf(s.ValueValidation, value)
	switch x := value.(type) {
	case map[string]any:
		for k, part := range x {
			if p, ok := s.Properties[k]; ok {
				n += made.steps(&p, part)
			} else if s.AdditionalProperties != nil {
				n += made.steps(s.AdditionalProperties.Structural, part)
			}
		}
	case []any:
		for _, part := range x {
			n += made.steps(s.Items, part)
		}
	}
	return n
}

func (made *customSchema) stepsOf(v *structuralschema.ValueValidation, value any) (n float64) {
	if v == nil {
		return 0
	}
	if text, ok := value.(string); ok {
		n = made.patterns[v.Pattern] * float64(len(text))
	}
	for _, all := range [][]structuralschema.NestedValueValidation{v.AllOf, v.AnyOf, v.OneOf} {
		for i := range all {
			n += made.stepsNested(&all[i], value)
		}
	}
	return n + made.stepsNested(v.Not, value)
}

func (made *customSchema) stepsNested(v *structuralschema.NestedValueValidation, value any) (n float64) {
	if v == nil {
		return 0
	}
	n = made.stepsOf(&v.ValueValidation, value)
	switch x := value.(type) {
	case map[string]any:
		for k, part := range x {
			if p, ok := v.Properties[k]; ok {
				n += made.stepsNested(&p, part)
			} else {
				n += made.stepsNested(v.AdditionalProperties, part)
			}
		}
	case []any:
		for _, part := range x {
			n += made.stepsNested(v.Items, part)
		}
	}
	return n
}

// patternsIn collects the patterns of a schema.
func patternsIn(s *apiextensionsv1.JSONSchemaProps, into map[string]float64) {
	anyOf(s, func(s *apiextensionsv1.JSONSchemaProps) bool {
		if _, ok := into[s.Pattern]; s.Pattern != "" && !ok {
			into[s.Pattern] = bound.Instructions(s.Pattern)
		}
		return false
	})
}
