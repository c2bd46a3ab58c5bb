// Package clusterroleaggregation is the controller that aggregates ClusterRoles: one with an
// aggregationRule has no rules of its own, but those of all roles whose labels match its
// selectors. So admin, edit and view grow when somebody labels a role for a kind of their
// own:
//
//	view                 selects rbac.authorization.k8s.io/aggregate-to-view: "true"
//	gadgets-view         has that label, and the rule: get, list and watch gadgets
//	view                 now lets its subjects read gadgets, too
//
// An aggregated role can be part of another (admin selects edit, and edit selects view), so a
// change propagates from role to role until nothing changes any more.
//
// Mirrors pkg/controller/clusterroleaggregation. Start reading at [Controller.sync].
package clusterroleaggregation

import (
	"encoding/json"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Name is the controller's name.
const Name = "clusterrole-aggregation-controller"

// Controller is the controller.
type Controller struct {
	*reconcile.Env
	roles *informer.Informer
	loop  *reconcile.Loop
}

// New makes the controller; Start starts it.
func New(env *reconcile.Env) *Controller {
	c := &Controller{Env: env, roles: env.Informers.For(client.ClusterRoles)}
	c.loop = reconcile.NewLoop(env, "ClusterRoleAggregator", client.ClusterRoles, c.sync)
	c.roles.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.changed(t, obj.(*rbacv1.ClusterRole)) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			c.changed(t, old.(*rbacv1.ClusterRole), obj.(*rbacv1.ClusterRole))
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { c.changed(t, obj.(*rbacv1.ClusterRole)) },
	})
	return c
}

// Start starts the worker.
func (c *Controller) Start() { c.loop.Start(c.roles) }

// changed has the sums looked at that a role is or was a part of, and itself if it is one.
func (c *Controller) changed(t *sim.Task, forms ...*rbacv1.ClusterRole) {
	for _, obj := range c.roles.List() {
		sum := obj.(*rbacv1.ClusterRole)
		if sum.AggregationRule == nil {
			continue
		}
		for _, part := range forms {
			if part.Name == sum.Name || selects(sum, part) {
				c.loop.Add(t, sum.Name)
				break
			}
		}
	}
}

// selects reports whether a role is a part of a sum, as far as the sum's selectors can be read.
func selects(sum, part *rbacv1.ClusterRole) bool {
	for i := range sum.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&sum.AggregationRule.ClusterRoleSelectors[i])
		if err == nil && selector.Matches(labels.Set(part.Labels)) {
			return true
		}
	}
	return false
}

// named are the first of some roles.
func named(roles []string) string {
	const most = 4
	switch n := len(roles); {
	case n == 0:
		return "no role"
	case n > most:
		return fmt.Sprintf("%s and %d more", strings.Join(roles[:most], ", "), n-most)
	}
	return strings.Join(roles, ", ")
}

// sync gives one role the rules that its parts have (syncClusterRole).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.roles.Get(run.Key)
	if !ok {
		return nil
	}
	role := obj.(*rbacv1.ClusterRole)
	if role.AggregationRule == nil {
		return nil
	}
	var all []*rbacv1.ClusterRole
	for _, o := range c.roles.List() {
		all = append(all, o.(*rbacv1.ClusterRole))
	}
	run.Look(len(all))
	rules, parts, err := Sum(role, all)
	if err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(rules, role.Rules) {
		return nil
	}
	run.Act("apply", client.RefOf(role), len(rules), len(role.Rules),
		"ClusterRole %s selects %s, with %d different rules together; its own are not these, but %d: apply the sum", role.Name, named(parts), len(rules), len(role.Rules))
	configuration, err := applied(role.Name, rules)
	if err != nil {
		return err
	}
	_, err = c.Client.Apply(run.T, client.ClusterRoles, "", role.Name, configuration, Name)
	return err
}

// applied is the configuration that gives a role its rules (applyClusterRoles).
func applied(name string, rules []rbacv1.PolicyRule) ([]byte, error) {
	configuration := rbacv1ac.ClusterRole(name)
	for _, r := range rules {
		configuration.WithRules(&rbacv1ac.PolicyRuleApplyConfiguration{
			Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames, NonResourceURLs: r.NonResourceURLs,
		})
	}
	return json.Marshal(configuration)
}
