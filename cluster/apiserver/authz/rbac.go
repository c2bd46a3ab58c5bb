package authz

import (
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	rbachelper "k8s.io/kubernetes/pkg/apis/rbac/v1"

	"kviz/cluster/apiserver/authn"
)

// Source gives the live RBAC objects, sorted by name.
type Source interface {
	ClusterRoleBindings() []*rbacv1.ClusterRoleBinding
	RoleBindings(namespace string) []*rbacv1.RoleBinding
	ClusterRole(name string) *rbacv1.ClusterRole
	Role(namespace, name string) *rbacv1.Role
}

// Authorizer is the Node and the RBAC authorizer together. It remembers, by
// user, the rules that are granted, until [Authorizer.Invalidate].
type Authorizer struct {
	Source Source

	users map[string][]*granted
}

// granted is what one user has been granted.
type granted struct {
	groups     []string
	cluster    []grant
	namespaces map[string][]grant
	missing    []string // roles that bindings name and that do not exist
}

// grant is the rules of one binding.
type grant struct {
	by     string // "ClusterRoleBinding cluster-admin"
	reason string
	rules  []rbacv1.PolicyRule
}

// Invalidate forgets what was remembered: an RBAC object has changed.
func (z *Authorizer) Invalidate() { z.users = nil }

// ByMasters is who allows what members of system:masters do.
const ByMasters = "group system:masters"

// Decide asks the authorizers in turn: system:masters, Node, RBAC (the order
// of kube-apiserver with --authorization-mode=Node,RBAC).
func (z *Authorizer) Decide(a Attributes) Decision {
	if d, ok := DecideMasters(&a); ok {
		return d
	}
	d := DecideNode(&a)
	if d.Allowed {
		return d
	}
	r := z.DecideRBAC(&a)
	if !r.Allowed {
		r.Denied = joinReasons(d.Denied, r.Denied)
	}
	return r
}

// DecideMasters is the authorizer that stands before all others: ok for members of
// system:masters (authorizerfactory NewPrivilegedGroups).
func DecideMasters(a *Attributes) (d Decision, ok bool) {
	if !a.User.In(authn.Masters) {
		return Decision{}, false
	}
	return Decision{Allowed: true, By: "group system:masters", Reason: "Members of system:masters may do everything; RBAC is not asked."}, true
}

func joinReasons(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}

// DecideRBAC is the RBAC authorizer alone.
func (z *Authorizer) DecideRBAC(a *Attributes) Decision {
	u := z.user(&a.User)
	lists := [2][]grant{u.cluster}
	if a.Namespace != "" {
		lists[1] = z.inNamespace(u, &a.User, a.Namespace)
	}
	for _, list := range lists {
		for i := range list {
			for j := range list[i].rules {
				if allows(&list[i].rules[j], a) {
					return Decision{Allowed: true, By: list[i].by, Reason: list[i].reason}
				}
			}
		}
	}
	d := Decision{}
	if len(u.missing) > 0 {
		d.Denied = "RBAC: " + strings.Join(u.missing, ", ")
	}
	return d
}

// allows is plugin/pkg/auth/authorizer/rbac RuleAllows.
func allows(rule *rbacv1.PolicyRule, a *Attributes) bool {
	if a.Resource == "" {
		return rbachelper.VerbMatches(rule, a.Verb) && rbachelper.NonResourceURLMatches(rule, a.Path)
	}
	if !rbachelper.VerbMatches(rule, a.Verb) || !rbachelper.APIGroupMatches(rule, a.Group) {
		return false
	}
	combined := a.Resource
	if a.Subresource != "" {
		combined += "/" + a.Subresource
	}
	return rbachelper.ResourceMatches(rule, combined, a.Subresource) && rbachelper.ResourceNameMatches(rule, a.Name)
}

func (z *Authorizer) user(u *authn.User) *granted {
	for _, g := range z.users[u.Name] {
		if equal(g.groups, u.Groups) {
			return g
		}
	}
	g := &granted{groups: append([]string(nil), u.Groups...), namespaces: map[string][]grant{}}
	for _, b := range z.Source.ClusterRoleBindings() {
		subject, ok := applies(b.Subjects, u, "")
		if !ok {
			continue
		}
		role := z.Source.ClusterRole(b.RoleRef.Name)
		if role == nil {
			g.missing = append(g.missing, fmt.Sprintf("clusterrole.rbac.authorization.k8s.io %q not found", b.RoleRef.Name))
			continue
		}
		g.cluster = append(g.cluster, grant{
			by: "ClusterRoleBinding " + b.Name, rules: role.Rules,
			reason: fmt.Sprintf("RBAC: allowed by ClusterRoleBinding %q of ClusterRole %q to %s.", b.Name, role.Name, subject),
		})
	}
	if z.users == nil {
		z.users = map[string][]*granted{}
	}
	z.users[u.Name] = append(z.users[u.Name], g)
	return g
}

func (z *Authorizer) inNamespace(g *granted, u *authn.User, namespace string) []grant {
	if list, ok := g.namespaces[namespace]; ok {
		return list
	}
	var list []grant
	for _, b := range z.Source.RoleBindings(namespace) {
		subject, ok := applies(b.Subjects, u, namespace)
		if !ok {
			continue
		}
		rules, found := z.rulesOf(b)
		if !found {
			continue
		}
		list = append(list, grant{
			by: "RoleBinding " + namespace + "/" + b.Name, rules: rules,
			reason: fmt.Sprintf("RBAC: allowed by RoleBinding \"%s/%s\" of %s %q to %s.", b.Name, namespace, b.RoleRef.Kind, b.RoleRef.Name, subject),
		})
	}
	g.namespaces[namespace] = list
	return list
}

func (z *Authorizer) rulesOf(b *rbacv1.RoleBinding) ([]rbacv1.PolicyRule, bool) {
	if b.RoleRef.Kind == "ClusterRole" {
		if r := z.Source.ClusterRole(b.RoleRef.Name); r != nil {
			return r.Rules, true
		}
		return nil, false
	}
	if r := z.Source.Role(b.Namespace, b.RoleRef.Name); r != nil {
		return r.Rules, true
	}
	return nil, false
}

// applies finds the subject that means the user (pkg/registry/rbac/validation
// appliesToUser).
func applies(subjects []rbacv1.Subject, u *authn.User, namespace string) (string, bool) {
	for i := range subjects {
		s := &subjects[i]
		switch s.Kind {
		case rbacv1.UserKind:
			if s.Name == u.Name {
				return fmt.Sprintf("User %q", s.Name), true
			}
		case rbacv1.GroupKind:
			if u.In(s.Name) {
				return fmt.Sprintf("Group %q", s.Name), true
			}
		case rbacv1.ServiceAccountKind:
			ns := s.Namespace
			if ns == "" {
				ns = namespace
			}
			if ns != "" && u.Name == "system:serviceaccount:"+ns+":"+s.Name {
				return fmt.Sprintf("ServiceAccount \"%s/%s\"", s.Name, ns), true
			}
		}
	}
	return "", false
}

// Rules lists every rule the user has in a namespace, cluster-wide ones
// included: what kubectl auth can-i --list shows. What RBAC is not asked about
// (system:masters) has no rules.
func (z *Authorizer) Rules(u authn.User, namespace string) []rbacv1.PolicyRule {
	g := z.user(&u)
	var out []rbacv1.PolicyRule
	for _, list := range [2][]grant{g.cluster, z.inNamespace(g, &u, namespace)} {
		for _, gr := range list {
			out = append(out, gr.rules...)
		}
	}
	return out
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
