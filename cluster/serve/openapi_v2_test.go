package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kviz/assets"
	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/serve"
)

// aggregates is an API server behind which others have told these documents.
type aggregates struct {
	*apiserver.Server
	told told
}

func (a *aggregates) Aggregated() aggregator.Aggregated {
	a.told.Aggregated = a.Server.Aggregated()
	return &a.told
}

// told are documents that others have told, beside what they serve.
type told struct {
	aggregator.Aggregated
	docs []aggregator.OpenAPIv2Document
}

func (o *told) OpenAPIv2() []aggregator.OpenAPIv2Document { return o.docs }

// What other servers tell is in the OpenAPI v2 document in both its forms: a definition
// that is another than Kubernetes' of the same name gets another name, and the one that
// is the same is there once. The document has an ETag, another one when the content has
// changed, and the same when it is as before.
func TestOpenAPIv2OfOthers(t *testing.T) {
	e := newEdge(t)
	api := &aggregates{Server: e.server}
	e.h = serve.New(serve.Config{Kernel: e.kernel, API: func() serve.API { return api }, Documents: assets.Documents()})
	tell := func(docs ...aggregator.OpenAPIv2Document) {
		_ = e.kernel.Do(func() { api.told.docs = docs })
	}
	read := func(accept string) (body []byte, etag string) {
		t.Helper()
		resp := e.do(t, "GET", "/openapi/v2", "", "Accept", accept)
		body, err := io.ReadAll(resp.Body)
		etag = resp.Header.Get("ETag")
		if err != nil || resp.StatusCode != http.StatusOK || len(etag) < 10 || resp.Header.Get("Vary") != "Accept" {
			t.Fatalf("%d %v %v", resp.StatusCode, resp.Header, err)
		}
		if again := e.do(t, "GET", "/openapi/v2", "", "Accept", accept, "If-None-Match", etag); again.StatusCode != http.StatusNotModified {
			t.Errorf("with its own ETag: %d", again.StatusCode)
		}
		return body, etag
	}
	const asJSON, asProto = "application/json", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	own, ownTag := read(asJSON)

	var doc spec.Swagger
	if err := json.Unmarshal(own, &doc); err != nil {
		t.Fatal(err)
	}
	const meta, secret, hat = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "io.k8s.api.core.v1.Secret", "com.example.Hat"
	other := spec.StringProperty() // nothing like a Secret
	kind := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Properties: map[string]spec.Schema{
		"metadata": *spec.RefSchema("#/definitions/" + meta), "inside": *spec.RefSchema("#/definitions/" + secret),
	}}}
	const path = "/apis/example.com/v1/hats"
	told := aggregator.OpenAPIv2Document{Hash: `"1"`, Spec: &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Paths:       &spec.Paths{Paths: map[string]spec.PathItem{path: {}}},
		Definitions: spec.Definitions{meta: doc.Definitions[meta], secret: *other, hat: kind},
	}}}
	tell(told)

	merged, tag := read(asJSON)
	if _, same := read(asProto); same != tag || tag == ownTag {
		t.Errorf("ETags: %s of Kubernetes' own, %s with more, %s of its other form", ownTag, tag, same)
	}
	var whole spec.Swagger
	if err := json.Unmarshal(merged, &whole); err != nil {
		t.Fatal(err)
	}
	if _, there := whole.Paths.Paths[path]; !there || len(whole.Paths.Paths) != len(doc.Paths.Paths)+1 {
		t.Errorf("%d paths of %d and one", len(whole.Paths.Paths), len(doc.Paths.Paths))
	}
	if n := len(whole.Definitions); n != len(doc.Definitions)+2 {
		t.Errorf("%d definitions of %d and two", n, len(doc.Definitions))
	}
	inside := whole.Definitions[hat].Properties["inside"]
	if to := inside.Ref.String(); to != "#/definitions/"+secret+"_v2" || !whole.Definitions[secret+"_v2"].Type.Contains("string") || !whole.Definitions[secret].Type.Contains("object") {
		t.Errorf("inside a hat is %s", to)
	}

	raw, _ := read(asProto)
	parsed := &openapi_v2.Document{}
	if err := proto.Unmarshal(raw, parsed); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range parsed.GetDefinitions().GetAdditionalProperties() {
		names = append(names, d.GetName())
	}
	slices.Sort(names)
	for _, name := range []string{meta, secret, secret + "_v2", hat} {
		if i, there := slices.BinarySearch(names, name); !there || i+1 < len(names) && names[i+1] == name {
			t.Errorf("as protobuf %s is there: %v, or twice", name, there)
		}
	}

	told.Hash = `"2"`
	tell()
	if _, gone := read(asJSON); gone != ownTag {
		t.Errorf("nobody tells anything any more, and the ETag is %s instead of %s", gone, ownTag)
	}
	told.Spec = &spec.Swagger{SwaggerProps: spec.SwaggerProps{Paths: told.Spec.Paths}}
	tell(told)
	if _, changed := read(asJSON); changed == ownTag || changed == tag {
		t.Errorf("another document has the ETag %s", changed)
	}
}
