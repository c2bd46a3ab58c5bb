package serve

import (
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/registry"
)

// customDocs are the OpenAPI v3 documents of custom kinds, by path below
// /openapi/v3. They are made when somebody asks for OpenAPI, and again when a
// definition has changed: its kinds are new ones then.
type customDocs struct {
	mu    sync.Mutex
	docs  map[string]*customDoc
	v2    *mergedV2
	ownV2 string // the hash of Kubernetes' own OpenAPI v2 document, once somebody asked for it
}

type customDoc struct {
	kinds []*registry.Kind
	body  []byte
	hash  string
}

// addCustom enters the documents of what is served now into an index.
func (h *Handler) addCustom(index map[string]string) error {
	byPath := map[string][]*registry.Kind{}
	for _, k := range h.resources() {
		if k.Custom != nil {
			path := "apis/" + k.Group + "/" + k.Version
			byPath[path] = append(byPath[path], k)
		}
	}
	h.customDocs.mu.Lock()
	defer h.customDocs.mu.Unlock()
	for path := range h.customDocs.docs {
		if byPath[path] == nil {
			delete(h.customDocs.docs, path)
		}
	}
	for path, kinds := range byPath {
		doc := h.customDocs.docs[path]
		if doc == nil || !sameKinds(doc.kinds, kinds) {
			body, err := crd.OpenAPI(kinds)
			if err != nil {
				return fmt.Errorf("the OpenAPI document of %s: %w", path, err)
			}
			doc = &customDoc{kinds: kinds, body: body, hash: hashOf(body)}
			if h.customDocs.docs == nil {
				h.customDocs.docs = map[string]*customDoc{}
			}
			h.customDocs.docs[path] = doc
		}
		index[path] = doc.hash
	}
	return nil
}

// hashOf names a document (kube-openapi pkg/handler computeETag).
func hashOf(doc []byte) string {
	sum := sha512.Sum512(doc)
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

func sameKinds(a, b []*registry.Kind) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !crd.Same(a[i], b[i]) {
			return false
		}
	}
	return true
}

// custom is the document of a path if it is of custom kinds.
func (h *Handler) custom(path string) []byte {
	h.customDocs.mu.Lock()
	defer h.customDocs.mu.Unlock()
	if doc := h.customDocs.docs[path]; doc != nil {
		return doc.body
	}
	return nil
}

func writeHashed(w http.ResponseWriter, r *http.Request, body []byte, hash string) {
	if unchanged(w, r, hash) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body)
}
