package crd

import (
	"fmt"

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
	rules      *schemacel.Validator                // x-kubernetes-validations, compiled; nil if there are none
	scale      *apiextensions.CustomResourceSubresourceScale
}

// schema is made on first use: compiling the rules takes some milliseconds, or seconds,
// and so is begun beside the kernel by a request of a big kind.
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
	made := &customSchema{}
	var props *apiextensions.JSONSchemaProps
	if v.Schema != nil {
		in := &apiextensions.CustomResourceValidation{}
		if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema, in, nil); err != nil {
			return nil, err
		}
		props = in.OpenAPIV3Schema
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
	made.rules = schemacel.NewValidator(made.structural, true, celconfig.PerCallLimit)
	return made, nil
}
