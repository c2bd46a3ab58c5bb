package filters

import (
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// Impersonate lets a user act as another. The authorizer is asked for the verb
// "impersonate" on each part of the requested identity: the user or service account,
// each group, each extra value, the UID (impersonation/impersonation.go
// WithImpersonation).
func (f *Filters) Impersonate(on *request.Scope, req *request.Request, sender authn.User) (authn.User, error) {
	const stage = trace.StageImpersonation
	as := req.Impersonate
	if as == nil {
		on.Pass(stage, "", "The request does not ask to act as somebody else.", nil)
		return sender, nil
	}
	by := ""
	for _, a := range authz.Impersonating(as, sender) {
		d := f.Authorizers.Decide(on, a)
		if d.Err != nil && !d.Allowed {
			return sender, on.Refuse(stage, "", authz.Undecided(req.URI(), d.Err))
		}
		if !d.Allowed {
			return sender, on.Refuse(stage, "", authz.Forbidden(a, d))
		}
		if by == "" {
			by = d.By
		}
	}
	u := as.Identity()
	on.Pass(stage, by, sender.Name+" may act as others, and acts as "+u.Name+u.OfGroups()+".", nil)
	return u, nil
}
