package policystatus

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kviz/cluster/client"
)

// Checker finds out what is wrong with the types in a policy's expressions: upstream's own,
// over the schemas of the built-in kinds. It may be used beside the kernel, by one at a time.
type Checker struct {
	mu    sync.Mutex
	types func() *validating.TypeChecker // made for the first policy
}

// NewChecker makes one of the OpenAPI documents that the API server serves.
func NewChecker(documents fs.FS) *Checker {
	return &Checker{types: sync.OnceValue(func() *validating.TypeChecker { return typesOf(documents) })}
}

func typesOf(documents fs.FS) *validating.TypeChecker {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, r := range client.All() {
		scope := meta.RESTScopeRoot
		if r.Namespaced {
			scope = meta.RESTScopeNamespace
		}
		mapper.AddSpecific(r.GVK(), r.GroupVersionResource, r.GroupVersion().WithResource(strings.ToLower(r.Kind)), scope)
	}
	known := &schemas{from: resolver.ClientDiscoveryResolver{Discovery: served{docs: documents}}, known: map[schema.GroupVersionKind]*spec.Schema{}}
	return &validating.TypeChecker{SchemaResolver: known, RestMapper: mapper}
}

// Check gives the warnings of a policy.
func (c *Checker) Check(policy *admissionv1.ValidatingAdmissionPolicy) []admissionv1.ExpressionWarning {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.types().Check(policy)
}

// schemas are those that were looked up, so that each document is read once for each kind.
type schemas struct {
	from  resolver.ClientDiscoveryResolver
	known map[schema.GroupVersionKind]*spec.Schema
}

// ResolveSchema is [resolver.SchemaResolver].
func (s *schemas) ResolveSchema(gvk schema.GroupVersionKind) (*spec.Schema, error) {
	if is := s.known[gvk]; is != nil {
		return is, nil
	}
	is, err := s.from.ResolveSchema(gvk)
	if err == nil {
		s.known[gvk] = is
	}
	return is, err
}

// served are the documents as a client's discovery has them.
type served struct {
	discovery.DiscoveryInterface
	docs fs.FS
}

func (s served) OpenAPIV3() openapi.Client { return s }

// Paths is [openapi.Client].
func (s served) Paths() (map[string]openapi.GroupVersion, error) {
	paths := map[string]openapi.GroupVersion{}
	for _, r := range client.All() {
		path := "apis/" + r.Group + "/" + r.Version
		if r.Group == "" {
			path = "api/" + r.Version
		}
		paths[path] = document{s.docs, path}
	}
	return paths, nil
}

// document is that of a group version.
type document struct {
	docs fs.FS
	path string
}

// ServerRelativeURL is [openapi.GroupVersion].
func (d document) ServerRelativeURL() string { return "/openapi/v3/" + d.path }

// Schema is [openapi.GroupVersion].
func (d document) Schema(string) ([]byte, error) {
	f, err := d.docs.Open("openapi/v3/" + strings.ReplaceAll(d.path, "/", "__") + ".json.zst")
	if err != nil {
		return nil, fmt.Errorf("the OpenAPI document of %s: %w", d.path, err)
	}
	defer func() { _ = f.Close() }()
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("the OpenAPI document of %s: %w", d.path, err)
	}
	defer z.Close()
	return io.ReadAll(z)
}

// fieldsOf are the fields of which there are warnings, in order.
func fieldsOf(warnings []admissionv1.ExpressionWarning) []string {
	fields := map[string]bool{}
	for _, w := range warnings {
		fields[w.FieldRef] = true
	}
	return slices.Sorted(maps.Keys(fields))
}
