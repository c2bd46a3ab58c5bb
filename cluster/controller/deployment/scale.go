package deployment

import (
	"sort"

	appsv1 "k8s.io/api/apps/v1"
)

// scale brings the ReplicaSets to a new spec.replicas without moving the
// rollout: in the middle of one, old and new grow or shrink in proportion, so
// that a broken new template does not get more weight by scaling (sync.go scale).
func (r *rollout) scale() error {
	want := *r.d.Spec.Replicas
	if only := r.activeOrLatest(); only != nil {
		_, _, err := r.scaleSet(only, want, false, "spec.replicas is now %d and only %s has pods", want, only.Name)
		return err
	}
	if r.saturated() {
		for _, rs := range active(r.old) {
			if _, _, err := r.scaleSet(rs, 0, false, "%s has all %d replicas", r.next.Name, want); err != nil {
				return err
			}
		}
		return nil
	}
	if !isRolling(r.d) {
		return nil
	}
	return r.scaleProportionally()
}

// activeOrLatest is the one ReplicaSet with pods, or, with none, the newest;
// nil when there are several (FindActiveOrLatest).
func (r *rollout) activeOrLatest() *appsv1.ReplicaSet {
	switch with := active(r.sets()); {
	case len(with) == 1:
		return with[0]
	case len(with) > 1:
		return nil
	case r.next != nil:
		return r.next
	case len(r.old) > 0:
		sortByAge(r.old)
		return r.old[len(r.old)-1]
	}
	return nil
}

// saturated reports whether the new ReplicaSet has all replicas, available
// (IsSaturated).
func (r *rollout) saturated() bool {
	if r.next == nil {
		return false
	}
	want := *r.d.Spec.Replicas
	desired, ok := annotated(r.next, desiredReplicas)
	return ok && desired == want && *r.next.Spec.Replicas == want && r.next.Status.AvailableReplicas == want
}

func (r *rollout) scaleProportionally() error {
	sets, want := active(r.sets()), *r.d.Spec.Replicas
	allowed := int32(0)
	if want > 0 {
		allowed = want + maxSurge(r.d)
	}
	exist := specReplicas(sets)
	add := allowed - exist
	sortBySize(sets, add > 0)
	sizes, given := make([]int32, len(sets)), int32(0)
	for i, rs := range sets {
		p := proportion(rs, r.d, add, given)
		sizes[i] = *rs.Spec.Replicas + p
		given += p
	}
	for i, rs := range sets {
		if i == 0 && add != 0 {
			// What rounding left over goes to the largest.
			sizes[i] = max(0, sizes[i]+add-given)
		}
		if _, _, err := r.scaleSet(rs, sizes[i], true,
			"spec.replicas is now %d, %d pods exist, %d are allowed: %s gets its share of %+d", want, exist, allowed, rs.Name, add); err != nil {
			return err
		}
	}
	return nil
}

// sortBySize sorts the largest first; among equals the newer first when growing
// and the older first when shrinking (ReplicaSetsBySizeNewer, …Older).
func sortBySize(sets []*appsv1.ReplicaSet, newer bool) {
	sortByAge(sets)
	if newer {
		for i, j := 0, len(sets)-1; i < j; i, j = i+1, j-1 {
			sets[i], sets[j] = sets[j], sets[i]
		}
	}
	sort.SliceStable(sets, func(i, j int) bool { return *sets[i].Spec.Replicas > *sets[j].Spec.Replicas })
}
