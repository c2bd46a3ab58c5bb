package view_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// budgetOf is a budget over app=web; least is its minAvailable, or, with a minus before it, its maxUnavailable.
func budgetOf(name, rule string, st policyv1.PodDisruptionBudgetStatus, edits ...func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}, Status: st}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	text, most := strings.CutPrefix(rule, "-")
	n := intstr.Parse(text)
	if most {
		b.Spec.MaxUnavailable = &n
	} else {
		b.Spec.MinAvailable = &n
	}
	b.Status.ObservedGeneration = 1
	for _, e := range edits {
		e(b)
	}
	return b
}

func appWeb(p *corev1.Pod) { p.Labels["app"] = "web" }

func runningUnready(p *corev1.Pod) {
	unready(p)
	p.Status.Phase = corev1.PodRunning
}

func counted(expected, desired, healthy, allowed int32) policyv1.PodDisruptionBudgetStatus {
	return policyv1.PodDisruptionBudgetStatus{ExpectedPods: expected, DesiredHealthy: desired, CurrentHealthy: healthy, DisruptionsAllowed: allowed}
}

// asksToEvict is an eviction that was asked for, and its answer.
func asksToEvict(number uint64, pod string, code int, message string, at time.Duration) []*trace.Event {
	req := because(trace.RequestReceived, &trace.Request{Request: number, Verb: "create", Resource: "pods", Subresource: "eviction", Namespace: "demo", Name: pod, User: "kubernetes-admin", Client: "kubectl/v1.37.1"})
	done := because(trace.RequestDone, &trace.Response{Request: number, Verb: "create", Code: code, Message: message})
	req.At, done.At = at, at
	return []*trace.Event{req, done}
}

