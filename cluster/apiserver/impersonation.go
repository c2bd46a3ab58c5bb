package apiserver

import (
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/trace"
)

// impersonate is where a user may act as another. The authorizer is asked for
// the verb "impersonate" on each thing that is asked for: the user or service
// account, each group, each extra value, the UID (apiserver
// pkg/endpoints/filters/impersonation/impersonation.go WithImpersonation).
func (c *call) impersonate(sender authn.User) (authn.User, error) {
	const stage = trace.StageImpersonation
	as := c.Req.Impersonate
	if as == nil {
		c.Pass(stage, "", "The request does not ask to act as somebody else.", nil)
		return sender, nil
	}
	by := ""
	for _, a := range authz.Impersonating(as, sender) {
		d := c.s.authorizers.Decide(&c.Scope, a)
		if d.Err != nil && !d.Allowed {
			return sender, c.Refuse(stage, "", authz.Undecided(c.Req.URI(), d.Err))
		}
		if !d.Allowed {
			return sender, c.Refuse(stage, "", authz.Forbidden(a, d))
		}
		if by == "" {
			by = d.By
		}
	}
	u := as.Identity()
	if c.record != nil {
		c.record.Impersonated(u.Info())
	}
	c.Pass(stage, by, sender.Name+" may act as others, and acts as "+u.Name+u.OfGroups()+".", nil)
	return u, nil
}
