package client

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/sim"
)

// AggregatedRead is a question to an API that another server serves, behind an APIService: what
// upstream's components ask with a REST client of that API's own, as for metrics.k8s.io.
type AggregatedRead struct {
	Resource                     schema.GroupVersionResource
	Namespace, Name, Subresource string // Name is "" for a list, "*" where the API means all by it
	Query                        url.Values
}

// Verb is what the API server asks its authorizers for.
func (r *AggregatedRead) Verb() string {
	if r.Name == "" {
		return "list"
	}
	return "get"
}

// Path is where the API server finds it.
func (r *AggregatedRead) Path() string {
	parts := []string{"/apis", r.Resource.Group, r.Resource.Version}
	if r.Namespace != "" {
		parts = append(parts, "namespaces", r.Namespace)
	}
	for _, p := range []string{r.Resource.Resource, r.Name, r.Subresource} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "/")
}

// Aggregation is a connection that can read what other servers serve.
type Aggregation interface {
	// GetAggregated gives the HTTP status and the body that the other server has answered.
	// An error is of the API server itself, or of the way there.
	GetAggregated(t *sim.Task, r AggregatedRead) (code int, body []byte, err error)
}

// Aggregates reports whether another server serves a group version, or has been said to: what
// discovery would tell.
func Aggregates(c Interface, gv schema.GroupVersion) bool {
	d, ok := As[Discovery](c)
	return ok && d.Aggregates(gv)
}

// ReadAggregated reads an answer in JSON. Its errors are those of client-go
// (rest/request.go transformResponse): the server's own, where it told one, or else one that
// names the HTTP status and what was asked for.
func ReadAggregated(t *sim.Task, c Interface, r AggregatedRead) ([]byte, error) {
	a, ok := As[Aggregation](c)
	if !ok {
		return nil, errors.New("this connection cannot read from other servers")
	}
	code, body, err := a.GetAggregated(t, r)
	if err != nil {
		if st := apierrors.APIStatus(nil); apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) && errors.As(err, &st) {
			return nil, r.unexpected(int(st.Status().Code), nil) // as of a path that is not served
		}
		return nil, err
	}
	if code >= http.StatusOK && code <= http.StatusPartialContent {
		return body, nil
	}
	var st metav1.Status
	if json.Unmarshal(body, &st) == nil && st.Kind == "Status" && st.Status != metav1.StatusSuccess {
		return nil, apierrors.FromObject(&st)
	}
	return nil, r.unexpected(code, body)
}

func (r *AggregatedRead) unexpected(code int, body []byte) error {
	message := "unknown"
	if len(body) > 0 {
		message = strings.TrimSpace(string(body))
	}
	return apierrors.NewGenericServerResponse(code, http.MethodGet, r.Resource.GroupResource(), r.Name, message, 0, true)
}
