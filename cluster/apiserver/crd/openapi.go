package crd

import (
	"encoding/json"

	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/openapi"
)

// OpenAPI gives the OpenAPI v3 document of custom kinds of one group version, as
// JSON (apiextensions-apiserver pkg/controller/openapiv3). What it refers to, the
// metadata for one, comes along. Safe for concurrent use.
func OpenAPI(kinds []*registry.Kind) ([]byte, error) {
	var docs []*spec3.OpenAPI
	for _, k := range kinds {
		doc, err := builder.BuildOpenAPIV3(Of(k).of.born, k.Version, builder.Options{IncludeSelectableFields: true})
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	merged, err := builder.MergeSpecsV3(docs...)
	if err != nil {
		return nil, err
	}
	return json.Marshal(merged)
}

// OpenAPIv2 gives what custom kinds add to the OpenAPI v2 document, with all that they
// refer to (apiextensions-apiserver pkg/controller/openapi). Safe for concurrent use.
func OpenAPIv2(kinds []*registry.Kind) (*spec.Swagger, error) {
	merged := &spec.Swagger{}
	for _, k := range kinds {
		doc, err := builder.BuildOpenAPIV2(Of(k).of.born, k.Version, builder.Options{V2: true, IncludeSelectableFields: true})
		if err != nil {
			return nil, err
		}
		doc.Definitions = openapi.WithoutDefaults(doc.Definitions)
		if merged, err = builder.MergeSpecs(merged, doc); err != nil {
			return nil, err
		}
	}
	return merged, nil
}
