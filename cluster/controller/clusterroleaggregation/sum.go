package clusterroleaggregation

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Sum is the rules of the roles that a role with an aggregationRule selects among all: by
// selector, then by name, each rule once; and which roles those are.
func Sum(role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) (rules []rbacv1.PolicyRule, parts []string, err error) {
	rules = []rbacv1.PolicyRule{}
	all = slices.SortedFunc(slices.Values(all), func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, nil, err
		}
		for _, part := range all {
			if part.Name == role.Name || !selector.Matches(labels.Set(part.Labels)) {
				continue
			}
			if !slices.Contains(parts, part.Name) {
				parts = append(parts, part.Name)
			}
			for _, r := range part.Rules {
				if !slices.ContainsFunc(rules, func(o rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(o, r) }) {
					rules = append(rules, r)
				}
			}
		}
	}
	return rules, parts, nil
}
