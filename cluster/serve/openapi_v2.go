package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"
	openapiaggregator "k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kviz/cluster/apiserver/aggregator"
	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/registry"
)

// The OpenAPI v2 document is one for everything that is served: Kubernetes' own, to
// which custom kinds add their paths and definitions, and then the servers of
// aggregated APIs. What Kubernetes' own and custom kinds both have stays Kubernetes'
// (builder.MergeSpecs); a definition of another server that has the name of a different
// one gets another name (kube-openapi pkg/aggregator
// MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters).

// mergedV2 is the document with what is added to it, made when somebody asks and again
// when that has changed.
type mergedV2 struct {
	kinds []*registry.Kind
	docs  []aggregator.OpenAPIv2Document
	json  []byte // the whole document
	proto []byte // what comes behind the whole of Kubernetes' own
	hash  string
}

func (h *Handler) serveOpenAPIv2(w http.ResponseWriter, r *http.Request) {
	asProto := false
	if accept := r.Header.Get("Accept"); strings.Contains(accept, "proto-openapi.spec.v2") {
		asProto = true
	} else if accept != "" && !strings.Contains(accept, "json") && !strings.Contains(accept, "*/*") {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	doc, hash, err := h.mergedV2()
	if err != nil {
		writeStatus(w, r, statusOf(err))
		return
	}
	w.Header().Add("Vary", "Accept") // so that both forms can have the same ETag
	if unchanged(w, r, hash) {
		return
	}
	switch {
	case asProto:
		h.writeCompressed(w, r, "openapi/swagger.pb.zst", openAPIv2Proto, "")
		if doc != nil {
			_, _ = w.Write(doc.proto) // messages that follow one another are one message, their lists joined
		}
	case doc != nil:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(doc.json)
	default:
		h.writeCompressed(w, r, "openapi/swagger.json.zst", "application/json", "")
	}
}

// mergedV2 is the document as it is now, with its hash; nil if it is Kubernetes' own.
func (h *Handler) mergedV2() (*mergedV2, string, error) {
	var kinds []*registry.Kind
	for _, k := range h.resources() {
		if k.Custom != nil {
			kinds = append(kinds, k)
		}
	}
	var docs []aggregator.OpenAPIv2Document
	h.cfg.Kernel.Do(func() {
		if api := h.cfg.API(); api != nil {
			docs = api.Aggregated().OpenAPIv2()
		}
	})
	h.customDocs.mu.Lock()
	defer h.customDocs.mu.Unlock()
	if len(kinds) == 0 && len(docs) == 0 {
		if h.customDocs.ownV2 == "" {
			b, err := fs.ReadFile(h.docs.fs, "openapi/swagger.json.zst")
			if err != nil {
				return nil, "", err
			}
			h.customDocs.ownV2 = hashOf(b) // as good as that of what is in it
		}
		return nil, h.customDocs.ownV2, nil
	}
	if doc := h.customDocs.v2; doc != nil && sameKinds(doc.kinds, kinds) && slices.Equal(doc.docs, docs) {
		return doc, doc.hash, nil
	}
	doc, err := h.mergeV2(kinds, docs)
	if err != nil {
		return nil, "", fmt.Errorf("the OpenAPI v2 document of what others define: %w", err)
	}
	h.customDocs.v2 = doc
	return doc, doc.hash, nil
}

// mergeV2 adds the kinds and the documents to Kubernetes' own document.
func (h *Handler) mergeV2(kinds []*registry.Kind, docs []aggregator.OpenAPIv2Document) (*mergedV2, error) {
	own, err := h.unpack("openapi/swagger.json.zst")
	if err != nil {
		return nil, err
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(own, &whole); err != nil {
		return nil, err
	}
	parts := map[string]*part{}
	for _, name := range []string{"paths", "definitions", "parameters"} {
		p := &part{all: map[string]json.RawMessage{}, fresh: map[string]json.RawMessage{}}
		if raw := whole[name]; len(raw) > 0 {
			if err := json.Unmarshal(raw, &p.all); err != nil {
				return nil, err
			}
		}
		parts[name] = p
	}
	add := func(more *spec.Swagger) error {
		b, err := json.Marshal(more)
		if err != nil {
			return err
		}
		var found map[string]json.RawMessage
		if err := json.Unmarshal(b, &found); err != nil {
			return err
		}
		for name, p := range parts {
			if err := p.add(found[name]); err != nil {
				return err
			}
		}
		return nil
	}
	swagger, err := crd.OpenAPIv2(kinds)
	if err != nil {
		return nil, err
	}
	if err := add(swagger); err != nil {
		return nil, err
	}
	for _, doc := range docs {
		renamed, err := withoutConflicts(doc.Spec, parts)
		if err != nil {
			return nil, err
		}
		if err := add(renamed); err != nil {
			return nil, err
		}
	}
	added := map[string]any{"swagger": "2.0", "info": map[string]string{"title": "Kubernetes", "version": "custom"}}
	for name, p := range parts {
		if len(p.fresh) > 0 {
			added[name] = p.fresh
		}
		if whole[name], err = json.Marshal(p.all); err != nil {
			return nil, err
		}
	}
	doc := &mergedV2{kinds: kinds, docs: docs}
	if doc.json, err = json.Marshal(whole); err != nil {
		return nil, err
	}
	doc.hash = hashOf(doc.json)
	doc.proto, err = protoOf(added)
	return doc, err
}

// part is a part of the document, by path or by the name of a definition.
type part struct {
	all   map[string]json.RawMessage
	fresh map[string]json.RawMessage // what is not in Kubernetes' own
}

// add adds what is not there.
func (p *part) add(more json.RawMessage) error {
	found := map[string]json.RawMessage{}
	if len(more) > 0 {
		if err := json.Unmarshal(more, &found); err != nil {
			return err
		}
	}
	for name, value := range found {
		if _, has := p.all[name]; !has {
			p.fresh[name], p.all[name] = value, value
		}
	}
	return nil
}

// withoutConflicts gives a document with other names for those definitions and
// parameters whose names stand for something else in the parts. Upstream also notes at
// a definition that both have the kinds that only the other server uses it for.
func withoutConflicts(doc *spec.Swagger, parts map[string]*part) (*spec.Swagger, error) {
	same := &spec.Swagger{SwaggerProps: spec.SwaggerProps{Paths: &spec.Paths{}, Definitions: spec.Definitions{}, Parameters: map[string]spec.Parameter{}}}
	for name := range doc.Definitions {
		if raw, has := parts["definitions"].all[name]; has {
			var s spec.Schema
			if err := json.Unmarshal(raw, &s); err != nil {
				return nil, err
			}
			same.Definitions[name] = s
		}
	}
	for name := range doc.Parameters {
		if raw, has := parts["parameters"].all[name]; has {
			var p spec.Parameter
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, err
			}
			same.Parameters[name] = p
		}
	}
	return same, openapiaggregator.MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters(same, doc)
}

// protoOf is a part of a document in the form that kubectl reads.
func protoOf(doc map[string]any) ([]byte, error) {
	b, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	parsed, err := openapi_v2.ParseDocument(b)
	if err != nil {
		return nil, err
	}
	parsed.Swagger, parsed.Info = "", nil
	return proto.MarshalOptions{Deterministic: true}.Marshal(parsed)
}

// unpack is an embedded document.
func (h *Handler) unpack(file string) ([]byte, error) {
	b, err := fs.ReadFile(h.docs.fs, file)
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	return io.ReadAll(dec)
}
