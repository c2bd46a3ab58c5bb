package apiserver

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// authorize decides whether the user may do this (apiserver
// pkg/endpoints/filters/authorization.go; the Node authorizer, then RBAC).
func authorize(c *call) error {
	a := attributesOf(c.req, c.user)
	if c.kind != nil && !c.kind.Namespaced {
		a.Namespace = ""
	}
	if a.Name == "" { // as RequestInfo has it: a watch on one object is about that object
		a.Name = exactFields(c.req.List.FieldSelector)["metadata.name"]
	}
	d := authz.Decision{Allowed: true, Reason: "It is a part of a request that was allowed."}
	if !c.req.approved {
		d = c.decide(a)
	}
	c.auditAccess(d)
	st := c.NewStage()
	*st = trace.Stage{Request: c.Number, Stage: trace.StageAuthorization, By: d.By, Verdict: "pass", Note: d.Reason, Asked: d.Asked}
	if d.Allowed {
		c.Tell(st)
		return nil
	}
	err := forbidden(a, d)
	if d.Err != nil {
		err = undecided(c.req.uri(), d.Err)
	}
	status := request.StatusOf(err)
	st.Verdict, st.Note, st.Code = "refuse", status.Message, int(status.Code)
	c.Refused = trace.StageAuthorization
	c.Tell(st)
	return err
}

// decide asks the authorizers about something that the request needs.
func (c *call) decide(a authz.Attributes) authz.Decision { return decider{c.s}.Decide(&c.Scope, a) }

// undecided is what a client hears if an authorizer failed and none allowed it
// (responsewriters InternalError).
func undecided(uri string, err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Message: noHTML.Replace(fmt.Sprintf("Internal Server Error: %q: %v", uri, err)),
	}}
}

// attributesOf are what a user must be allowed to do, to be answered a request.
func attributesOf(r *Request, u authn.User) authz.Attributes {
	if r.Proxied != nil && r.Resource.Resource == "" {
		return authz.Attributes{User: u, Verb: r.Verb, Path: r.Proxied.Path}
	}
	return authz.Attributes{
		User: u, Verb: r.Verb, Group: r.Resource.Group, Version: r.Resource.Version, Resource: r.Resource.Resource,
		Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
		FieldSelector: selectedFields(r.List.FieldSelector), LabelSelector: selectedLabels(r.List.LabelSelector),
	}
}

// selectedFields and selectedLabels are what a selector requires; nothing of one that
// cannot be parsed, which is refused where it is used (apiserver
// pkg/endpoints/filters/authorization.go GetAuthorizerAttributes).
func selectedFields(selector string) fields.Requirements {
	if selector == "" {
		return nil
	}
	sel, err := fields.ParseSelector(selector)
	if err != nil {
		return nil
	}
	return sel.Requirements()
}

func selectedLabels(selector string) labels.Requirements {
	if selector == "" {
		return nil
	}
	sel, err := labels.Parse(selector)
	if err != nil {
		return nil
	}
	of, _ := sel.Requirements()
	return of
}

// exactFields are the field=value terms of a field selector.
func exactFields(selector string) map[string]string {
	out := map[string]string{}
	for _, r := range selectedFields(selector) {
		if r.Operator == selection.Equals || r.Operator == selection.DoubleEquals {
			out[r.Field] = r.Value
		}
	}
	return out
}

// decide asks the authorizers in turn: Node and RBAC, or those of the file.
func (s *Server) decide(t *sim.Task, a authz.Attributes) authz.Decision {
	if s.chain == nil {
		return s.authorizer.Decide(a)
	}
	return s.chain.decide(t, &a)
}

// forbidden is 403 in the words of apiserver
// pkg/endpoints/handlers/responsewriters/errors.go.
func forbidden(a authz.Attributes, d authz.Decision) error {
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
