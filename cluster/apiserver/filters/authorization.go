package filters

import (
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// Authorize decides whether the user may make the request (authorization.go
// WithAuthorization): the Node authorizer, then RBAC, or those of a file. kind is nil for
// what is not served. The error is what the client gets if the request is forbidden.
func (f *Filters) Authorize(on *request.Scope, req *request.Request, kind *registry.Kind, user authn.User) (authz.Decision, error) {
	a := authz.AttributesOf(req, user)
	if kind != nil && !kind.Namespaced {
		a.Namespace = ""
	}
	if a.Name == "" {
		a.Name = req.SelectedName()
	}
	d := authz.Decision{Allowed: true, Reason: "It is a part of a request that was allowed."}
	if !req.Part {
		d = f.Authorizers.Decide(on, a)
	}
	st := on.NewStage()
	*st = trace.Stage{Request: on.Number, Stage: trace.StageAuthorization, By: d.By, Verdict: "pass", Note: d.Reason, Asked: d.Asked}
	if d.Allowed {
		on.Tell(st)
		return d, nil
	}
	err := authz.Forbidden(a, d)
	if d.Err != nil {
		err = authz.Undecided(req.URI(), d.Err)
	}
	status := request.StatusOf(err)
	st.Verdict, st.Note, st.Code = "refuse", status.Message, int(status.Code)
	on.Refused = trace.StageAuthorization
	on.Tell(st)
	return d, err
}
