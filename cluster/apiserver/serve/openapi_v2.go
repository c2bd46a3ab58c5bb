package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"kviz/cluster/apiserver"
)

// The OpenAPI v2 document is one for everything that is served: Kubernetes' own, to
// which custom kinds add their paths and definitions. What both have stays
// Kubernetes' (builder.MergeSpecs).

// customV2 is what the custom kinds add, made when somebody asks and again when a
// definition has changed.
type customV2 struct {
	kinds []*apiserver.Kind
	json  []byte // the whole document
	proto []byte // what comes behind the whole of Kubernetes' own
}

func (h *Handler) serveOpenAPIv2(w http.ResponseWriter, r *http.Request) {
	asProto := false
	if accept := r.Header.Get("Accept"); strings.Contains(accept, "proto-openapi.spec.v2") {
		asProto = true
	} else if accept != "" && !strings.Contains(accept, "json") && !strings.Contains(accept, "*/*") {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	doc, err := h.customV2()
	switch {
	case err != nil:
		writeStatus(w, r, statusOf(err))
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

// customV2 is what the custom kinds add now; nil if there are none.
func (h *Handler) customV2() (*customV2, error) {
	var kinds []*apiserver.Kind
	for _, k := range h.resources() {
		if k.Custom() {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		return nil, nil
	}
	h.customDocs.mu.Lock()
	defer h.customDocs.mu.Unlock()
	if doc := h.customDocs.v2; doc != nil && sameKinds(doc.kinds, kinds) {
		return doc, nil
	}
	doc, err := h.mergeV2(kinds)
	if err != nil {
		return nil, fmt.Errorf("the OpenAPI v2 document of custom kinds: %w", err)
	}
	h.customDocs.v2 = doc
	return doc, nil
}

// mergeV2 adds the kinds to Kubernetes' own document.
func (h *Handler) mergeV2(kinds []*apiserver.Kind) (*customV2, error) {
	own, err := h.unpack("openapi/swagger.json.zst")
	if err != nil {
		return nil, err
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(own, &whole); err != nil {
		return nil, err
	}
	swagger, err := apiserver.OpenAPIv2(kinds)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(swagger)
	if err != nil {
		return nil, err
	}
	var more map[string]json.RawMessage
	if err := json.Unmarshal(b, &more); err != nil {
		return nil, err
	}
	added := map[string]any{"swagger": "2.0", "info": map[string]string{"title": "Kubernetes", "version": "custom"}}
	for _, part := range []string{"paths", "definitions", "parameters"} {
		fresh, all, err := merge(whole[part], more[part])
		if err != nil {
			return nil, err
		}
		if len(fresh) > 0 {
			added[part] = fresh
		}
		if whole[part], err = json.Marshal(all); err != nil {
			return nil, err
		}
	}
	doc := &customV2{kinds: kinds}
	if doc.json, err = json.Marshal(whole); err != nil {
		return nil, err
	}
	doc.proto, err = protoOf(added)
	return doc, err
}

// merge adds to a part of the document what it does not have.
func merge(own, more json.RawMessage) (fresh, all map[string]json.RawMessage, err error) {
	all, found := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for _, p := range []struct {
		from json.RawMessage
		into *map[string]json.RawMessage
	}{{own, &all}, {more, &found}} {
		if len(p.from) == 0 {
			continue
		}
		if err := json.Unmarshal(p.from, p.into); err != nil {
			return nil, nil, err
		}
	}
	fresh = map[string]json.RawMessage{}
	for name, value := range found {
		if _, has := all[name]; !has {
			fresh[name], all[name] = value, value
		}
	}
	return fresh, all, nil
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
