package request

import (
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"

	"kviz/cluster/apiserver/authn"
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

// Info is everything that is requested, as it appears in the refusal of a request
// that names no user (constrained_impersonation.go processImpersonationHeaders).
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

// Identity is the user that the request acts as from then on.
func (i *Impersonation) Identity() authn.User {
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
