package statefulset

import (
	"math"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
)

// A set has no more pods than can be made in memory, and no fewer than none.
func TestOrdinalsAreBounded(t *testing.T) {
	for replicas, want := range map[int32]int{3: 3, -1: 0, math.MinInt32: 0, math.MaxInt32: mostOrdinals} {
		set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: ptr.To(replicas), Ordinals: &appsv1.StatefulSetOrdinals{Start: 2}}}
		if first, end := ordinals(set); first != 2 || end-first != want {
			t.Errorf("%d replicas: from %d to %d", replicas, first, end)
		}
	}
}
