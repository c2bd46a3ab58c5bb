package tuitest

import (
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kviz/cluster/trace"
)

// Guarded is a cluster with three pods of which a budget lets none go: one is not ready, and a drain was refused another
// three times.
func Guarded() *Tape {
	tape := Story()
	status := func(expected, desired, healthy int32) policyv1.PodDisruptionBudgetStatus {
		return policyv1.PodDisruptionBudgetStatus{
			ExpectedPods: expected, DesiredHealthy: desired, CurrentHealthy: healthy, DisruptionsAllowed: max(healthy-desired, 0), ObservedGeneration: 1,
			Conditions: []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason}},
		}
	}
	for _, p := range []struct{ name, phase string }{{"shop-a", "Ready"}, {"shop-b", "Ready"}, {"shop-c", "Running"}} {
		pod := Pod("demo", p.name, "", "node-1", p.phase, "10.244.1.9")
		pod.Labels = map[string]string{"app": "shop"}
		tape.Commit(Ref("Pod", "demo", p.name), "pods", pod)
	}
	half := intstr.FromString("50%")
	ref := trace.Ref{APIVersion: "policy/v1", Kind: "PodDisruptionBudget", Namespace: "demo", Name: "shop"}
	tape.Commit(ref, "poddisruptionbudgets", &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop", UID: "shop", Generation: 1},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &half, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}},
		Status:     status(3, 2, 2),
	})
	for range 3 {
		tape.After(5 * time.Second).Request(Call{
			Verb: "create", Resource: "pods", Sub: "eviction", Ref: Ref("Pod", "demo", "shop-a"), Client: "kubectl/v1.37.1", User: "kubernetes-admin",
			Refused: trace.StageValidation, Why: "Cannot evict pod as it would violate the pod's disruption budget.", Code: 429,
		})
	}
	return tape
}
