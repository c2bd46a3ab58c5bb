package apiserver

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

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

// openAPITimeout is how long a server has to tell its OpenAPI document
// (kube-aggregator pkg/controllers/openapiv3/aggregator/downloader.go specDownloadTimeout).
const openAPITimeout = time.Minute

// learnOpenAPI gets the document of the group version from a server that has just told
// what it serves: the index first, and the document when the hash there is another.
// One that cannot be had leaves what is known. Upstream reads the index alone and sends
// who asks for the document on to the server (aggregator.go handleGroupVersion).
func (a *aggregator) learnOpenAPI(t *sim.Task, svc *apiregistration.APIService, b *backend, e backendAddress) {
	deadline := t.Elapsed() + openAPITimeout
	get := func(path string, query url.Values) ([]byte, bool) {
		header := asUser(aggregatorUser)
		header.Set("Accept", "application/json")
		answer, failed := a.send(t, e, &remote.Request{Method: http.MethodGet, Path: path, Query: query, Header: header}, deadline)
		return answer.Body, failed == nil && answer.Code == http.StatusOK
	}
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
	if err != nil || at.Path == "" || b.openAPI.Hash == at.Query().Get("hash") {
		return
	}
	if doc, ok := get(at.Path, at.Query()); ok {
		b.openAPI = OpenAPIDocument{Path: path, Hash: at.Query().Get("hash"), Body: doc}
	}
}

// AggregatedOpenAPI are the OpenAPI v3 documents of what other servers serve, where they
// told one.
func (s *Server) AggregatedOpenAPI() (docs []OpenAPIDocument) {
	s.aggregator.eachRemote(func(svc *apiregistration.APIService) {
		if b := s.aggregator.backends[svc.Name]; b.known && b.openAPI.Hash != "" {
			docs = append(docs, b.openAPI)
		}
	})
	return docs
}
