package bootstrap

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
)

// AddPolicy adds the default RBAC objects
// (pkg/registry/rbac/rest/storage_rbac.go).
func (l *List) AddPolicy() {
	roles := append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...)
	byName := make([]*rbacv1.ClusterRole, len(roles))
	for i := range roles {
		byName[i] = &roles[i]
	}
	slices.SortFunc(byName, func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	for i := range roles {
		aggregate(&roles[i], byName)
		l.Add(client.ClusterRoles, roles[i].DeepCopy())
	}
	bindings := append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...)
	for i := range bindings {
		l.Add(client.ClusterRoleBindings, bindings[i].DeepCopy())
	}
	inNamespaces := bootstrappolicy.NamespaceRoles()
	for _, ns := range slices.Sorted(maps.Keys(inNamespaces)) {
		for i := range inNamespaces[ns] {
			l.Add(client.Roles, inNamespaces[ns][i].DeepCopy())
		}
	}
	nsBindings := bootstrappolicy.NamespaceRoleBindings()
	for _, ns := range slices.Sorted(maps.Keys(nsBindings)) {
		for i := range nsBindings[ns] {
			l.Add(client.RoleBindings, nsBindings[ns][i].DeepCopy())
		}
	}
}

// aggregate does what the clusterrole-aggregation controller does from then on: admin, edit
// and view are the sum of the roles labelled for them, by their names. So the controller
// finds nothing to do in a new cluster.
func aggregate(role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) {
	if role.AggregationRule == nil {
		return
	}
	for _, ls := range role.AggregationRule.ClusterRoleSelectors {
		sel, err := metav1.LabelSelectorAsSelector(&ls)
		if err != nil {
			continue
		}
		for _, part := range all {
			if part.Name != role.Name && sel.Matches(labels.Set(part.Labels)) {
				aggregate(part, all)
				for _, r := range part.Rules {
					if !hasRule(role.Rules, r) {
						role.Rules = append(role.Rules, r)
					}
				}
			}
		}
	}
}

func hasRule(rules []rbacv1.PolicyRule, r rbacv1.PolicyRule) bool {
	for i := range rules {
		if object.Equal(rules[i], r) {
			return true
		}
	}
	return false
}
