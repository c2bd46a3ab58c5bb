package nodeunschedulable

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/scheduler/framework"
)

func node(cordoned bool) *corev1.Node {
	return &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: cordoned}}
}

func TestCordonedNode(t *testing.T) {
	tolerant := corev1.Pod{Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}}}
	for name, tt := range map[string]struct {
		pod      corev1.Pod
		cordoned bool
		want     string
	}{
		"schedulable node":              {corev1.Pod{}, false, ""},
		"cordoned node":                 {corev1.Pod{}, true, "node(s) were unschedulable"},
		"cordoned node, tolerating pod": {tolerant, true, ""},
	} {
		got := (&NodeUnschedulable{}).Filter(nil, &tt.pod, framework.NewNodeInfo(node(tt.cordoned)))
		if got.Message() != tt.want {
			t.Errorf("%s: %q, want %q", name, got.Message(), tt.want)
		}
	}
}

func TestHints(t *testing.T) {
	for name, tt := range map[string]struct {
		old, new *corev1.Node
		want     bool
	}{
		"new node":          {nil, node(false), true},
		"new cordoned node": {nil, node(true), false},
		"uncordoned":        {node(true), node(false), true},
		"cordoned":          {node(false), node(true), false},
		"as before":         {node(false), node(false), false},
	} {
		if got := afterNodeChange(&corev1.Pod{}, tt.old, tt.new); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
