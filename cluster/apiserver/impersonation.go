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
	as := c.req.Impersonate
	if as == nil {
		c.Pass(stage, "", "The request does not ask to act as somebody else.", nil)
		return sender, nil
	}
	by := ""
	for _, a := range impersonated(as, sender) {
		d := c.s.authorizers.Decide(&c.Scope, a)
		if d.Err != nil && !d.Allowed {
			return sender, c.Refuse(stage, "", authz.Undecided(c.req.URI(), d.Err))
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

// impersonated is what the sender must be allowed to do, one after another.
func impersonated(i *Impersonation, sender authn.User) []authz.Attributes {
	ask := func(group, resource, sub, namespace, name string) authz.Attributes {
		return authz.Attributes{User: sender, Verb: "impersonate", Group: group, Resource: resource, Subresource: sub, Namespace: namespace, Name: name}
	}
	var all []authz.Attributes
	if namespace, name, ok := authn.SplitUsername(i.User); ok {
		all = append(all, ask("", "serviceaccounts", "", namespace, name))
	} else {
		all = append(all, ask("", "users", "", "", i.User))
	}
	for _, g := range i.Groups {
		all = append(all, ask("", "groups", "", "", g))
	}
	const authentication = "authentication.k8s.io"
	for _, e := range i.Extra {
		for _, v := range e.Values {
			all = append(all, ask(authentication, "userextras", e.Key, "", v))
		}
	}
	if i.UID != "" {
		all = append(all, ask(authentication, "uids", "", "", i.UID))
	}
	return all
}
