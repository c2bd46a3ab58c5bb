package authz

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Forbidden is 403 in the words of apiserver
// pkg/endpoints/handlers/responsewriters/errors.go.
func Forbidden(a Attributes, d Decision) error {
	what := a.Resource
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	msg := fmt.Sprintf("User %q cannot %s resource %q in API group %q ", a.User.Name, a.Verb, what, a.Group)
	switch {
	case a.Resource == "":
		msg = fmt.Sprintf("User %q cannot %s path %q", a.User.Name, a.Verb, a.Path)
	case a.Namespace != "":
		msg += fmt.Sprintf("in the namespace %q", a.Namespace)
	default:
		msg += "at the cluster scope"
	}
	msg = noHTML.Replace(msg)
	if d.Why != "" {
		msg += ": " + d.Why
	}
	return apierrors.NewForbidden(a.GroupResource(), a.Name, errors.New(msg))
}

// noHTML keeps what a client chose from looking like a web page.
var noHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Undecided is what a client hears if an authorizer failed and none allowed it
// (responsewriters InternalError).
func Undecided(uri string, err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Message: noHTML.Replace(fmt.Sprintf("Internal Server Error: %q: %v", uri, err)),
	}}
}
