package authz

import (
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/request"
)

// AttributesOf are what a user must be allowed to do, to be answered a request.
func AttributesOf(r *request.Request, u authn.User) Attributes {
	if r.Proxied != nil && r.Resource.Resource == "" {
		return Attributes{User: u, Verb: r.Verb, Path: r.Proxied.Path}
	}
	selected := r.Selected()
	return Attributes{
		User: u, Verb: r.Verb, Group: r.Resource.Group, Version: r.Resource.Version, Resource: r.Resource.Resource,
		Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name,
		FieldSelector: selected.Fields, LabelSelector: selected.Labels,
	}
}

// Impersonating is what the sender must be allowed to do, one after another.
func Impersonating(i *request.Impersonation, sender authn.User) []Attributes {
	ask := func(group, resource, sub, namespace, name string) Attributes {
		return Attributes{User: sender, Verb: "impersonate", Group: group, Resource: resource, Subresource: sub, Namespace: namespace, Name: name}
	}
	var all []Attributes
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
