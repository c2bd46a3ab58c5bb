package deployment

import (
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/reconcile"
)

// rollout is one run over one Deployment: what the cache shows of it.
type rollout struct {
	*Controller
	run *reconcile.Run
	d   *appsv1.Deployment   // a copy: its status is changed on the way
	all []*appsv1.ReplicaSet // its ReplicaSets

	next *appsv1.ReplicaSet   // the one with the Deployment's template; nil if there is none yet
	old  []*appsv1.ReplicaSet // the others
}

// sets is all of the old ReplicaSets and the new one.
func (r *rollout) sets() []*appsv1.ReplicaSet {
	all := append([]*appsv1.ReplicaSet(nil), r.old...)
	if r.next != nil {
		all = append(all, r.next)
	}
	return all
}

// sync brings one Deployment one step further (syncDeployment).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.deployments.Get(run.Key)
	if !ok {
		run.Gone()
		return nil
	}
	r := &rollout{Controller: c, run: run, d: obj.(*appsv1.Deployment).DeepCopy()}
	if reflect.DeepEqual(r.d.Spec.Selector, &metav1.LabelSelector{}) {
		return r.refuseEmptySelector()
	}
	if err := r.claim(); err != nil {
		return err
	}
	if r.d.DeletionTimestamp != nil {
		if err := r.findSets(false); err != nil {
			return err
		}
		return r.writeStatus(r.status())
	}
	if err := r.notePause(); err != nil {
		return err
	}
	if r.d.Spec.Paused {
		return r.scaleOnly()
	}
	scaling, err := r.isScaling()
	if err != nil {
		return err
	}
	if scaling {
		return r.scaleOnly()
	}
	switch r.d.Spec.Strategy.Type {
	case appsv1.RecreateDeploymentStrategyType:
		return r.recreate()
	case appsv1.RollingUpdateDeploymentStrategyType:
		return r.rolling()
	}
	return fmt.Errorf("unexpected deployment strategy type: %s", r.d.Spec.Strategy.Type)
}

func (r *rollout) refuseEmptySelector() error {
	r.Events.Event(r.run.T, r.d, corev1.EventTypeWarning, "SelectingAll",
		"This deployment is selecting all pods. A non-empty selector is required.")
	if r.d.Status.ObservedGeneration < r.d.Generation {
		st := r.d.Status
		st.ObservedGeneration = r.d.Generation
		return r.writeStatus(st)
	}
	return nil
}

// claim finds the Deployment's ReplicaSets (getReplicaSetsForDeployment).
func (r *rollout) claim() error {
	selector, err := metav1.LabelSelectorAsSelector(r.d.Spec.Selector)
	if err != nil {
		return fmt.Errorf("deployment %s/%s has invalid label selector: %w", r.d.Namespace, r.d.Name, err)
	}
	claimer := &ownerref.Claimer{Run: r.run, Client: r.Client, Owner: r.d, OwnerOf: client.Deployments, Kind: client.ReplicaSets, Selector: selector}
	r.all, err = ownerref.Claim(claimer, ownerref.Candidates[*appsv1.ReplicaSet](r.Controller.sets, r.d.Namespace, r.d.UID))
	return err
}

// scaleOnly is all that happens to a Deployment that is paused, or whose
// replicas changed: no rollout, only sizes (sync.go sync).
func (r *rollout) scaleOnly() error {
	if err := r.findSets(false); err != nil {
		return err
	}
	if err := r.scale(); err != nil {
		return err
	}
	if r.d.Spec.Paused {
		if err := r.cleanUp(); err != nil {
			return err
		}
	}
	return r.writeStatus(r.status())
}

// isScaling reports whether spec.replicas changed since the ReplicaSets were
// last sized: they carry the number they were sized for (isScalingEvent).
func (r *rollout) isScaling() (bool, error) {
	if err := r.findSets(false); err != nil {
		return false, err
	}
	for _, rs := range active(r.sets()) {
		if desired, ok := annotated(rs, desiredReplicas); ok && desired != *r.d.Spec.Replicas {
			return true, nil
		}
	}
	return false, nil
}

// active gives the ReplicaSets that have, or ought to have, pods.
func active(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	var out []*appsv1.ReplicaSet
	for _, rs := range sets {
		if *rs.Spec.Replicas > 0 {
			out = append(out, rs)
		}
	}
	return out
}

// scaleSet sets the replicas of one ReplicaSet, and its note of what it was
// sized for (scaleReplicaSet). force makes it look at the note even when the
// size stays.
func (r *rollout) scaleSet(rs *appsv1.ReplicaSet, size int32, force bool, why string, args ...any) (scaled bool, updated *appsv1.ReplicaSet, err error) {
	was := *rs.Spec.Replicas
	noted := rs.DeepCopy()
	renote := setSizes(noted, r.d)
	if size == was && !(force && renote) {
		return false, rs, nil
	}
	*noted.Spec.Replicas = size
	if size == was {
		r.run.Act("update", client.RefOf(rs), size, was, "%s stays at %d; note that the Deployment now wants %d", rs.Name, size, *r.d.Spec.Replicas)
	} else {
		r.run.Act("scale", client.RefOf(rs), size, was, why+": scale "+rs.Name+fmt.Sprintf(" from %d to %d", was, size), args...)
	}
	updated, err = client.Update(r.run.T, r.Client, client.ReplicaSets, rs.Namespace, noted)
	if err != nil {
		return false, rs, err
	}
	if size != was {
		r.Events.Event(r.run.T, r.d, corev1.EventTypeNormal, "ScalingReplicaSet",
			"Scaled %s replica set %s from %d to %d", direction(was, size), rs.Name, was, size)
	}
	return size != was, updated, nil
}

func direction(from, to int32) string {
	if from < to {
		return "up"
	}
	return "down"
}

// podsOf gives the pods of a ReplicaSet.
func (r *rollout) podsOf(rs *appsv1.ReplicaSet) []*corev1.Pod {
	return ownerref.ControlledBy[*corev1.Pod](r.pods, rs.UID)
}
