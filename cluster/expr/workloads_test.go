package expr_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/expr"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Expressions reach what the state counts of a workload, so that one can stop at the event that breaks a rollout's invariant.
func TestWorkloads(t *testing.T) {
	b := view.NewBuilder()
	seq := uint64(0)
	write := func(kind, name, owner string, make func(metav1.ObjectMeta) runtime.Object) {
		m := metav1.ObjectMeta{Namespace: "demo", Name: name, UID: types.UID(name)}
		if owner != "" {
			yes := true
			m.OwnerReferences = []metav1.OwnerReference{{Kind: "Any", Name: owner, UID: types.UID(owner), Controller: &yes}}
		}
		seq++
		ref := trace.Ref{Kind: kind, Namespace: "demo", Name: name}
		b.Apply(&trace.Event{ID: trace.ID{Seq: seq}, Kind: trace.StoreCommit, Object: ref, Payload: &trace.Commit{
			Revision: int64(seq), Changes: []trace.KeyChange{{Key: kind + name, Object: ref, Value: trace.Obj(make(m))}},
		}})
	}
	replicas, indexed := int32(2), batchv1.IndexedCompletion
	write("Deployment", "web", "", func(m metav1.ObjectMeta) runtime.Object {
		return &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{Replicas: &replicas}}
	})
	write("ReplicaSet", "web-1", "web", func(m metav1.ObjectMeta) runtime.Object {
		return &appsv1.ReplicaSet{ObjectMeta: m, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}}
	})
	for name, ready := range map[string]corev1.ConditionStatus{"a": corev1.ConditionTrue, "b": corev1.ConditionFalse} {
		write("Pod", name, "web-1", func(m metav1.ObjectMeta) runtime.Object {
			return &corev1.Pod{ObjectMeta: m, Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}}
		})
	}
	write("Job", "pi", "", func(m metav1.ObjectMeta) runtime.Object {
		failed := "4"
		return &batchv1.Job{ObjectMeta: m, Spec: batchv1.JobSpec{Completions: &[]int32{10}[0], CompletionMode: &indexed}, Status: batchv1.JobStatus{Succeeded: 3, CompletedIndexes: "0-2", FailedIndexes: &failed}}
	})
	s := b.Mark()
	for src, want := range map[string]bool{
		`rollout("deployments", "demo", "web").total == 2 && rollout("deploy", "demo", "web").available == 1`:   true,
		`rollout("deployments", "demo", "web").held && rollout("deployments", "demo", "web").least == 1`:        true,
		`rollout("deployments", "demo", "web").done`:                                                            false,
		`rollout("deployments", "demo", "web").revisions[0].ready == 1`:                                         true,
		`rollout("deployments", "demo", "none") == null`:                                                        true,
		`rollout("jobs", "demo", "pi") == null`:                                                                 true,
		`owned("replicasets", "demo", "web-1").exists(f, f.resource == "pods" && f.ready == 1 && f.total == 2)`: true,
		`owned("deployments", "demo", "web")[0].resource == "replicasets"`:                                      true,
		`owned("deployments", "demo", "none").size() == 0`:                                                      true,
		`job("demo", "pi").succeeded == 3 && job("demo", "pi").completions == 10`:                               true,
		`job("demo", "pi").lost[0].from == 4 && job("demo", "pi").notBegun.exists(r, r.from == 5 && r.to == 9)`: true,
		`job("demo", "pi").retried.size() == 0`:                                                                 true,
		`job("demo", "none") == null`:                                                                           true,
	} {
		p, err := expr.Compile(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got, err := p.Eval(s, nil); err != nil || got != want {
			t.Errorf("%s is %t (%v), want %t", src, got, err, want)
		}
	}
	for src, want := range map[string]string{
		`rollout("depl`:                      `rollout("deployments"`,
		`rollout("deployments", "demo", "w`:  `rollout("deployments", "demo", "web"`,
		`job("d`:                             `job("demo"`,
		`job("demo", "p`:                     `job("demo", "pi"`,
		`owned("replicasets", "demo", "web-`: `owned("replicasets", "demo", "web-1"`,
		`rollout("jobs", "demo", "pi").hel`:  `rollout("jobs", "demo", "pi").held`,
	} {
		head, words := expr.Complete(src, s)
		if len(words) != 1 || head+words[0] != want {
			t.Errorf("%s is completed by %s%q, want %s", src, head, words, want)
		}
	}
	if _, err := expr.Compile(`rollout("deployments", "demo", "web").hled`); err == nil || !strings.Contains(err.Error(), `did you mean "held"?`) {
		t.Errorf("a name that a rollout has not is refused by %v", err)
	}
}
