package queuesort

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/scheduler/framework"
)

func TestLess(t *testing.T) {
	pod := func(priority int32, second int64, serial uint64) *framework.QueuedPodInfo {
		return &framework.QueuedPodInfo{
			PodInfo:   &framework.PodInfo{Pod: &corev1.Pod{Spec: corev1.PodSpec{Priority: &priority}}},
			Timestamp: time.Unix(second, 0), Serial: serial,
		}
	}
	for name, tt := range map[string]struct {
		a, b *framework.QueuedPodInfo
		want bool
	}{
		"higher priority, later":     {pod(10, 2, 1), pod(1, 1, 2), true},
		"lower priority, earlier":    {pod(1, 1, 1), pod(10, 2, 2), false},
		"equal priority, earlier":    {pod(1, 1, 2), pod(1, 2, 1), true},
		"equal in all but the order": {pod(1, 1, 1), pod(1, 1, 2), true},
	} {
		if got := (&PrioritySort{}).Less(tt.a, tt.b); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
