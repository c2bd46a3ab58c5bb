package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// shortage is something a machine can be short of, as the kubelet's eviction
// manager tells it (pkg/kubelet/eviction/helpers.go, signalToNodeCondition).
type shortage struct {
	of        string // as the fault names it
	condition corev1.NodeConditionType
	message   string
}

var shortages = []shortage{
	{"memory", corev1.NodeMemoryPressure, "kubelet has insufficient memory available"},
	{"disk", corev1.NodeDiskPressure, "kubelet has disk pressure"},
	{"pid", corev1.NodePIDPressure, "kubelet has insufficient PID available"},
}

// press makes the machine short of something, or of nothing any more with "".
// It is the machine that is short: a kubelet that starts later finds it so, and one that is
// no node yet when it has become one.
func (n *node) press(of string, causes []trace.ID) {
	var cause trace.ID
	if len(causes) > 0 {
		cause = causes[0]
	}
	for _, s := range shortages {
		switch {
		case of == s.of:
			n.short[s.condition] = s.message
		case of == "" && n.short[s.condition] != "":
			delete(n.short, s.condition)
		default:
			continue
		}
		if n.kubelet.up() && n.join == nil {
			n.agent.SetPressure(s.condition, n.short[s.condition], cause)
		}
	}
}
