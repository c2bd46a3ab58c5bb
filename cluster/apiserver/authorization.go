package apiserver

import (
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// authorize decides whether the user may do this (apiserver
// pkg/endpoints/filters/authorization.go; the Node authorizer, then RBAC).
func (c *call) authorize(user authn.User) error {
	a := authz.AttributesOf(c.Req, user)
	if c.Kind != nil && !c.Kind.Namespaced {
		a.Namespace = ""
	}
	if a.Name == "" {
		a.Name = c.Req.SelectedName()
	}
	d := authz.Decision{Allowed: true, Reason: "It is a part of a request that was allowed."}
	if !c.Req.Part {
		d = c.s.authorizers.Decide(&c.Scope, a)
	}
	c.record.Access(d)
	st := c.NewStage()
	*st = trace.Stage{Request: c.Number, Stage: trace.StageAuthorization, By: d.By, Verdict: "pass", Note: d.Reason, Asked: d.Asked}
	if d.Allowed {
		c.Tell(st)
		return nil
	}
	err := authz.Forbidden(a, d)
	if d.Err != nil {
		err = authz.Undecided(c.Req.URI(), d.Err)
	}
	status := request.StatusOf(err)
	st.Verdict, st.Note, st.Code = "refuse", status.Message, int(status.Code)
	c.Refused = trace.StageAuthorization
	c.Tell(st)
	return err
}
