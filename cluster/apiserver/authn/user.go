// Package authn says who sends a request: identities, and the tokens that
// prove them.
//
// In Kubernetes this is k8s.io/apiserver/pkg/authentication with its chain of
// authenticators (client certificates, bearer tokens, service account tokens,
// anonymous). Here components inside the process carry their identity with
// them, as if by certificate; programs outside show a bearer token or a certificate.
// Start reading at [Authenticators.Authenticate].
package authn

import (
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
)

// User is who sends a request. It mirrors
// k8s.io/apiserver/pkg/authentication/user.Info.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Groups that Kubernetes gives a meaning (apiserver pkg/authentication/user).
const (
	Masters         = "system:masters"         // may do everything
	Nodes           = "system:nodes"           // kubelets
	Authenticated   = "system:authenticated"   // everyone with an identity
	Unauthenticated = "system:unauthenticated" // everyone without
	Anonymous       = "system:anonymous"       // the user without an identity
	ServiceAccounts = "system:serviceaccounts" // every service account
)

// Admin is the user of a kubeadm cluster's admin.conf super user.
func Admin() User { return User{Name: "kubernetes-admin", Groups: []string{Masters}} }

// Node is the kubelet of a node.
func Node(name string) User { return User{Name: "system:node:" + name, Groups: []string{Nodes}} }

// Component is a control-plane component known by its certificate:
// "kube-scheduler", "kube-controller-manager", "kube-proxy".
func Component(name string) User { return User{Name: "system:" + name} }

// ServiceAccount is a service account; each controller of the controller
// manager has one in kube-system.
func ServiceAccount(namespace, name string) User {
	return User{
		Name:   "system:serviceaccount:" + namespace + ":" + name,
		Groups: []string{ServiceAccounts, ServiceAccounts + ":" + namespace},
	}
}

// Info is the user as Kubernetes' own code wants it.
func (u *User) Info() *user.DefaultInfo {
	return &user.DefaultInfo{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: u.Extra}
}

// In reports whether the user is in the group.
func (u User) In(group string) bool {
	for _, g := range u.Groups {
		if g == group {
			return true
		}
	}
	return false
}

// WithAuthenticated are the user's groups and that of everyone with an identity
// (apiserver pkg/authentication/group AuthenticatedGroupAdder).
func (u *User) WithAuthenticated() []string {
	if u.In(Authenticated) || u.In(Unauthenticated) {
		return u.Groups
	}
	return append(slices.Clip(u.Groups), Authenticated)
}

// SplitUsername takes a service account's user name apart (apiserver
// pkg/authentication/serviceaccount SplitUsername).
func SplitUsername(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, "system:serviceaccount:")
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, ":")
}

// OfGroups names the user's groups, for a sentence.
func (u *User) OfGroups() string {
	switch len(u.Groups) {
	case 0:
		return ""
	case 1:
		return " of group " + u.Groups[0]
	}
	return " of groups " + strings.Join(u.Groups, ", ")
}
