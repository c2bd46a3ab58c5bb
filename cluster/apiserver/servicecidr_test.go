package apiserver

import (
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/controlplane"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// A new cluster has its range as the ServiceCIDR kubernetes, which is Ready. Who deletes it, or
// its condition, finds it again within ten seconds; who says that it is not Ready is left alone.
func TestDefaultServiceCIDRIsKept(t *testing.T) {
	run(t, Config{ServiceCIDR: "10.96.7.0/20"}, func(w *world, task *sim.Task) {
		c := w.s.controllers.Client
		task.Sleep(time.Minute)
		before := w.s.st.Revision()
		if k := registry.KindFor(client.ServiceCIDRs.GroupVersionResource); w.s.caches.Opened(k) != nil || w.s.caches.InUse(k) {
			t.Error("nobody has asked for ServiceCIDRs, and they are watched")
		}
		get := func() *networkingv1.ServiceCIDR {
			got, err := client.Get[*networkingv1.ServiceCIDR](task, c, client.ServiceCIDRs, "", "kubernetes")
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		expectReady := func(what string) {
			t.Helper()
			got := get()
			if len(got.Spec.CIDRs) != 1 || got.Spec.CIDRs[0] != "10.96.0.0/20" || len(got.Status.Conditions) != 1 {
				t.Fatalf("%s: %v", what, got)
			}
			cond := got.Status.Conditions[0]
			if cond.Type != "Ready" || cond.Status != metav1.ConditionTrue || cond.Message != "Kubernetes default Service CIDR is ready" || cond.LastTransitionTime.Before(&got.CreationTimestamp) || got.UID == "" {
				t.Errorf("%s: %v", what, got)
			}
		}
		expectReady("in a new cluster")
		_, _, err := c.List(task, client.ServiceCIDRs, "", metav1.ListOptions{ResourceVersion: "0"})
		w.must(err)
		task.Sleep(time.Minute)
		if now := w.s.st.Revision(); now != before {
			t.Errorf("at rest the store went from revision %d to %d", before, now)
		}
		w.must(c.Delete(task, client.ServiceCIDRs, "", "kubernetes", metav1.DeleteOptions{}))
		task.Sleep(controlplane.ReconcileEvery + time.Second)
		expectReady("after it was deleted")

		bare := get()
		bare.Status.Conditions = nil
		_, err = client.UpdateStatus(task, c, client.ServiceCIDRs, "", bare)
		w.must(err)
		task.Sleep(controlplane.ReconcileEvery + time.Second)
		expectReady("after its condition was taken away")

		not := get()
		not.Status.Conditions[0].Status, not.Status.Conditions[0].Reason = metav1.ConditionFalse, "No"
		_, err = client.UpdateStatus(task, c, client.ServiceCIDRs, "", not)
		w.must(err)
		task.Sleep(time.Minute)
		if got := get(); got.Status.Conditions[0].Status != metav1.ConditionFalse {
			t.Errorf("what somebody said was overwritten: %v", got.Status)
		}

		_, _, err = w.st.Txn(task, &pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestDeleteRange{
			RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte("/registry/servicecidrs/kubernetes")},
		}}}})
		w.must(err)
		w.restart(task)
		task.Sleep(time.Second)
		c = w.s.controllers.Client
		expectReady("after the start on a store that had none")
	})
}
