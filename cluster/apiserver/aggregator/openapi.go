package aggregator

import (
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	openapiaggregator "k8s.io/kube-openapi/pkg/aggregator"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"kviz/cluster/remote"
	"kviz/cluster/sim"
)

// OpenAPIDocument is the OpenAPI v3 document of a group version that another server
// serves, and its name below /openapi/v3.
type OpenAPIDocument struct {
	Path string
	Hash string
	Body []byte
}

// OpenAPIv2Document is what another server adds to the OpenAPI v2 document: of its own
// document what is of the group version of its APIService. It must not be modified.
type OpenAPIv2Document struct {
	Hash string // the ETag of its own document
	Spec *spec.Swagger
}

// openAPITimeout is how long a server has to tell its OpenAPI document
// (kube-aggregator pkg/controllers/openapiv3/aggregator/downloader.go specDownloadTimeout).
const openAPITimeout = time.Minute

// learnOpenAPI gets the documents from a server that has just told what it serves. One
// that cannot be had leaves what is known, and so does a server that is down, until the
// APIService is deleted (kube-openapi pkg/cached LastSuccess).
func (a *Aggregator) learnOpenAPI(t *sim.Task, svc *apiregistration.APIService, b *backend, e string) {
	deadline := t.Elapsed() + openAPITimeout
	get := func(path string, query url.Values, have string) remote.Answer {
		header := asUser(aggregatorUser)
		header.Set("Accept", "application/json")
		if have != "" {
			header.Set("If-None-Match", have)
		}
		answer, failed := a.send(t, e, &remote.Request{Method: http.MethodGet, Path: path, Query: query, Header: header}, deadline)
		if failed != nil {
			return remote.Answer{}
		}
		return answer
	}
	b.openAPI.learn(svc, func(path string, query url.Values) ([]byte, bool) {
		answer := get(path, query, "")
		return answer.Body, answer.Code == http.StatusOK
	})
	b.openAPIv2.learn(svc, func(have string) remote.Answer { return get("/openapi/v2", nil, have) })
}

// learn gets the document of the group version: the index first, and the document if
// its hash there has changed. Upstream reads only the index and forwards requests for
// the document to the server (aggregator.go handleGroupVersion).
func (d *OpenAPIDocument) learn(svc *apiregistration.APIService, get func(path string, query url.Values) ([]byte, bool)) {
	body, ok := get("/openapi/v3", nil)
	if !ok {
		return
	}
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	path := "apis/" + svc.Spec.Group + "/" + svc.Spec.Version
	if json.Unmarshal(body, &index) != nil {
		return
	}
	at, err := url.Parse(index.Paths[path].ServerRelativeURL)
	if err != nil || at.Path == "" || d.Hash == at.Query().Get("hash") {
		return
	}
	if doc, ok := get(at.Path, at.Query()); ok {
		*d = OpenAPIDocument{Path: path, Hash: at.Query().Get("hash"), Body: doc}
	}
}

// learn gets the document if it has changed, and keeps the part that belongs to the
// group version (kube-aggregator pkg/controllers/openapi/aggregator
// updateServiceLocked).
func (d *OpenAPIv2Document) learn(svc *apiregistration.APIService, get func(have string) remote.Answer) {
	have := d.Hash
	if strings.HasPrefix(have, localETag) {
		have = ""
	}
	answer := get(have)
	if answer.Code != http.StatusOK {
		return
	}
	hash := answer.Header.Get("Etag")
	if hash == "" {
		sum := sha512.Sum512(answer.Body)
		hash = localETag + hex.EncodeToString(sum[:])
	}
	if hash == d.Hash {
		return
	}
	doc := &spec.Swagger{}
	if doc.UnmarshalJSON(answer.Body) != nil {
		return
	}
	prefix := "/apis/" + svc.Spec.Group + "/" + svc.Spec.Version + "/"
	*d = OpenAPIv2Document{Hash: hash, Spec: openapiaggregator.FilterSpecByPathsWithoutSideEffects(doc, []string{prefix})}
}

// localETag begins the hash of a document whose server names none (downloader.go
// locallyGeneratedEtagPrefix).
const localETag = "local "

// OpenAPI are the OpenAPI v3 documents of what other servers serve, where they
// told one.
func (a *Aggregator) OpenAPI() (docs []OpenAPIDocument) {
	a.eachRemote(func(svc *apiregistration.APIService) {
		if b := a.backends[svc.Name]; b.known && b.openAPI.Hash != "" {
			docs = append(docs, b.openAPI)
		}
	})
	return docs
}

// OpenAPIv2 is what other servers add to the OpenAPI v2 document, where they
// told something.
func (a *Aggregator) OpenAPIv2() (docs []OpenAPIv2Document) {
	a.eachRemote(func(svc *apiregistration.APIService) {
		if b := a.backends[svc.Name]; b.openAPIv2.Spec != nil {
			docs = append(docs, b.openAPIv2)
		}
	})
	return docs
}
