package apiserver

import (
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/trace"
)

// Impersonation is whom the sender of a request asks to act as: the headers
// Impersonate-User, -Group, -Uid and -Extra-… (kubectl --as, --as-group,
// --as-uid, --as-user-extra).
type Impersonation struct {
	User   string
	UID    string
	Groups []string
	Extra  []ImpersonatedExtra // in the order of their keys
}

// ImpersonatedExtra is one key of a user's extra fields.
type ImpersonatedExtra struct {
	Key    string
	Values []string
}

// Info is everything that is asked for, as the refusal of a request that names no
// user tells it (constrained_impersonation.go processImpersonationHeaders).
func (i *Impersonation) Info() *user.DefaultInfo {
	info := &user.DefaultInfo{Name: i.User, UID: i.UID, Groups: i.Groups}
	for _, e := range i.Extra {
		if info.Extra == nil {
			info.Extra = map[string][]string{}
		}
		info.Extra[e.Key] = append(info.Extra[e.Key], e.Values...)
	}
	return info
}

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
	for _, a := range as.attributes(sender) {
		d := c.s.authorizers.Decide(&c.Scope, a)
		if d.Err != nil && !d.Allowed {
			return sender, c.Refuse(stage, "", authz.Undecided(c.req.uri(), d.Err))
		}
		if !d.Allowed {
			return sender, c.Refuse(stage, "", authz.Forbidden(a, d))
		}
		if by == "" {
			by = d.By
		}
	}
	u := as.identity()
	if c.record != nil {
		c.record.Impersonated(u.Info())
	}
	c.Pass(stage, by, sender.Name+" may act as others, and acts as "+u.Name+u.OfGroups()+".", nil)
	return u, nil
}

// attributes are what the sender must be allowed to do, one after another.
func (i *Impersonation) attributes(sender authn.User) []authz.Attributes {
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

// identity is the user that the request goes on as.
func (i *Impersonation) identity() authn.User {
	u := authn.User{Name: i.User, UID: i.UID, Groups: slices.Clone(i.Groups)}
	if namespace, name, ok := authn.SplitUsername(i.User); ok && len(i.Groups) == 0 {
		u.Groups = authn.ServiceAccount(namespace, name).Groups
	}
	for _, e := range i.Extra {
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		u.Extra[e.Key] = append(u.Extra[e.Key], e.Values...)
	}
	switch {
	case u.In(authn.Unauthenticated), u.Name != authn.Anonymous && u.In(authn.Authenticated):
	case u.Name == authn.Anonymous:
		u.Groups = append(u.Groups, authn.Unauthenticated)
	default:
		u.Groups = append(u.Groups, authn.Authenticated)
	}
	return u
}
