package authz

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	rbacregistryvalidation "k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
)

// Source gives live objects, sorted by name.
type Source interface {
	ClusterRoleBindings() []*rbacv1.ClusterRoleBinding
	RoleBindings(namespace string) []*rbacv1.RoleBinding
	ClusterRole(name string) *rbacv1.ClusterRole
	Role(namespace, name string) *rbacv1.Role

	// Open has the objects of a kind that nobody may have used told to what
	// [Authorizer.Follow] gave, if there are any.
	Open(r client.Resource)
}

// Authorizer is the Node and the RBAC authorizer together. It remembers, by
// user, the rules that are granted, until [Authorizer.Invalidate].
type Authorizer struct {
	Source Source

	users map[string][]*granted
	graph *graph
}

// New makes an authorizer that knows of no objects yet.
func New(from Source) *Authorizer { return &Authorizer{Source: from, graph: newGraph()} }

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

// grant is the rules that a binding gives somebody.
type grant struct {
	source string // `ClusterRoleBinding "edit" of ClusterRole "edit" to Group "dev"`
	Decision
	rules []*rbacv1.PolicyRule
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

// DecideRBAC is the RBAC authorizer alone (plugin/pkg/auth/authorizer/rbac), whose
// resolver and rules these are. Upstream's looks through all bindings for every
// request, which takes ten times as long as what is remembered here of a user.
func (z *Authorizer) DecideRBAC(a *Attributes) Decision {
	both := z.grantsOf(&a.User, a.Namespace)
	for _, g := range both {
		for i := range g.list {
			for _, rule := range g.list[i].rules {
				if rbac.RuleAllows(asked{a}, rule) {
					return g.list[i].Decision
				}
			}
		}
	}
	if err := missing(both); err != nil {
		return Decision{Why: fmt.Sprintf("RBAC: %v", err)}
	}
	return Decision{}
}

// Rules lists every rule the user has in a namespace, cluster-wide ones
// included: what kubectl auth can-i --list shows. What RBAC is not asked about
// (system:masters) has no rules. The error says what could not be looked at.
func (z *Authorizer) Rules(u authn.User, namespace string) ([]rbacv1.PolicyRule, error) {
	return resolverOf(z.Source).RulesFor(context.Background(), u.Info(), namespace)
}

// grantsOf are the user's: those of the cluster's bindings and of the namespace's.
func (z *Authorizer) grantsOf(u *authn.User, namespace string) (both [2]grants) {
	g := z.user(u)
	both[0] = g.cluster
	if namespace == "" {
		return both
	}
	of, known := g.namespaces[namespace]
	if !known {
		of = resolve(resolverOf(inNamespace{z.Source}), u, namespace)
		g.namespaces[namespace] = of
	}
	both[1] = of
	return both
}

func (z *Authorizer) user(u *authn.User) *granted {
	for _, g := range z.users[u.Name] {
		if slices.Equal(g.groups, u.Groups) {
			return g
		}
	}
	g := &granted{groups: slices.Clone(u.Groups), cluster: resolve(resolverOf(z.Source), u, ""), namespaces: map[string]grants{}}
	if z.users == nil {
		z.users = map[string][]*granted{}
	}
	z.users[u.Name] = append(z.users[u.Name], g)
	return g
}

// inNamespace is a source without the bindings of the cluster.
type inNamespace struct{ Source }

// ClusterRoleBindings is [Source].
func (inNamespace) ClusterRoleBindings() []*rbacv1.ClusterRoleBinding { return nil }

// resolve asks for all rules of a user, which come binding by binding.
func resolve(by *rbacregistryvalidation.DefaultRuleResolver, u *authn.User, namespace string) (out grants) {
	by.VisitRulesFor(context.Background(), u.Info(), namespace, func(from fmt.Stringer, rule *rbacv1.PolicyRule, err error) bool {
		if err != nil {
			out.missing = append(out.missing, err)
			return true
		}
		source := from.String()
		if n := len(out.list); n == 0 || out.list[n-1].source != source {
			why := "RBAC: allowed by " + source
			out.list = append(out.list, grant{source: source, Decision: Decision{Allowed: true, By: binding(source), Why: why, Reason: why + "."}})
		}
		last := &out.list[len(out.list)-1]
		last.rules = append(last.rules, rule)
		return true
	})
	return out
}

// binding is what a source of rules begins with: RoleBinding demo/edit, where upstream
// has "edit/demo".
func binding(source string) string {
	kind, rest, _ := strings.Cut(source, " ")
	quoted, _ := strconv.QuotedPrefix(rest)
	name, _ := strconv.Unquote(quoted)
	if name, namespace, has := strings.Cut(name, "/"); has {
		return kind + " " + namespace + "/" + name
	}
	return kind + " " + name
}

func missing(of [2]grants) error {
	return utilerrors.NewAggregate(slices.Concat(of[0].missing, of[1].missing))
}
