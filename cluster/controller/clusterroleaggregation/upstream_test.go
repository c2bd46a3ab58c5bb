package clusterroleaggregation

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	upstream "k8s.io/kubernetes/pkg/controller/clusterroleaggregation"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Upstream's controller and this one leave the same rules in a sum, and own the same fields
// of it by the same name and operation.
func TestOwnsWhatUpstreamOwns(tt *testing.T) {
	roles := []*rbacv1.ClusterRole{
		sum("view", label("edit")), sum("edit", nil),
		role("pods-view", label("view"), "pods"), role("gadgets-view", label("view"), "gadgets", "pods"),
	}
	roles[0].Rules = role("", nil, "stale").Rules

	clientset := fake.NewClientset()
	ctx, cancel := context.WithTimeout(tt.Context(), time.Minute)
	defer cancel()
	for _, r := range roles {
		clienttest.Must(clientset.RbacV1().ClusterRoles().Create(ctx, r.DeepCopy(), metav1.CreateOptions{}))
	}
	f := informers.NewSharedInformerFactory(clientset, 0)
	controller := upstream.NewClusterRoleAggregation(f.Rbac().V1().ClusterRoles(), clientset.RbacV1())
	f.Start(ctx.Done())
	go controller.Run(ctx, 1)
	theirs := map[string]*rbacv1.ClusterRole{}
	for len(theirs) < 2 {
		for _, name := range []string{"view", "edit"} {
			if r := clienttest.Must(clientset.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})); len(r.Rules) == 2 {
				theirs[name] = r
			}
		}
		if ctx.Err() != nil {
			tt.Fatal("upstream's controller has not summed them up")
		}
		time.Sleep(time.Millisecond)
	}

	clienttest.Run(tt, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		for _, r := range roles {
			clienttest.Must(client.Create(t, c, client.ClusterRoles, "", r.DeepCopy()))
		}
		p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
		f := informer.NewFactory(p, p.Lane, c)
		New(reconcile.NewEnv(p, Name, Name, c, f, 1)).Start()
		f.Start()
		t.Sleep(time.Second)
		for name, want := range theirs {
			got := clienttest.Must(client.Get[*rbacv1.ClusterRole](t, c, client.ClusterRoles, "", name))
			if diff := cmp.Diff(want.Rules, got.Rules); diff != "" {
				tt.Errorf("%s has other rules than upstream's (-want +got):\n%s", name, diff)
			}
			if diff := cmp.Diff(owned(want), owned(got)); diff != "" || len(owned(got)) != 1 {
				tt.Errorf("of %s the controller owns other fields than upstream's (-want +got):\n%s", name, diff)
			}
		}
	})
}

// owned is what the controller owns of a role, whenever it did so.
func owned(r *rbacv1.ClusterRole) (all []metav1.ManagedFieldsEntry) {
	for _, e := range r.ManagedFields {
		if e.Manager == Name {
			e.Time = nil
			all = append(all, e)
		}
	}
	return all
}
