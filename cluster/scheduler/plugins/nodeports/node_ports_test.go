package nodeports

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/scheduler/framework"
)

func port(ip string, protocol corev1.Protocol, n int32) corev1.ContainerPort {
	return corev1.ContainerPort{HostIP: ip, Protocol: protocol, HostPort: n}
}

func podWith(node string, ports ...corev1.ContainerPort) *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Ports: ports}}}}
}

// The combinations of upstream's HostPortInfo tests.
func TestFilter(t *testing.T) {
	for name, tt := range map[string]struct {
		want, used corev1.ContainerPort
		fits       bool
	}{
		"other port":                    {port("127.0.0.1", "UDP", 8080), port("127.0.0.1", "UDP", 9090), true},
		"same udp port":                 {port("127.0.0.1", "UDP", 8080), port("127.0.0.1", "UDP", 8080), false},
		"same tcp port":                 {port("127.0.0.1", "TCP", 8080), port("127.0.0.1", "TCP", 8080), false},
		"different host ip":             {port("127.0.0.1", "TCP", 8080), port("127.0.0.2", "TCP", 8080), true},
		"different protocol":            {port("127.0.0.1", "UDP", 8080), port("127.0.0.1", "TCP", 8080), true},
		"wanted on all addresses":       {port("0.0.0.0", "TCP", 8001), port("127.0.0.1", "TCP", 8001), false},
		"used on all addresses":         {port("127.0.0.1", "TCP", 8001), port("0.0.0.0", "TCP", 8001), false},
		"all addresses, other protocol": {port("0.0.0.0", "TCP", 8001), port("127.0.0.1", "UDP", 8001), true},
		"no address means all":          {port("", "TCP", 8001), port("10.0.0.1", "TCP", 8001), false},
		"no protocol means TCP":         {port("", "", 8001), port("", "TCP", 8001), false},
	} {
		pl, state := &NodePorts{}, &framework.CycleState{}
		node := framework.NewNodeInfo(&corev1.Node{})
		holder := framework.NewPodInfo(podWith("n", tt.used))
		node.AddPod(holder)
		pod := podWith("", tt.want)
		pl.PreFilter(state, pod, nil)
		got := pl.Filter(state, pod, node)
		if got.IsSuccess() != tt.fits || !tt.fits && got.Message() != "node(s) didn't have free ports for the requested pod ports" {
			t.Errorf("%s: %q, want fits %v", name, got.Message(), tt.fits)
		}
		node.RemovePod(holder.Key)
		if got := pl.Filter(state, pod, node); !got.IsSuccess() {
			t.Errorf("%s: %q after the holder is gone", name, got.Message())
		}
		if hint := afterPodDelete(pod, holder.Pod, nil); hint == tt.fits {
			t.Errorf("%s: the holder's deletion gives hint %v", name, hint)
		}
	}
	if _, st := (&NodePorts{}).PreFilter(&framework.CycleState{}, podWith(""), nil); !st.IsSkip() {
		t.Errorf("a pod without host ports: %v", st.Code())
	}
}
