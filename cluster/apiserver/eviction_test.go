package apiserver

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"kviz/cluster/apiserver/caches"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// guarded makes a running pod, ready or not.
func guarded(w *world, t *sim.Task, name string, ready bool) {
	w.t.Helper()
	c := w.admin()
	p := pod(name)
	p.Labels = map[string]string{"app": "web"}
	p.Spec.NodeName = "node-1"
	p, err := client.Create(t, c, client.Pods, "default", p)
	w.must(err)
	p.Status.Phase = corev1.PodRunning
	if ready {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	}
	_, err = client.UpdateStatus(t, c, client.Pods, "default", p)
	w.must(err)
}

// budgetOf makes a PodDisruptionBudget with the status a controller would give it.
func budgetOf(w *world, t *sim.Task, name string, status policyv1.PodDisruptionBudgetStatus) {
	w.t.Helper()
	c, one := w.admin(), intstr.FromInt32(1)
	b, err := client.Create(t, c, client.PodDisruptionBudgets, "default", &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	})
	w.must(err)
	b.Status = status
	_, err = client.UpdateStatus(t, c, client.PodDisruptionBudgets, "default", b)
	w.must(err)
}

// why is an error with its cause, as kubectl drain logs it.
func why(err error) string {
	if err == nil {
		return "evicted"
	}
	st := request.StatusOf(err)
	out := fmt.Sprintf("%d %s", st.Code, st.Message)
	if st.Details != nil {
		for _, c := range st.Details.Causes {
			out += "; " + c.Message
		}
		if st.Details.RetryAfterSeconds > 0 {
			out += fmt.Sprintf("; again in %d s", st.Details.RetryAfterSeconds)
		}
	}
	return out
}

// What a budget says of an eviction, in the words of Kubernetes
// (pkg/registry/core/pod/storage/eviction.go).
func TestEvictionAsksTheBudget(t *testing.T) {
	const no = "429 Cannot evict pod as it would violate the pod's disruption budget.; The disruption budget web "
	for _, c := range []struct {
		name    string
		status  policyv1.PodDisruptionBudgetStatus
		unready bool
		second  bool // there is another budget
		want    string
		left    int32 // disruptions allowed afterwards
	}{
		{"allowed", policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 2, CurrentHealthy: 3, DesiredHealthy: 1}, false, false, "evicted", 1},
		{"none left", policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, CurrentHealthy: 1, DesiredHealthy: 1}, false, false, no + "needs 1 healthy pods and has 1 currently", 0},
		{"enough are healthy", policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, CurrentHealthy: 3, DesiredHealthy: 1}, false, false, no + "does not allow evicting pods currently", 0},
		{"the sync failed", policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, Conditions: []metav1.Condition{{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason, Message: "found no controllers", LastTransitionTime: metav1.Unix(1, 0),
		}}}, false, false, no + "does not allow evicting pods currently because it failed sync: found no controllers", 0},
		{"not observed yet", policyv1.PodDisruptionBudgetStatus{}, false, false, no + "is still being processed by the server.; again in 10 s", 0},
		{"not ready, the others are enough", policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, CurrentHealthy: 1, DesiredHealthy: 1}, true, false, "evicted", 0},
		{"not ready, the others are too few", policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, CurrentHealthy: 0, DesiredHealthy: 1}, true, false, no + "needs 1 healthy pods and has 0 currently", 0},
		{"two budgets", policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 2}, false, true, "500 in the body", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, Config{}, func(w *world, task *sim.Task) {
				defaultAccount(w, task)
				guarded(w, task, "web-1", !c.unready)
				budgetOf(w, task, "web", c.status)
				if c.second {
					budgetOf(w, task, "also", c.status)
				}
				answer, err := w.admin().CreateSub(task, client.Pods, "default", "web-1", "eviction", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}})
				got := why(err)
				if st, ok := answer.(*metav1.Status); ok && err == nil && st.Code == 500 && strings.Contains(st.Message, "more than one PodDisruptionBudget") {
					got = "500 in the body"
				}
				if got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
				b, err := client.Get[*policyv1.PodDisruptionBudget](task, w.admin(), client.PodDisruptionBudgets, "default", "web")
				w.must(err)
				if b.Status.DisruptionsAllowed != c.left {
					t.Errorf("%d disruptions are left, want %d", b.Status.DisruptionsAllowed, c.left)
				}
				p, err := client.Get[*corev1.Pod](task, w.admin(), client.Pods, "default", "web-1")
				w.must(err)
				if evicted := p.DeletionTimestamp != nil; evicted != (c.want == "evicted") {
					t.Errorf("the pod is being deleted: %v", evicted)
				} else if _, told := podutil.GetPodCondition(&p.Status, corev1.DisruptionTarget); evicted != (told != nil) {
					t.Errorf("being deleted: %v, condition DisruptionTarget: %v", evicted, told)
				}
			})
		})
	}
}

