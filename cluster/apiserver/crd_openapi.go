package apiserver

import (
	"encoding/json"

	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/kube-openapi/pkg/spec3"
)

// OpenAPI gives the OpenAPI v3 document of custom kinds of one group version, as
// JSON (apiextensions-apiserver pkg/controller/openapiv3). What it refers to, the
// metadata for one, comes along. Safe for concurrent use.
func OpenAPI(kinds []*Kind) ([]byte, error) {
	var docs []*spec3.OpenAPI
	for _, k := range kinds {
		doc, err := builder.BuildOpenAPIV3(k.custom.of.born, k.Version, builder.Options{IncludeSelectableFields: true})
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
