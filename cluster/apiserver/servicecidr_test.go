package apiserver

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/controlplane"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/registry/service"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// A new cluster has its range as the ServiceCIDR kubernetes, which is Ready and has its
// finalizer. Where it or its condition has gone there is another within ten seconds; what
// somebody says, that it is not Ready, is left alone.
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
		expectReady := func(what, message string) {
			t.Helper()
			got := get()
			if len(got.Spec.CIDRs) != 1 || got.Spec.CIDRs[0] != "10.96.0.0/20" || len(got.Status.Conditions) != 1 {
				t.Fatalf("%s: %v", what, got)
			}
			cond := got.Status.Conditions[0]
			if cond.Type != "Ready" || cond.Status != metav1.ConditionTrue || cond.Message != message || cond.LastTransitionTime.Before(&got.CreationTimestamp) || got.UID == "" {
				t.Errorf("%s: %v", what, got)
			}
		}
		const all, own = "Kubernetes Service CIDR is ready", "Kubernetes default Service CIDR is ready"
		expectReady("in a new cluster", all)
		_, _, err := c.List(task, client.ServiceCIDRs, "", metav1.ListOptions{ResourceVersion: "0"})
		w.must(err)
		task.Sleep(time.Minute)
		if now := w.s.st.Revision(); now != before {
			t.Errorf("at rest the store went from revision %d to %d", before, now)
		}
		w.must(c.Delete(task, client.ServiceCIDRs, "", "kubernetes", metav1.DeleteOptions{}))
		if got := get(); got.DeletionTimestamp == nil || len(got.Finalizers) != 1 {
			t.Fatalf("its finalizer does not keep it: %v", got)
		}
		_, err = c.Patch(task, client.ServiceCIDRs, "", "kubernetes", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), "")
		w.must(err)
		task.Sleep(controlplane.ReconcileEvery + time.Second)
		expectReady("after it was deleted", own)

		bare := get()
		bare.Status.Conditions = nil
		_, err = client.UpdateStatus(task, c, client.ServiceCIDRs, "", bare)
		w.must(err)
		task.Sleep(controlplane.ReconcileEvery + time.Second)
		expectReady("after its condition was taken away", own)

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
		expectReady("after the start on a store that had none", own)
	})
}

// addresses are the IPAddresses that there are, and to what they refer.
func addresses(w *world, task *sim.Task) string {
	w.t.Helper()
	list, _, err := w.s.controllers.Client.List(task, client.IPAddresses, "", metav1.ListOptions{})
	w.must(err)
	var out []string
	for _, o := range list {
		ip := o.(*networkingv1.IPAddress)
		out = append(out, ip.Name+" "+ip.Spec.ParentRef.Namespace+"/"+ip.Spec.ParentRef.Name)
	}
	return strings.Join(out, ", ")
}

