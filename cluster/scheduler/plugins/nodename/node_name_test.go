package nodename

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/scheduler/framework"
)

func TestNodeName(t *testing.T) {
	node := framework.NewNodeInfo(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "foo"}})
	for name, tt := range map[string]struct {
		pod  corev1.Pod
		want string
	}{
		"no host specified": {corev1.Pod{}, ""},
		"host matches":      {corev1.Pod{Spec: corev1.PodSpec{NodeName: "foo"}}, ""},
		"host doesn't match": {
			corev1.Pod{Spec: corev1.PodSpec{NodeName: "bar"}},
			"node(s) didn't match the requested node name",
		},
	} {
		pl := &NodeName{}
		got := pl.Filter(&framework.CycleState{}, &tt.pod, node)
		if got.Message() != tt.want || (tt.want != "" && got.Code() != framework.UnschedulableAndUnresolvable) {
			t.Errorf("%s: %v %q, want %q", name, got.Code(), got.Message(), tt.want)
		}
		pre, _ := pl.PreFilter(nil, &tt.pod, nil)
		if (pre != nil) != (tt.pod.Spec.NodeName != "") || pre != nil && !pre.NodeNames[tt.pod.Spec.NodeName] {
			t.Errorf("%s: PreFilter %v", name, pre)
		}
	}
}
