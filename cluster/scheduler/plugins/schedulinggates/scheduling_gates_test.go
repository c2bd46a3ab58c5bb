package schedulinggates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestPreEnqueue(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "foo"}, {Name: "bar"}}}}
	if got := (&SchedulingGates{}).PreEnqueue(pod); got.Message() != "waiting for scheduling gates: [foo bar]" {
		t.Errorf("gated: %q", got.Message())
	}
	if got := (&SchedulingGates{}).PreEnqueue(&corev1.Pod{}); !got.IsSuccess() {
		t.Errorf("not gated: %q", got.Message())
	}
}
