package deployment

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
)

// rolling is one step of a rolling update: up if there is room, else down if
// enough is available (rolloutRolling).
func (r *rollout) rolling() error {
	if err := r.findSets(true); err != nil {
		return err
	}
	scaled, err := r.scaleNext()
	if err != nil {
		return err
	}
	if !scaled {
		if scaled, err = r.scaleOld(); err != nil {
			return err
		}
	}
	if !scaled && complete(r.d, &r.d.Status) {
		if err := r.cleanUp(); err != nil {
			return err
		}
	}
	return r.syncRolloutStatus()
}

// scaleNext sizes the new ReplicaSet (reconcileNewReplicaSet).
func (r *rollout) scaleNext() (bool, error) {
	want, have := *r.d.Spec.Replicas, *r.next.Spec.Replicas
	switch {
	case have == want:
		return false, nil
	case have > want:
		scaled, _, err := r.scaleSet(r.next, want, false, "spec.replicas is %d", want)
		return scaled, err
	}
	size, how := newSize(r.d, r.sets(), r.next)
	scaled, _, err := r.scaleSet(r.next, size, false, "%s", how)
	return scaled, err
}

// scaleOld takes from the old ReplicaSets what can be spared
// (reconcileOldReplicaSets):
//
//	pods that exist - pods that must be available - new pods not yet available
//
// Of that, first what is not available anyway, then, as far as more pods are
// available than must be, healthy ones.
func (r *rollout) scaleOld() (bool, error) {
	old := active(r.old)
	if specReplicas(old) == 0 {
		return false, nil
	}
	exist := specReplicas(r.sets())
	must := *r.d.Spec.Replicas - maxUnavailable(r.d)
	waiting := *r.next.Spec.Replicas - r.next.Status.AvailableReplicas
	spare := exist - must - waiting
	if spare <= 0 {
		return false, nil
	}
	sortByAge(old)
	unhealthy, err := r.dropUnhealthy(old, spare, exist, must, waiting)
	if err != nil {
		return false, nil // the next run sees what is left to do
	}
	healthy, err := r.dropHealthy(old, must)
	if err != nil {
		return false, nil
	}
	return unhealthy+healthy > 0, nil
}

// dropUnhealthy scales old ReplicaSets down by their pods that are not
// available: that costs nothing (cleanupUnhealthyReplicas).
func (r *rollout) dropUnhealthy(old []*appsv1.ReplicaSet, spare, exist, must, waiting int32) (dropped int32, err error) {
	for i, rs := range old {
		sick := *rs.Spec.Replicas - rs.Status.AvailableReplicas
		if dropped >= spare {
			break
		}
		if *rs.Spec.Replicas == 0 || sick == 0 {
			continue
		}
		if sick < 0 {
			// Its status is older than its size: wait for the ReplicaSet controller.
			return dropped, fmt.Errorf("%s says %d available of %d replicas", rs.Name, rs.Status.AvailableReplicas, *rs.Spec.Replicas)
		}
		n := min(spare-dropped, sick)
		_, updated, err := r.scaleSet(rs, *rs.Spec.Replicas-n, false,
			"%d pods exist, %d must be available, %d new ones are not yet: %d can go, and %d of %s are not available", exist, must, waiting, spare, sick, rs.Name)
		if err != nil {
			return dropped, err
		}
		dropped += n
		old[i] = updated
	}
	return dropped, nil
}

// dropHealthy scales old ReplicaSets down as far as more pods are available
// than must be (scaleDownOldReplicaSetsForRollingUpdate).
func (r *rollout) dropHealthy(old []*appsv1.ReplicaSet, must int32) (dropped int32, err error) {
	available := availableReplicas(append(append([]*appsv1.ReplicaSet(nil), old...), r.next))
	spare := available - must
	for _, rs := range old {
		if dropped >= spare {
			break
		}
		if *rs.Spec.Replicas == 0 {
			continue
		}
		n := min(*rs.Spec.Replicas, spare-dropped)
		if _, _, err := r.scaleSet(rs, *rs.Spec.Replicas-n, false,
			"%d pods are available, %d-%d=%d must be: %d can go", available, *r.d.Spec.Replicas, maxUnavailable(r.d), must, spare); err != nil {
			return dropped, err
		}
		dropped += n
	}
	return dropped, nil
}
