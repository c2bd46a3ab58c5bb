package authz

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	rbachelper "k8s.io/kubernetes/pkg/apis/rbac/v1"

	"kviz/cluster/apiserver/authn"
)

// Source gives live objects, sorted by name.
type Source interface {
	ClusterRoleBindings() []*rbacv1.ClusterRoleBinding
	RoleBindings(namespace string) []*rbacv1.RoleBinding
	ClusterRole(name string) *rbacv1.ClusterRole
	Role(namespace, name string) *rbacv1.Role

	// What the Node authorizer follows: the pods of a node in a namespace, volumes,
	// attachments.
	PodOn(node, namespace string, such func(*corev1.Pod) bool) bool
	PersistentVolumes() []*corev1.PersistentVolume
	VolumeAttachment(name string) *storagev1.VolumeAttachment
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
	cluster    grants
	namespaces map[string]grants
}

// grants are those of the cluster's bindings, or of one namespace's.
type grants struct {
	list    []grant
	missing []error // roles that bindings name and that do not exist
}

// grant is the rules of one binding.
type grant struct {
	by          string // "ClusterRoleBinding cluster-admin"
	why, reason string
	rules       []rbacv1.PolicyRule
}

// Invalidate forgets what was remembered: an RBAC object has changed.
func (z *Authorizer) Invalidate() { z.users = nil }

// Decide asks the authorizers in turn: system:masters, Node, RBAC (the order
// of kube-apiserver with --authorization-mode=Node,RBAC).
func (z *Authorizer) Decide(a Attributes) Decision {
	if d, ok := DecideMasters(&a); ok {
		return d
	}
	d := z.DecideNode(&a)
	if d.Allowed {
		return d
	}
	r := z.DecideRBAC(&a)
	if !r.Allowed {
		r.Why = Reasons("node", d.Why, "rbac", r.Why)
	}
	return r
}

// Reasons are why those who had no opinion had none, each under its name, in pairs
// (apiserver pkg/authorization/union).
func Reasons(namesAndReasons ...string) string {
	var lines []string
	for i := 0; i < len(namesAndReasons); i += 2 {
		if namesAndReasons[i+1] != "" {
			lines = append(lines, namesAndReasons[i]+": "+namesAndReasons[i+1])
		}
	}
	return strings.Join(lines, "\n")
}

// DecideMasters is the authorizer that stands before all others: ok for members of
// system:masters (authorizerfactory NewPrivilegedGroups).
func DecideMasters(a *Attributes) (d Decision, ok bool) {
	if !a.User.In(authn.Masters) {
		return Decision{}, false
	}
	return Decision{Allowed: true, By: "group system:masters", Reason: "Members of system:masters may do everything; RBAC is not asked."}, true
}

// DecideRBAC is the RBAC authorizer alone.
func (z *Authorizer) DecideRBAC(a *Attributes) Decision {
	u := z.user(&a.User)
	both := [2]grants{u.cluster}
	if a.Namespace != "" {
		both[1] = z.inNamespace(u, &a.User, a.Namespace)
	}
	for _, g := range both {
		for i := range g.list {
			for j := range g.list[i].rules {
				if allows(&g.list[i].rules[j], a) {
					return Decision{Allowed: true, By: g.list[i].by, Why: g.list[i].why, Reason: g.list[i].reason}
				}
			}
		}
	}
	d := Decision{}
	if err := utilerrors.NewAggregate(slices.Concat(both[0].missing, both[1].missing)); err != nil {
		d.Why = fmt.Sprintf("RBAC: %v", err)
	}
	return d
}

// allows is plugin/pkg/auth/authorizer/rbac RuleAllows.
func allows(rule *rbacv1.PolicyRule, a *Attributes) bool {
	if !a.IsResourceRequest() {
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
	g := &granted{groups: append([]string(nil), u.Groups...), namespaces: map[string]grants{}}
	for _, b := range z.Source.ClusterRoleBindings() {
		subject, ok := applies(b.Subjects, u, "")
		if !ok {
			continue
		}
		rules, err := z.rulesOf(&b.RoleRef, "")
		if err != nil {
			g.cluster.missing = append(g.cluster.missing, err)
			continue
		}
		why := fmt.Sprintf("RBAC: allowed by ClusterRoleBinding %q of %s %q to %s", b.Name, b.RoleRef.Kind, b.RoleRef.Name, subject)
		g.cluster.list = append(g.cluster.list, grant{by: "ClusterRoleBinding " + b.Name, why: why, reason: why + ".", rules: rules})
	}
	if z.users == nil {
		z.users = map[string][]*granted{}
	}
	z.users[u.Name] = append(z.users[u.Name], g)
	return g
}

func (z *Authorizer) inNamespace(g *granted, u *authn.User, namespace string) grants {
	if out, ok := g.namespaces[namespace]; ok {
		return out
	}
	var out grants
	for _, b := range z.Source.RoleBindings(namespace) {
		subject, ok := applies(b.Subjects, u, namespace)
		if !ok {
			continue
		}
		rules, err := z.rulesOf(&b.RoleRef, namespace)
		if err != nil {
			out.missing = append(out.missing, err)
			continue
		}
		why := fmt.Sprintf("RBAC: allowed by RoleBinding \"%s/%s\" of %s %q to %s", b.Name, namespace, b.RoleRef.Kind, b.RoleRef.Name, subject)
		out.list = append(out.list, grant{by: "RoleBinding " + namespace + "/" + b.Name, why: why, reason: why + ".", rules: rules})
	}
	g.namespaces[namespace] = out
	return out
}

// rulesOf are the rules of the role that a binding names (pkg/registry/rbac/validation
// GetRoleReferenceRules).
func (z *Authorizer) rulesOf(ref *rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	if ref.Kind == "ClusterRole" {
		if r := z.Source.ClusterRole(ref.Name); r != nil {
			return r.Rules, nil
		}
	} else if r := z.Source.Role(namespace, ref.Name); r != nil {
		return r.Rules, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: rbacv1.GroupName, Resource: strings.ToLower(ref.Kind)}, ref.Name)
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
// (system:masters) has no rules. The error says what could not be looked at.
func (z *Authorizer) Rules(u authn.User, namespace string) ([]rbacv1.PolicyRule, error) {
	g := z.user(&u)
	both := [2]grants{g.cluster, z.inNamespace(g, &u, namespace)}
	var out []rbacv1.PolicyRule
	for _, g := range both {
		for _, gr := range g.list {
			out = append(out, gr.rules...)
		}
	}
	return out, utilerrors.NewAggregate(slices.Concat(both[0].missing, both[1].missing))
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