// One disruption is not spent twice: of two evictions the second is refused.
func TestEvictionChargesTheBudget(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		guarded(w, task, "web-1", true)
		guarded(w, task, "web-2", true)
		budgetOf(w, task, "web", policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 1, CurrentHealthy: 2, DesiredHealthy: 1})
		var got []string
		for _, name := range []string{"web-1", "web-2"} {
			_, err := w.admin().CreateSub(task, client.Pods, "default", name, "eviction", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}})
			got = append(got, why(err))
		}
		want := "evicted|429 Cannot evict pod as it would violate the pod's disruption budget.; The disruption budget web does not allow evicting pods currently"
		if strings.Join(got, "|") != want {
			t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
		}
	})
}

// Events of the two groups are the same objects, as are HorizontalPodAutoscalers
// of the two versions: what is written in one is read, listed and watched in the
// other.
func TestSameObjectInTwoVersions(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		c := w.admin()
		watch, err := c.Watch(task, client.NewEvents, "default", metav1.ListOptions{ResourceVersion: "0"})
		w.must(err)
		at := metav1.NewMicroTime(task.Now())
		_, err = c.Create(task, client.Events, "default", &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "web.1", Namespace: "default"}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "web"},
			Reason: "Scaled", Message: "one more", Type: "Normal", EventTime: at, ReportingController: "example.com/scaler", ReportingInstance: "scaler-1", Action: "Scale",
		})
		w.must(err)
		e, ok := watch.Recv(task)
		if n, is := e.Object.(*eventsv1.Event); !ok || !is || n.Note != "one more" || n.Regarding.Name != "web" {
			t.Errorf("the watch of the new Events told of %T %v", e.Object, e.Object)
		}
		for selector, want := range map[string]int{"regarding.name=web": 1, "regarding.name=other": 0, "reportingController=example.com/scaler": 1} {
			items, _, err := c.List(task, client.NewEvents, "default", metav1.ListOptions{FieldSelector: selector})
			if w.must(err); len(items) != want {
				t.Errorf("%s: %d Events, want %d", selector, len(items), want)
			}
		}
		_, err = c.Patch(task, client.NewEvents, "default", "web.1", types.MergePatchType, []byte(`{"series":{"count":2,"lastObservedTime":"2026-01-01T03:00:00.000000Z"}}`), "")
		w.must(err)
		old, err := client.Get[*corev1.Event](task, c, client.Events, "default", "web.1")
		w.must(err)
		if old.Message != "one more" || old.Series == nil || old.Series.Count != 2 {
			t.Errorf("the old Event is %+v", old)
		}
		w.must(c.Delete(task, client.NewEvents, "default", "web.1", metav1.DeleteOptions{}))
		if _, err := c.Get(task, client.Events, "default", "web.1"); !apierrors.IsNotFound(err) {
			t.Errorf("after its deletion as a new Event: %v", err)
		}
	})
}

