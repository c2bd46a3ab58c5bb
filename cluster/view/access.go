package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kviz/cluster/trace"
)

// Grant is one rule of a role, as a binding gives it to one subject: what RBAC looks
// for when it is asked whether somebody may do something. There is nothing that takes
// away; whoever has no Grant for a request is refused it.
type Grant struct {
	Subject   string // "jane", "group dev", "sa demo/robot"
	Namespace string // "" is every one, and what is in none
	Rule      rbacv1.PolicyRule
	Number    int    // of the rule in its role, from 1; 0: the role has none, or there is no such role
	Role      string // "Role pod-reader"
	Binding   string // "RoleBinding demo/read-pods"
	NoRole    bool   // what the binding refers to does not exist
	System    bool   // the subject is a part of the cluster itself
	Event     trace.ID
}

// Grants lists what the bindings that there are give to whom, by subject, people
// before parts of the cluster, and then by namespace.
//
// Mirrors pkg/registry/rbac/validation/rule.go DefaultRuleResolver VisitRulesFor.
func (s *State) Grants() []Grant {
	var all []Grant
	s.EachObject("clusterrolebindings", "", func(o *Object) bool {
		if b, ok := o.Value.(*rbacv1.ClusterRoleBinding); ok {
			all = append(all, s.grants(o, "", "ClusterRoleBinding "+b.Name, b.RoleRef, b.Subjects)...)
		}
		return true
	})
	s.EachObject("rolebindings", "", func(o *Object) bool {
		if b, ok := o.Value.(*rbacv1.RoleBinding); ok {
			all = append(all, s.grants(o, b.Namespace, "RoleBinding "+b.Namespace+"/"+b.Name, b.RoleRef, b.Subjects)...)
		}
		return true
	})
	slices.SortStableFunc(all, func(a, b Grant) int {
		if a.System != b.System {
			if a.System {
				return 1
			}
			return -1
		}
		return cmp.Or(strings.Compare(a.Subject, b.Subject), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Binding, b.Binding), cmp.Compare(a.Number, b.Number))
	})
	return all
}

func (s *State) grants(binding *Object, namespace, name string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) (list []Grant) {
	rules, found := s.rulesOf(namespace, ref)
	for _, subject := range subjects {
		g := Grant{Namespace: namespace, Role: ref.Kind + " " + ref.Name, Binding: name, NoRole: !found, Event: binding.Changed}
		g.Subject, g.System = subjectName(subject, namespace)
		if len(rules) == 0 {
			list = append(list, g)
		}
		for i, r := range rules {
			g.Rule, g.Number = r, i+1
			list = append(list, g)
		}
	}
	return list
}

func (s *State) rulesOf(namespace string, ref rbacv1.RoleRef) (rules []rbacv1.PolicyRule, found bool) {
	if ref.Kind == "ClusterRole" {
		if o := s.Object("clusterroles", "", ref.Name); o != nil && o.Value != nil {
			r, ok := o.Value.(*rbacv1.ClusterRole)
			return r.Rules, ok
		}
		return nil, false
	}
	if o := s.Object("roles", namespace, ref.Name); o != nil && o.Value != nil {
		r, ok := o.Value.(*rbacv1.Role)
		return r.Rules, ok
	}
	return nil, false
}

// subjectName is a subject in short, and whether it is a part of the cluster itself;
// the administrators are not.
func subjectName(s rbacv1.Subject, namespace string) (name string, system bool) {
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		ns := cmp.Or(s.Namespace, namespace)
		return "sa " + ns + "/" + s.Name, ns == "kube-system"
	case rbacv1.GroupKind:
		return "group " + s.Name, strings.HasPrefix(s.Name, "system:") && s.Name != "system:masters"
	}
	return s.Name, strings.HasPrefix(s.Name, "system:")
}

// What is what the rule is about: resources with their groups, single objects, or
// paths.
func (g *Grant) What() []string {
	if len(g.Rule.NonResourceURLs) > 0 {
		return []string{"paths " + strings.Join(g.Rule.NonResourceURLs, " ")}
	}
	var out []string
	for _, group := range g.Rule.APIGroups {
		for _, r := range g.Rule.Resources {
			if group != "" && r != "*" {
				r += "." + group
			} else if r == "*" && group == "" {
				r = "* of core"
			} else if r == "*" && group != "*" {
				r = "* of " + group
			}
			for _, n := range g.Rule.ResourceNames {
				out = append(out, r+"/"+n)
			}
			if len(g.Rule.ResourceNames) == 0 {
				out = append(out, r)
			}
		}
	}
	return out
}

// May reports whether the rule has a verb.
func (g *Grant) May(verb string) bool {
	return slices.Contains(g.Rule.Verbs, verb) || slices.Contains(g.Rule.Verbs, rbacv1.VerbAll)
}

// String says it in a sentence.
func (g *Grant) String() string {
	where := "everywhere"
	if g.Namespace != "" {
		where = "in namespace " + g.Namespace
	}
	switch {
	case g.NoRole:
		return fmt.Sprintf("%s gives %s nothing: there is no %s.", g.Binding, g.Subject, g.Role)
	case g.Number == 0:
		return fmt.Sprintf("%s gives %s nothing: %s has no rules.", g.Binding, g.Subject, g.Role)
	}
	return fmt.Sprintf("%s may %s %s %s: rule %d of %s, by %s.", g.Subject, strings.Join(g.Rule.Verbs, ", "), strings.Join(g.What(), ", "), where, g.Number, g.Role, g.Binding)
}