// Each cluster IP is an IPAddress that refers to its Service, and that goes with it; nobody
// watches them for that. Where another has made one, the address is his.
func TestClusterIPsAreIPAddresses(t *testing.T) {
	runServing(t, func(w serving) {
		k := registry.KindFor(client.IPAddresses.GroupVersionResource)
		named := func(ip string) string { return `"clusterIP":"` + ip + `",` + oneIP }
		w.must(w.create("a", named("10.96.0.3"), false))
		w.must(w.create("headless", `"clusterIP":"None"`, false))
		w.must(w.create("dry", oneIP, true))
		_, err := w.create("bad", named("10.96.0.4")+`,"sessionAffinity":"Sometimes"`, false)
		w.refused(err, "Unsupported value")
		if w.s.caches.Opened(k) != nil || w.s.caches.InUse(k) {
			t.Error("nobody has asked for IPAddresses, and they are watched")
		}
		if got, want := addresses(w.world, w.task), "10.96.0.1 default/kubernetes, 10.96.0.3 default/a"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		c := w.s.controllers.Client
		theirs := service.NewIPAddress("10.96.0.5", "default", "gateway")
		theirs.Labels[networkingv1.LabelManagedBy] = "gateway.example.com"
		_, err = client.Create(w.task, c, client.IPAddresses, "", theirs)
		w.world.must(err)
		_, err = w.create("b", named("10.96.0.5"), false)
		w.refused(err, "provided IP is already allocated")
		w.world.must(c.Delete(w.task, client.Services, "default", "a", metav1.DeleteOptions{}))
		w.must(w.create("c", named("10.96.0.3"), false))
		if got, want := addresses(w.world, w.task), "10.96.0.1 default/kubernetes, 10.96.0.3 default/c, 10.96.0.5 default/gateway"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// A full range is refused in upstream's words, and another ServiceCIDR gives addresses once it is Ready,
// until it is deleted.
func TestAnotherServiceCIDRGivesAddresses(t *testing.T) {
	run(t, Config{ServiceCIDR: "10.96.0.0/29"}, func(world *world, task *sim.Task) {
		w, c := serving{world, task}, world.s.controllers.Client
		for i := range 5 { // of eight addresses the first, the last and that of kubernetes are gone
			w.must(w.create(fmt.Sprint("full-", i), oneIP, false))
		}
		full := func() {
			t.Helper()
			_, err := w.create("more", oneIP, false)
			w.refused(err, `failed to allocate a serviceIP for Service "more": range is full`)
		}
		full()
		more, err := client.Create(task, c, client.ServiceCIDRs, "", &networkingv1.ServiceCIDR{
			ObjectMeta: metav1.ObjectMeta{Name: "more"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.112.0.0/30"}},
		})
		world.must(err)
		full()
		_, err = w.create("named", `"clusterIP":"10.112.0.1"`, false)
		w.refused(err, "the provided network does not match the current range")
		more.Finalizers = nil
		more.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(task.Now())}}
		more, err = client.UpdateStatus(task, c, client.ServiceCIDRs, "", more)
		world.must(err)
		got := map[string]bool{}
		for i := range 2 {
			got[w.must(w.create(fmt.Sprint("more-", i), oneIP, false)).Spec.ClusterIP] = true
		}
		if !got["10.112.0.1"] || !got["10.112.0.2"] {
			t.Errorf("the other range gave %v", got)
		}
		full()
		world.must(c.Delete(task, client.Services, "default", "more-1", metav1.DeleteOptions{}))
		more.Finalizers = []string{"example.com/hold"}
		_, err = client.Update(task, c, client.ServiceCIDRs, "", more)
		world.must(err)
		world.must(c.Delete(task, client.ServiceCIDRs, "", "more", metav1.DeleteOptions{}))
		full()
	})
}

// What Services and IPAddresses say of one another is put right when somebody has changed it,
// and where a store has Services without IPAddresses.
func TestIPAddressesAreRepaired(t *testing.T) {
	runServing(t, func(w serving) {
		a := w.must(w.create("a", oneIP, false)).Spec.ClusterIP
		b := w.must(w.create("b", oneIP, false)).Spec.ClusterIP
		want := addresses(w.world, w.task)
		c := w.s.controllers.Client
		w.world.must(c.Delete(w.task, client.IPAddresses, "", a, metav1.DeleteOptions{}))
		leaked := service.NewIPAddress("10.96.0.77", "default", "nobody")
		_, err := client.Create(w.task, c, client.IPAddresses, "", leaked)
		w.world.must(err)
		wrong := service.NewIPAddress("10.96.0.78", "default", "a")
		_, err = client.Create(w.task, c, client.IPAddresses, "", wrong)
		w.world.must(err)
		w.task.Sleep(4 * time.Minute)
		if got := addresses(w.world, w.task); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		var events []string
		list, _, err := c.List(w.task, client.Events, "", metav1.ListOptions{})
		w.world.must(err)
		for _, o := range list {
			e := o.(*corev1.Event)
			events = append(events, e.Reason+" "+e.InvolvedObject.Name)
		}
		slices.Sort(events)
		if got, want := strings.Join(events, ", "), "ClusterIPNotAllocated a, IPAddressNotAllocated 10.96.0.77, IPAddressWrongReference 10.96.0.78"; got != want {
			t.Errorf("the Events are %s, want %s", got, want)
		}
		_, _, err = w.st.Txn(w.task, &pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestDeleteRange{
			RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte("/registry/ipaddresses/" + b)},
		}}}})
		w.world.must(err)
		w.restart(w.task)
		w.task.Sleep(time.Second)
		if got := addresses(w.world, w.task); got != want {
			t.Errorf("after the start on a store that had %s: %s", want, got)
		}
	})
}
