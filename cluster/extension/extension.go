// Package extension is what the programs behind aggregated APIs have in common: each is an
// API server that stores nothing, answers what the cluster's API server sends on to it, and asks that
// one back whether the user who is named may do it.
//
// In Kubernetes it is k8s.io/apiserver, which metrics-server and the metrics adapter are
// built on. Simplified: there is one SubjectAccessReview for each request, where upstream
// remembers the answer for ten seconds.
//
// Start reading at [Authorize].
package extension

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/remote"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "metrics-server and the metrics adapter ask with a SubjectAccessReview for each request whether the user may send it, and remember no answer",
})

// ReviewLimits are how fast SubjectAccessReviews may be sent (apiserver
// pkg/server/options/authorization.go getClient); other clients have client-go's limit.
var ReviewLimits = throttle.Limits{QPS: 200, Burst: 400}

// Authorize asks the API server whether the user whom it names may do this: an aggregated
// API decides for itself, and by default it delegates (apiserver pkg/server/options/authorization.go
// DelegatingAuthorizationOptions). The members of system:masters are asked of nobody. a is nil for a path
// that is no resource's.
func Authorize(t *sim.Task, reviews client.Interface, r *remote.Request, a *authorizationv1.ResourceAttributes) error {
	user, groups := r.Header.Get("X-Remote-User"), r.Header.Values("X-Remote-Group")
	if slices.Contains(groups, "system:masters") {
		return nil
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groups, ResourceAttributes: a}}
	verb := strings.ToLower(r.Method)
	if a == nil {
		review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: r.Path, Verb: verb}
	}
	answer, err := client.Create(t, reviews, client.SubjectAccessReviews, "", review)
	switch {
	case err != nil:
		return apierrors.NewInternalError(err)
	case answer.Status.Allowed:
		return nil
	case a == nil:
		return apierrors.NewForbidden(schema.GroupResource{}, "", fmt.Errorf("User %q cannot %s path %q", user, verb, r.Path)) //nolint:staticcheck // upstream's words
	}
	where, resource := "at the cluster scope", a.Resource
	if a.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", a.Namespace)
	}
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: a.Group, Resource: resource}, a.Name,
		fmt.Errorf("User %q cannot %s resource %q in API group %q %s", user, a.Verb, resource, a.Group, where)) //nolint:staticcheck // upstream's words
}

// Document is an answer with an object.
func Document(v any) remote.Answer {
	b, err := json.Marshal(v)
	if err != nil {
		panic("extension: " + err.Error()) // plain data
	}
	return remote.Answer{Code: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: append(b, '\n')}
}

// Failed is an error as an answer.
func Failed(err error) remote.Answer {
	status := apierrors.APIStatus(nil)
	if st, ok := err.(apierrors.APIStatus); ok {
		status = st
	} else {
		status = apierrors.NewInternalError(err)
	}
	st := status.Status()
	st.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	a := Document(&st)
	a.Code = int(st.Code)
	return a
}

// NoPage is the answer for a path that there is not.
func NoPage() remote.Answer {
	return remote.Answer{Code: http.StatusNotFound, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("404 page not found\n")}
}

// Part is the nth part of a path, "" where there is none.
func Part(parts []string, n int) string {
	if n < len(parts) {
		return parts[n]
	}
	return ""
}

// Below are the parts of a path below another.
func Below(path, root string) []string {
	rest := strings.Trim(strings.TrimPrefix(path, root), "/")
	if rest == "" {
		return nil
	}
	return strings.Split(rest, "/")
}
