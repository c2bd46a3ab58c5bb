package deployment

import (
	"fmt"
	"math"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// fenceposts gives maxSurge (rounded up) and maxUnavailable (rounded down) in
// pods. Where both come out as 0, one pod may be unavailable, or nothing could
// ever move (ResolveFenceposts).
//
//	replicas  25 %/25 %       gives
//	4         1.0 / 1.0       1, 1
//	10        2.5 / 2.5       3, 2
//	1         0.25 / 0.25     1, 0
func fenceposts(d *appsv1.Deployment) (surge, unavailable int32) {
	if !isRolling(d) {
		return 0, 0
	}
	want := int(*d.Spec.Replicas)
	zero := intstr.FromInt32(0)
	var s, u int
	if ru := d.Spec.Strategy.RollingUpdate; ru != nil {
		s, _ = intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(ru.MaxSurge, zero), want, true)
		u, _ = intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(ru.MaxUnavailable, zero), want, false)
	}
	if s == 0 && u == 0 {
		u = 1
	}
	return int32(s), int32(u)
}

func isRolling(d *appsv1.Deployment) bool {
	return d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType
}

func maxSurge(d *appsv1.Deployment) int32 {
	s, _ := fenceposts(d)
	return s
}

// maxUnavailable is how many pods may be missing; never more than there are.
func maxUnavailable(d *appsv1.Deployment) int32 {
	if *d.Spec.Replicas == 0 {
		return 0
	}
	_, u := fenceposts(d)
	return min(u, *d.Spec.Replicas)
}

// newSize is how many replicas the new ReplicaSet may have now, and how the
// number came about (NewRSNewReplicas).
func newSize(d *appsv1.Deployment, all []*appsv1.ReplicaSet, next *appsv1.ReplicaSet) (int32, string) {
	want, have := *d.Spec.Replicas, *next.Spec.Replicas
	if !isRolling(d) {
		return want, "strategy Recreate: all at once"
	}
	surge, exist := maxSurge(d), specReplicas(all)
	most := want + surge
	if exist >= most {
		return have, fmt.Sprintf("at most %d+%d=%d pods may exist, %d do: no room", want, surge, most, exist)
	}
	up := min(most-exist, want-have)
	return have + up, fmt.Sprintf("at most %d+%d=%d pods may exist, %d do: room for %d", want, surge, most, exist, up)
}

// proportion is a ReplicaSet's share of add pods that are added to (or, below
// zero, taken from) all of them together, of which done are already given away
// (GetReplicaSetProportion).
func proportion(rs *appsv1.ReplicaSet, d *appsv1.Deployment, add, done int32) int32 {
	if *rs.Spec.Replicas == 0 || add == 0 || add == done {
		return 0
	}
	share, allowed := fraction(rs, d), add-done
	if add > 0 {
		return min(share, allowed)
	}
	return max(share, allowed)
}

// fraction is what the ReplicaSet would grow by if it kept its share of the
// whole (getReplicaSetFraction).
func fraction(rs *appsv1.ReplicaSet, d *appsv1.Deployment) int32 {
	have := *rs.Spec.Replicas
	if *d.Spec.Replicas == 0 {
		return -have
	}
	now := *d.Spec.Replicas + maxSurge(d)
	before, ok := annotated(rs, maxReplicas)
	if !ok || before == 0 {
		if before = d.Status.Replicas; before == 0 {
			return 0
		}
	}
	return int32(math.Round(float64(have*now)/float64(before))) - have
}

func sum(sets []*appsv1.ReplicaSet, f func(*appsv1.ReplicaSet) int32) (n int32) {
	for _, rs := range sets {
		n += f(rs)
	}
	return n
}

func specReplicas(sets []*appsv1.ReplicaSet) int32 {
	return sum(sets, func(rs *appsv1.ReplicaSet) int32 { return *rs.Spec.Replicas })
}

func actualReplicas(sets []*appsv1.ReplicaSet) int32 {
	return sum(sets, func(rs *appsv1.ReplicaSet) int32 { return rs.Status.Replicas })
}

func availableReplicas(sets []*appsv1.ReplicaSet) int32 {
	return sum(sets, func(rs *appsv1.ReplicaSet) int32 { return rs.Status.AvailableReplicas })
}

func readyReplicas(sets []*appsv1.ReplicaSet) int32 {
	return sum(sets, func(rs *appsv1.ReplicaSet) int32 { return rs.Status.ReadyReplicas })
}

// terminatingReplicas is nil as long as a ReplicaSet does not say.
func terminatingReplicas(sets []*appsv1.ReplicaSet) *int32 {
	n := int32(0)
	for _, rs := range sets {
		switch st := rs.Status; {
		case st.TerminatingReplicas != nil:
			n += *st.TerminatingReplicas
		case st.ObservedGeneration != 0:
			return nil
		}
	}
	return &n
}