// What kviz why says of a budget, of a pod whose eviction it refused, and of the node that is drained.
func TestBudgetsSayWhatTheyAllow(t *testing.T) {
	pod := func(name string, edits ...podEdit) *corev1.Pod {
		return podOf("ReplicaSet", "web", name, append([]podEdit{appWeb}, edits...)...)
	}
	const no = "Cannot evict pod as it would violate the pod's disruption budget."
	always := policyv1.AlwaysAllow
	last := asked.Sub(noon)
	refused := append(append(asksToEvict(1, "web-1", 429, no, last-15*time.Second), asksToEvict(2, "web-1", 429, no, last-10*time.Second)...), asksToEvict(3, "web-1", 429, no, last-5*time.Second)...)
	for _, c := range []struct {
		name    string
		of      string
		objects []runtime.Object
		events  []*trace.Event
		want    string
		from    []string
	}{
		{
			name: "a percentage is rounded up", objects: []runtime.Object{budgetOf("web", "50%", counted(5, 3, 4, 1)), pod("web-1"), pod("web-2", runningUnready)},
			want: "PodDisruptionBudget demo/web: it allows 1 eviction: 4 of 5 healthy, and 3 must be (minAvailable 50%: 50% of 5 = 2.5, rounded up 3)",
			from: []string{
				"pod web-1: is ready on node-1",
				"pod web-2: container web waits: ImagePullBackOff, may be evicted: enough others are healthy (IfHealthyBudget)",
			},
		},
		{
			name: "as many as may be missing are", objects: []runtime.Object{budgetOf("web", "-25%", counted(5, 3, 3, 0))},
			want: "PodDisruptionBudget demo/web: it allows no eviction: 3 of 5 healthy, and 3 must be (maxUnavailable 25%: 5 − (25% of 5 = 1.25, rounded up 2) = 3)",
		},
		{
			name: "never", objects: []runtime.Object{budgetOf("web", "1", counted(1, 1, 1, 0)), pod("web-1")},
			want: "PodDisruptionBudget demo/web: it never allows an eviction: even with all of its pods healthy none is left over; 1 of 1 healthy, and 1 must be (minAvailable 1)",
		},
		{
			name: "not ready, and too few are", objects: []runtime.Object{budgetOf("web", "2", counted(3, 2, 1, 0)), pod("web-1", runningUnready)},
			want: "PodDisruptionBudget demo/web: it allows no eviction: 1 of 3 healthy, and 2 must be (minAvailable 2)",
			from: []string{"pod web-1: container web waits: ImagePullBackOff, may not be evicted either: too few others are healthy (IfHealthyBudget)"},
		},
		{
			name: "not ready, always", objects: []runtime.Object{budgetOf("web", "2", counted(3, 2, 1, 0), func(b *policyv1.PodDisruptionBudget) { b.Spec.UnhealthyPodEvictionPolicy = &always }), pod("web-1", runningUnready)},
			want: "PodDisruptionBudget demo/web: it allows no eviction: 1 of 3 healthy, and 2 must be (minAvailable 2)",
			from: []string{"pod web-1: container web waits: ImagePullBackOff, may be evicted: unhealthyPodEvictionPolicy is AlwaysAllow"},
		},
		{
			name: "granted, and not seen yet", objects: []runtime.Object{budgetOf("web", "2", counted(3, 2, 2, 0), func(b *policyv1.PodDisruptionBudget) {
				b.Status.DisruptedPods = map[string]metav1.Time{"web-1": metav1.NewTime(asked.Add(-3 * time.Second))}
			}), pod("web-1")},
			want: "PodDisruptionBudget demo/web: it allows no eviction: 2 of 3 healthy, and 2 must be (minAvailable 2); 1 eviction granted whose deletion is still to be seen",
			from: []string{"pod web-1: is ready on node-1, not counted: its eviction was granted 3 s ago"},
		},
		{
			name: "no pods", objects: []runtime.Object{budgetOf("web", "2", counted(0, 2, 0, 0))},
			want: "PodDisruptionBudget demo/web: it selects no pods, and where none is expected none may be evicted",
		},
		{
			name: "not counted", objects: []runtime.Object{budgetOf("web", "2", counted(3, 2, 3, 1), func(b *policyv1.PodDisruptionBudget) { b.Generation = 2 })},
			want: "PodDisruptionBudget demo/web: its controller has not counted its pods since it was written, and until then no eviction is allowed",
		},
		{
			name: "cannot be counted", objects: []runtime.Object{budgetOf("web", "-1", counted(3, 2, 3, 0), func(b *policyv1.PodDisruptionBudget) {
				b.Status.Conditions = []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.SyncFailedReason, Message: `found no controllers for pod "web-1"`}}
			})},
			want: `PodDisruptionBudget demo/web: it allows no eviction, because its controller could not count its pods: found no controllers for pod "web-1"`,
		},
		{
			name: "of a pod", of: "Pod/web-1", objects: []runtime.Object{budgetOf("web", "2", counted(2, 2, 2, 0)), pod("web-1")}, events: refused,
			want: "The eviction of Pod demo/web-1 was refused 3 times to kubectl, last 5 s ago: Cannot evict pod as it would violate the pod's disruption budget",
			from: []string{"PodDisruptionBudget demo/web: it never allows an eviction: even with all of its pods healthy none is left over; 2 of 2 healthy, and 2 must be (minAvailable 2)"},
		},
		{
			name: "of a pod with two budgets", of: "Pod/web-1", objects: []runtime.Object{budgetOf("web", "1", counted(2, 1, 2, 1)), budgetOf("also", "1", counted(2, 1, 2, 1)), pod("web-1")},
			events: asksToEvict(1, "web-1", 500, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", last),
			want:   "The eviction of Pod demo/web-1 was refused once to kubectl, last 1 s ago: This pod has more than one PodDisruptionBudget, which the eviction subresource does not support",
			from: []string{
				"PodDisruptionBudget demo/also: it allows 1 eviction: 2 of 2 healthy, and 1 must be (minAvailable 1)", "PodDisruptionBudget demo/web: it allows 1 eviction: 2 of 2 healthy, and 1 must be (minAvailable 1)",
				"an eviction: is refused for a pod that several budgets count, whatever they allow: one of them has to go, or to select less",
			},
		},
		{
			name: "granted in the end", of: "Pod/web-1", objects: []runtime.Object{budgetOf("web", "2", counted(3, 2, 3, 1)), pod("web-1", going)},
			events: append(refused[:len(refused):len(refused)], asksToEvict(4, "web-1", 201, "", last)...),
			want:   "Pod demo/web-1 is being deleted: the kubelet of node-1 gives its containers up to 30 s to end, then kills them and confirms the deletion",
		},
		{
			name: "of a node", of: "Node/node-1", events: refused,
			objects: []runtime.Object{nodeWith("node-1", nil), budgetOf("web", "2", counted(2, 2, 2, 0)), pod("web-1"), pod("web-2", going)},
			want:    "Node node-1 is cordoned (spec.unschedulable), so no new pod comes to it, and is not empty yet: the eviction of 1 pod was refused and 1 pod is being deleted",
			from: []string{
				"pod demo/web-1: refused 3 times to kubectl, last 5 s ago: Cannot evict pod as it would violate the pod's disruption budget; PodDisruptionBudget demo/web: it never allows an eviction: even with all of its pods healthy none is left over; 2 of 2 healthy, and 2 must be (minAvailable 2)",
				"pod demo/web-2: it is being deleted: the kubelet of node-1 gives its containers up to 30 s to end, then kills them and confirms the deletion",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if n, ok := c.objects[0].(*corev1.Node); ok {
				n.Spec.Unschedulable = true
			}
			s := standing(t, c.objects...)
			if len(c.events) > 0 {
				s = standingWith(t, c.events, c.objects...)
			}
			kind, name := "PodDisruptionBudget", "web"
			if k, n, ok := strings.Cut(c.of, "/"); ok {
				kind, name = k, n
			}
			var o *view.Object
			for _, resource := range []string{"pods", "nodes", "poddisruptionbudgets"} {
				for _, x := range append(s.Objects(resource, "demo"), s.Objects(resource, "")...) {
					if x.Ref.Kind == kind && x.Name() == name {
						o = x
					}
				}
			}
			all := s.Reasons(o)
			if len(all) == 0 || all[0].Says != c.want {
				t.Fatalf("got  %+v\nwant %s", all, c.want)
			}
			var from []string
			for _, k := range all[0].From {
				from = append(from, k.What+": "+k.Why)
			}
			if c.from != nil && strings.Join(from, "\n") != strings.Join(c.from, "\n") {
				t.Errorf("from\n%s\nwant\n%s", strings.Join(from, "\n"), strings.Join(c.from, "\n"))
			}
		})
	}
}
