// Package openapi has what all who serve OpenAPI documents share: the API server and
// the programs behind it.
//
// Kubernetes has it in its builders (k8s.io/kube-openapi), where it is an option. Start
// reading at [WithoutDefaults].
package openapi

import (
	"k8s.io/kube-openapi/pkg/schemamutation"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// WithoutDefaults gives definitions as an OpenAPI v2 document has them, with no
// defaults; its argument stays as it is. It is kube-openapi pkg/handler PruneDefaults
// (that package itself would bring a module along).
func WithoutDefaults(definitions spec.Definitions) spec.Definitions {
	walker := schemamutation.Walker{
		SchemaCallback: func(s *spec.Schema) *spec.Schema {
			if s.Default == nil {
				return s
			}
			out := *s
			out.Default = nil
			return &out
		},
		RefCallback: schemamutation.RefCallbackNoop,
	}
	out := spec.Definitions{}
	for name, s := range definitions {
		out[name] = *walker.WalkSchema(&s)
	}
	return out
}
