package clusterroleaggregation

import (
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func label(to string) map[string]string {
	return map[string]string{"rbac.authorization.k8s.io/aggregate-to-" + to: "true"}
}

// role is one with a rule for each of the resources.
func role(name string, labels map[string]string, resources ...string) *rbacv1.ClusterRole {
	r := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	for _, of := range resources {
		r.Rules = append(r.Rules, rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"example.com"}, Resources: []string{of}})
	}
	return r
}

// sum is one that has those labelled for it.
func sum(name string, labels map[string]string, resources ...string) *rbacv1.ClusterRole {
	r := role(name, labels, resources...)
	r.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: label(name)}}}
	return r
}

// A role that is labelled, changed, relabelled and deleted is felt by those it is a part of,
// from one to the next, and by no others; what somebody writes into a sum is put right.
func TestSumsFollowTheirParts(tt *testing.T) {
	b := clienttest.Run(tt, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		create := func(r *rbacv1.ClusterRole) { clienttest.Must(client.Create(t, c, client.ClusterRoles, "", r)) }
		get := func(name string) *rbacv1.ClusterRole {
			return clienttest.Must(client.Get[*rbacv1.ClusterRole](t, c, client.ClusterRoles, "", name)).DeepCopy()
		}
		update := func(name string, change func(*rbacv1.ClusterRole)) {
			r := get(name)
			change(r)
			clienttest.Must(client.Update(t, c, client.ClusterRoles, "", r))
			t.Sleep(time.Second)
		}
		has := func(name string, resources ...string) {
			if got, want := get(name), role(name, nil, resources...); len(got.Rules) != len(want.Rules) {
				tt.Errorf("%s has %v, want %v", name, got.Rules, resources)
			} else {
				for i := range want.Rules {
					if got.Rules[i].Resources[0] != want.Rules[i].Resources[0] {
						tt.Errorf("%s has %v, want %v", name, got.Rules, resources)
					}
				}
			}
		}
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
		f := informer.NewFactory(p, p.Lane, c)
		create(sum("admin", nil))
		create(sum("edit", label("admin")))
		create(sum("view", label("edit")))
		create(role("pods-view", label("view"), "pods"))
		create(role("other", nil, "secrets"))
		New(reconcile.NewEnv(p, Name, Name, c, f, 1)).Start()
		f.Start()
		clienttest.Note(t, "it finds three sums that are empty")
		t.Sleep(time.Second)
		has("view", "pods")
		has("edit", "pods")
		has("admin", "pods")

		clienttest.Note(t, "a role for a kind of one's own, which two parts have a rule for")
		create(role("gadgets-view", label("view"), "gadgets", "pods"))
		t.Sleep(time.Second)
		has("admin", "gadgets", "pods")

		clienttest.Note(t, "it is for editors only")
		update("gadgets-view", func(r *rbacv1.ClusterRole) { r.Labels = label("edit") })
		has("view", "pods")
		has("edit", "gadgets", "pods")

		clienttest.Note(t, "somebody writes into a sum, and somebody changes what is no part of one")
		update("view", func(r *rbacv1.ClusterRole) { r.Rules = role("", nil, "everything").Rules })
		update("other", func(r *rbacv1.ClusterRole) { r.Rules = nil })
		has("view", "pods")

		clienttest.Note(t, "the parts go")
		for _, name := range []string{"gadgets-view", "pods-view"} {
			_ = c.Delete(t, client.ClusterRoles, "", name, metav1.DeleteOptions{})
		}
		t.Sleep(time.Second)
		has("admin")

		clienttest.Note(t, "a selector that cannot be read is told, and tried again later")
		bad := sum("bad", nil)
		bad.AggregationRule.ClusterRoleSelectors[0].MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}
		create(bad)
		t.Sleep(20 * time.Millisecond)
	})
	clienttest.Golden(tt, "life.txt", b.Transcript(trace.ReconcileAction, trace.ReconcileEnd, trace.CommandStart))
}
