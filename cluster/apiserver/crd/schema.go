package crd

import (
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// customSchema is what one version's schema is made into: apiextensions' own
// structures, for pruning, defaults, validation and rules.
type customSchema struct {
	structural *structuralschema.Structural // nil if the version has no schema
	whole      apiservervalidation.SchemaValidator
	status     apiservervalidation.SchemaValidator // of the part status; nil if that has no schema
	rules      func() *schemacel.Validator         // x-kubernetes-validations, compiled on first use; nil if there are none
	ruled      bool                                // there are some
	scale      *apiextensions.CustomResourceSubresourceScale
	patterns   map[string]float64 // those of the schema, and how many instructions each has
}

// schema is made on first use, beside the kernel by a request of a big kind. Its rules are only
// compiled by the first validation, which is beside the kernel where there are any: that takes
// some milliseconds, or seconds.
func (v *Version) schema() *customSchema {
	v.making.Do(func() {
		made, err := makeSchema(v.of.born, v.spec)
		if err != nil { // validation has seen to it that this cannot be
			panic(fmt.Sprintf("apiserver: the schema of %s, version %s: %v", v.of.born.Name, v.spec.Name, err))
		}
		v.made = made
	})
	return v.made
}

// makeSchema mirrors the parts of customresource_handler.go
// getOrCreateServingInfoFor that have to do with schemas.
func makeSchema(crd *apiextensionsv1.CustomResourceDefinition, v *apiextensionsv1.CustomResourceDefinitionVersion) (*customSchema, error) {
	made := &customSchema{patterns: map[string]float64{}}
	var props *apiextensions.JSONSchemaProps
	if v.Schema != nil {
		in := &apiextensions.CustomResourceValidation{}
		if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema, in, nil); err != nil {
			return nil, err
		}
		props = in.OpenAPIV3Schema
		patternsIn(v.Schema.OpenAPIV3Schema, made.patterns)
		made.ruled = anyOf(v.Schema.OpenAPIV3Schema, ruled)
		s, err := structuralschema.NewStructural(props)
		if err != nil && !crd.Spec.PreserveUnknownFields {
			return nil, err
		}
		if !crd.Spec.PreserveUnknownFields {
			s = s.DeepCopy()
			if err := structuraldefaulting.PruneDefaults(s); err != nil {
				return nil, err
			}
		}
		made.structural = s
	}
	var err error
	if made.whole, _, err = apiservervalidation.NewSchemaValidator(props); err != nil {
		return nil, err
	}
	sub := v.Subresources
	if sub != nil && sub.Status != nil && props != nil {
		if status, ok := props.Properties["status"]; ok {
			if made.status, _, err = apiservervalidation.NewSchemaValidator(&status); err != nil {
				return nil, err
			}
		}
	}
	if sub != nil && sub.Scale != nil {
		made.scale = &apiextensions.CustomResourceSubresourceScale{}
		if err := apiextensionsv1.Convert_v1_CustomResourceSubresourceScale_To_apiextensions_CustomResourceSubresourceScale(sub.Scale, made.scale, nil); err != nil {
			return nil, err
		}
	}
	made.rules = sync.OnceValue(func() *schemacel.Validator {
		return schemacel.NewValidator(made.structural, true, celconfig.PerCallLimit)
	})
	return made, nil
}
