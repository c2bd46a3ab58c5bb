package admission

import (
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/trace"
)

// TaintNodesByCondition is the plugin of that name (plugin/pkg/admission/nodetaint): a
// new node is not ready until its kubelet says so.
type TaintNodesByCondition struct{}

// Name is [Plugin].
func (TaintNodesByCondition) Name() string { return "TaintNodesByCondition" }

// Admit is [Mutating].
func (TaintNodesByCondition) Admit(_ *request.Scope, a *Attributes) (Result, error) {
	n, ok := a.Object.(*corev1.Node)
	if !ok || a.Operation != Create {
		return Result{}, nil
	}
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady && t.Effect == corev1.TaintEffectNoSchedule {
			return Result{}, nil
		}
	}
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
	return Result{
		Note: "tainted the node as not ready, until its kubelet reports otherwise.",
		Diff: []trace.FieldDiff{{Path: "spec.taints", To: `[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]`}},
	}, nil
}
