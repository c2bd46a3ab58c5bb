package apiserver

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/trace"
)

// authorize decides whether the user may do this (apiserver
// pkg/endpoints/filters/authorization.go; the Node authorizer, then RBAC).
func authorize(c *call) error {
	a := attributesOf(c.req, c.user)
	if c.kind != nil && !c.kind.Namespaced {
		a.Namespace = ""
	}
	if c.req.List.FieldSelector != "" {
		a.Fields = exactFields(c.req.List.FieldSelector)
		if a.Name == "" { // as RequestInfo has it: a watch on one object is about that object
			a.Name = a.Fields["metadata.name"]
		}
	}
	d := c.s.decide(a)
	if c.req.approved {
		d = authz.Decision{Allowed: true, Reason: "It is a part of a request that was allowed."}
	}
	c.auditAccess(d)
	if d.Allowed {
		c.pass(trace.StageAuthorization, d.By, d.Reason, nil)
		return nil
	}
	err := forbidden(a, d)
	return c.refuse(trace.StageAuthorization, "", err)
}

// attributesOf are what a user must be allowed to do, to be answered a request.
func attributesOf(r *Request, u authn.User) authz.Attributes {
	return authz.Attributes{
		User: u, Verb: r.Verb, Group: r.Resource.Group, Resource: r.Resource.Resource,
		Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
	}
}

// exactFields are the field=value terms of a field selector.
func exactFields(selector string) map[string]string {
	sel, err := fields.ParseSelector(selector)
	if err != nil {
		return nil // refused where the selector is used
	}
	out := map[string]string{}
	for _, r := range sel.Requirements() {
		if r.Operator == selection.Equals || r.Operator == selection.DoubleEquals {
			out[r.Field] = r.Value
		}
	}
	return out
}

// decide asks the authorizers in turn.
func (s *Server) decide(a authz.Attributes) authz.Decision { return s.authorizer.Decide(a) }

// forbidden is 403 in the words of apiserver
// pkg/endpoints/handlers/responsewriters/errors.go.
func forbidden(a authz.Attributes, d authz.Decision) error {
	what := a.Resource
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	where := "at the cluster scope"
	if a.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", a.Namespace)
	}
	msg := fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", a.User.Name, a.Verb, what, a.Group, where)
	if d.Denied != "" {
		msg += ": " + d.Denied
	}
	return apierrors.NewForbidden(a.GroupResource(), a.Name, fmt.Errorf("%s", msg))
}
