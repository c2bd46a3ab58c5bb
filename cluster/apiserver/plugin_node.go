package apiserver

import (
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// admitTaintNodes is the TaintNodesByCondition plugin
// (plugin/pkg/admission/nodetaint): a new node is not ready until its kubelet
// says so.
func admitTaintNodes(c *call, op operation) (string, []trace.FieldDiff, error) {
	n, ok := c.obj.(*corev1.Node)
	if !ok || op != opCreate {
		return "", nil, nil
	}
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady && t.Effect == corev1.TaintEffectNoSchedule {
			return "", nil, nil
		}
	}
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
	return "tainted the node as not ready, until its kubelet reports otherwise.",
		[]trace.FieldDiff{{Path: "spec.taints", To: `[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]`}}, nil
}
