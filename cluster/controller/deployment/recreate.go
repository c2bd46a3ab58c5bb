package deployment

import (
	"kviz/cluster/controller/pods"
)

// recreate is one step of the strategy Recreate: all old pods end before the
// first new one is made (rolloutRecreate).
func (r *rollout) recreate() error {
	if err := r.findSets(false); err != nil {
		return err
	}
	scaled := false
	for i, rs := range r.old {
		done, updated, err := r.scaleSet(rs, 0, false, "strategy Recreate: old pods go first")
		if err != nil {
			return err
		}
		if done {
			r.old[i], scaled = updated, true
		}
	}
	if scaled || r.oldPodsRun() {
		return r.syncRolloutStatus()
	}
	if r.next == nil {
		if err := r.findSets(true); err != nil {
			return err
		}
	}
	want := *r.d.Spec.Replicas
	if _, _, err := r.scaleSet(r.next, want, false, "no old pod runs any more and spec.replicas is %d", want); err != nil {
		return err
	}
	if complete(r.d, &r.d.Status) {
		if err := r.cleanUp(); err != nil {
			return err
		}
	}
	return r.syncRolloutStatus()
}

// oldPodsRun reports whether a pod of an old template may still run
// (oldPodsRunning).
func (r *rollout) oldPodsRun() bool {
	if actualReplicas(r.old) > 0 {
		return true
	}
	for _, rs := range r.old {
		for _, pod := range r.podsOf(rs) {
			if !pods.Terminal(pod) {
				return true
			}
		}
	}
	return false
}