// A kind that nobody uses has no watch at the store; a list begins it, and after a
// restart the server knows from the keys which kinds have objects.
func TestKindsOnDemand(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		open := len(w.s.caches.All())
		if open != len(caches.Always()) {
			t.Errorf("%d watch caches are open, %d kinds are always watched", open, len(caches.Always()))
		}
		k := registry.KindFor(client.StorageClasses.GroupVersionResource)
		items, revision, err := w.admin().List(task, client.StorageClasses, "", metav1.ListOptions{ResourceVersion: "0"})
		if w.must(err); len(items) != 0 || revision == 0 || w.s.caches.Opened(k) == nil || w.s.caches.InUse(k) {
			t.Errorf("the first list: %d items at %d, cache %v, in use %v", len(items), revision, w.s.caches.Opened(k) != nil, w.s.caches.InUse(k))
		}
		w.must(w.ask(task, &request.Request{Verb: "create", Resource: k.GroupVersionResource, Body: []byte(`{"metadata":{"name":"fast"},"provisioner":"disks.example.com"}`)}).Err)
		usage := w.admin().(client.Usage)
		if used := usage.AwaitUse(task, 0); len(used) != 1 || used[0] != client.StorageClasses {
			t.Errorf("in use: %v", used)
		}
		w.s.p.Kill()
		w.s.peers.usage = newPeers().usage
		w.s.caches.Usage = w.s.peers.usage
		w.s.Restart(w.k.NewProcess(w.s.p.Lane))
		w.s.WaitReady(task)
		if used := usage.UsedKinds(); len(used) != 1 || w.s.caches.Opened(k) != nil {
			t.Errorf("after the restart: in use %v, cache %v", used, w.s.caches.Opened(k) != nil)
		}
	})
}

// Those who watch a pod see why it goes before it goes: the condition is a write of its own
// (addConditionAndDeletePod). A pod without a node goes without a look at its budget, and a
// dry run writes nothing.
func TestEvictionSaysWhyFirst(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		c := w.admin()
		guarded(w, task, "web-1", true)
		p := pod("web-2")
		p.Labels = map[string]string{"app": "web"}
		_, err := client.Create(task, c, client.Pods, "default", p)
		w.must(err)
		budgetOf(w, task, "web", policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 1, CurrentHealthy: 2, DesiredHealthy: 1})
		watch, err := c.Watch(task, client.Pods, "default", metav1.ListOptions{})
		w.must(err)
		for range 2 { // as they are
			watch.Recv(task)
		}
		evict := func(name string, dry ...string) {
			_, err := c.CreateSub(task, client.Pods, "default", name, "eviction", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}, DeleteOptions: &metav1.DeleteOptions{DryRun: dry}})
			w.must(err)
		}
		evict("web-1", metav1.DryRunAll)
		evict("web-1")
		evict("web-2")
		var got []string
		for len(got) < 4 {
			e, ok := watch.Recv(task)
			if !ok {
				t.Fatal("the watch has ended")
			}
			p := e.Object.(*corev1.Pod)
			_, why := podutil.GetPodCondition(&p.Status, corev1.DisruptionTarget)
			got = append(got, fmt.Sprintf("%s %s, going %v, told why %v", e.Type, p.Name, p.DeletionTimestamp != nil, why != nil))
		}
		want := []string{
			"MODIFIED web-1, going false, told why true", "MODIFIED web-1, going true, told why true",
			"MODIFIED web-2, going false, told why true", "DELETED web-2, going false, told why true",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		b, err := client.Get[*policyv1.PodDisruptionBudget](task, c, client.PodDisruptionBudgets, "default", "web")
		w.must(err)
		if b.Status.DisruptionsAllowed != 0 || len(b.Status.DisruptedPods) != 1 {
			t.Errorf("after one eviction that a budget counts: %+v", b.Status)
		}
	})
}
