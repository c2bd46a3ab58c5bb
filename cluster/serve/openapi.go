package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"kviz/cluster/apiserver/aggregator"
)

// openAPIv2Proto is what OpenAPI v2 is sent as. kubectl asks for it by an older
// name, with an @ that no media type may have (kube-openapi pkg/handler).
const openAPIv2Proto = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

// serveOpenAPI answers /openapi/v2 and /openapi/v3. The documents are
// Kubernetes' own; the v3 index lists those of group versions that are served.
func (h *Handler) serveOpenAPI(w http.ResponseWriter, r *http.Request, path string) {
	if h.docs.fs == nil {
		writePathNotFound(w)
		return
	}
	switch path {
	case "/openapi/v2":
		h.serveOpenAPIv2(w, r)
	case "/openapi/v3":
		h.serveOpenAPIIndex(w, r)
	default:
		h.serveOpenAPIv3(w, r, strings.TrimPrefix(path, "/openapi/v3/"))
	}
}

// openAPIIndex maps each path below /openapi/v3 to its document's hash.
func (h *Handler) openAPIIndex() (map[string]string, error) {
	b, err := fs.ReadFile(h.docs.fs, "openapi/index.json")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, fmt.Errorf("openapi/index.json: %w", err)
	}
	served := map[string]bool{"api": true, "apis": true, "version": true}
	for _, k := range h.resources() {
		if k.Group == "" {
			served["api/"+k.Version] = true
			continue
		}
		served["apis/"+k.Group] = true
		served["apis/"+k.Group+"/"+k.Version] = true
	}
	for path := range all {
		if !served[path] {
			delete(all, path)
		}
	}
	if err := h.addCustom(all); err != nil {
		return nil, err
	}
	for _, doc := range h.aggregatedDocs() {
		all[doc.Path] = doc.Hash
	}
	return all, nil
}

// aggregatedDocs are the documents of what other servers serve.
func (h *Handler) aggregatedDocs() (docs []aggregator.OpenAPIDocument) {
	h.cfg.Kernel.Do(func() {
		if api := h.cfg.API(); api != nil {
			docs = api.Aggregated().OpenAPI()
		}
	})
	return docs
}

func (h *Handler) serveOpenAPIIndex(w http.ResponseWriter, r *http.Request) {
	index, err := h.openAPIIndex()
	if err != nil {
		writeStatus(w, r, statusOf(err))
		return
	}
	type entry struct {
		ServerRelativeURL string `json:"serverRelativeURL"`
	}
	paths := map[string]entry{}
	for path, hash := range index {
		paths[path] = entry{"/openapi/v3/" + path + "?hash=" + url.QueryEscape(hash)}
	}
	writeDocument(w, r, "application/json", map[string]any{"paths": paths})
}

func (h *Handler) serveOpenAPIv3(w http.ResponseWriter, r *http.Request, path string) {
	index, err := h.openAPIIndex()
	if err != nil {
		writeStatus(w, r, statusOf(err))
		return
	}
	hash, ok := index[path]
	if !ok {
		writePathNotFound(w)
		return
	}
	if accept := r.Header.Get("Accept"); accept != "" && !strings.Contains(accept, "json") && !strings.Contains(accept, "*/*") {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	if asked := r.URL.Query().Get("hash"); asked != "" && asked != hash { // kube-openapi pkg/handler3 HandleGroupVersion
		http.Redirect(w, r, "/openapi/v3/"+path+"?hash="+url.QueryEscape(hash), http.StatusMovedPermanently)
		return
	}
	for _, doc := range h.aggregatedDocs() {
		if doc.Path == path {
			writeHashed(w, r, doc.Body, hash)
			return
		}
	}
	if doc := h.custom(path); doc != nil {
		writeHashed(w, r, doc, hash)
		return
	}
	h.writeCompressed(w, r, "openapi/v3/"+strings.ReplaceAll(path, "/", "__")+".json.zst", "application/json", hash)
}

// unchanged names the document by its hash, and answers who has it that it has not
// changed.
func unchanged(w http.ResponseWriter, r *http.Request, hash string) bool {
	etag := strconv.Quote(hash)
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") != etag {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// writeCompressed unpacks an embedded document straight into the response.
func (h *Handler) writeCompressed(w http.ResponseWriter, r *http.Request, file, contentType, hash string) {
	if hash != "" && unchanged(w, r, hash) {
		return
	}
	b, err := fs.ReadFile(h.docs.fs, file)
	if err != nil {
		writeStatus(w, r, statusOf(err))
		return
	}
	dec, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1))
	if err != nil {
		writeStatus(w, r, statusOf(err))
		return
	}
	defer dec.Close()
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	_, _ = io.Copy(w, dec)
}
