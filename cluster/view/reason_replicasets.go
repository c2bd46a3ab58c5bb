package view

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
)

// revisionOf is the number that the deployment controller gives each template of a
// Deployment (upstream's deploymentutil.RevisionAnnotation).
const revisionOf = "deployment.kubernetes.io/revision"

// replicaSets says why a Deployment has several ReplicaSets: one for each template, the
// old ones kept so that a rollout can be undone.
func (s *State) replicaSets(o *Object) *Reason {
	d, ok := o.Value.(*appsv1.Deployment)
	if !ok {
		return nil
	}
	var current string
	var from []Keeper
	for _, c := range s.Children(o.UID) {
		rs, ok := c.Value.(*appsv1.ReplicaSet)
		if !ok {
			continue
		}
		k := Keeper{What: "ReplicaSet " + c.Name(), Ref: c.Ref, Event: c.Changed, Good: true}
		if rs.Annotations[revisionOf] == d.Annotations[revisionOf] {
			current = c.Name()
			k.Why = fmt.Sprintf("revision %s, the current template: %s of %d", rs.Annotations[revisionOf], count(int(rs.Status.Replicas), "pod"), wanted(d.Spec.Replicas))
		} else {
			k.Why = "revision " + rs.Annotations[revisionOf] + ", " + oldState(rs, d)
		}
		from = append(from, k)
	}
	if len(from) < 2 || current == "" {
		return nil
	}
	others := "the other one is old and kept for undo"
	if len(from) > 2 {
		others = "the others are old and kept for undo"
	}
	return &Reason{
		Says: fmt.Sprintf("%s has %d ReplicaSets, one for each pod template that it had: %s has the current one, %s (revisionHistoryLimit %d, kubectl rollout undo)",
			o.Ref, len(from), current, others, wanted(d.Spec.RevisionHistoryLimit)),
		From: from,
	}
}

// keptForUndo says why a ReplicaSet without pods is still there, or why one loses its pods.
func (s *State) keptForUndo(o *Object) *Reason {
	rs, ok := o.Value.(*appsv1.ReplicaSet)
	if !ok {
		return nil
	}
	owner := s.Owner(o)
	if owner == nil {
		return nil
	}
	d, ok := owner.Value.(*appsv1.Deployment)
	if !ok || d.Annotations[revisionOf] == rs.Annotations[revisionOf] {
		return nil
	}
	return sentence("%s belongs to an older template of %s: %s", o.Ref, owner.Ref, oldState(rs, d))
}

// oldState says what becomes of a ReplicaSet of an older template.
func oldState(rs *appsv1.ReplicaSet, d *appsv1.Deployment) string {
	undo := fmt.Sprintf("kubectl rollout undo deployment/%s --to-revision=%s", d.Name, rs.Annotations[revisionOf])
	keep := fmt.Sprintf("%s goes back to it; revisionHistoryLimit is %d, so at most so many old ones are kept", undo, wanted(d.Spec.RevisionHistoryLimit))
	if n := int(rs.Status.Replicas); n > 0 {
		return strings.Join([]string{"the rollout is taking its last " + count(n, "pod") + " away, and then it is kept for undo", keep}, ": ")
	}
	return "it has no pods and is kept for undo: " + keep
}

func wanted(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}
