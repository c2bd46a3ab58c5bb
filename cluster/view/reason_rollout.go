package view

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// rollout says how far a Deployment is that does not have what it asks for, and what it waits
// for.
func (s *State) rollout(o *Object) *Reason {
	d, ok := o.Value.(*appsv1.Deployment)
	if !ok || o.Deleting() || s.unseen(d.Generation, d.Status.ObservedGeneration) {
		return nil
	}
	st, n := &d.Status, wanted(d.Spec.Replicas)
	behind := st.ObservedGeneration < d.Generation
	if !behind && st.UpdatedReplicas == n && st.Replicas == n && st.AvailableReplicas == n {
		if d.Spec.Paused {
			return sentence("%s is paused (spec.paused is true): a new pod template starts no rollout until kubectl rollout resume", o.Ref)
		}
		return nil
	}
	a := &Reason{Says: fmt.Sprintf("%s has %d of %s available: %d of the newest template, %d in all", o.Ref, st.AvailableReplicas, count(int(n), "pod"), st.UpdatedReplicas, st.Replicas)}
	switch {
	case behind:
		a.Says += fmt.Sprintf("; its controller has not looked yet at what was written last (generation %d, the status is of %d)", d.Generation, st.ObservedGeneration)
	case d.Spec.Paused:
		a.Says += "; it is paused (spec.paused is true), so no rollout goes on until kubectl rollout resume"
	}
	for _, c := range st.Conditions {
		bad := c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue || c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse
		if bad {
			a.Says += fmt.Sprintf("; %s: %s", c.Reason, c.Message)
		}
		a.From = append(a.From, Keeper{What: string(c.Type), Why: c.Reason + tail(": ", c.Message), Good: !bad && (c.Status == corev1.ConditionTrue), Ref: o.Ref, Event: o.Changed})
	}
	said := false
	objects, sets := children[*appsv1.ReplicaSet](s, o)
	for i, rs := range sets {
		if wanted(rs.Spec.Replicas) == 0 && rs.Status.Replicas == 0 {
			continue
		}
		a.From = append(a.From, Keeper{
			What: "ReplicaSet " + rs.Name, Ref: objects[i].Ref, Event: objects[i].Changed, Good: rs.Status.AvailableReplicas == wanted(rs.Spec.Replicas),
			Why: fmt.Sprintf("revision %s: wants %s, has %d, %d available", rs.Annotations[revisionOf], count(int(wanted(rs.Spec.Replicas)), "pod"), rs.Status.Replicas, rs.Status.AvailableReplicas),
		})
		if rs.Annotations[revisionOf] == d.Annotations[revisionOf] && !said {
			if name, why := s.firstWaiting(objects[i]); name != "" {
				a.Says += fmt.Sprintf("; %s is not ready: %s", name, why)
				said = true
			}
		}
	}
	if ru := d.Spec.Strategy.RollingUpdate; ru != nil && st.UpdatedReplicas < st.Replicas {
		a.From = append(a.From, Keeper{What: "strategy RollingUpdate", Why: fmt.Sprintf("maxSurge %s, maxUnavailable %s of %d", ru.MaxSurge.String(), ru.MaxUnavailable.String(), n), Good: true})
	}
	a.From = told(a.From)
	return s.idle(a, "Deployment")
}

// firstWaiting is the first pod of an owner that is not ready, and what it waits for.
func (s *State) firstWaiting(owner *Object) (name, why string) {
	objects, pods := children[*corev1.Pod](s, owner)
	for i, p := range pods {
		if p.DeletionTimestamp == nil {
			if why := s.waitsOn(objects[i], p); why != "" {
				return p.Name, why
			}
		}
	}
	return "", ""
}

// replicas says what a ReplicaSet lacks of the pods that it asks for.
func (s *State) replicas(o *Object) *Reason {
	rs, ok := o.Value.(*appsv1.ReplicaSet)
	if !ok || o.Deleting() || s.unseen(rs.Generation, rs.Status.ObservedGeneration) {
		return nil
	}
	n := wanted(rs.Spec.Replicas)
	if rs.Status.Replicas == n && rs.Status.AvailableReplicas == n && rs.Status.ObservedGeneration >= rs.Generation {
		return nil
	}
	a := &Reason{Says: fmt.Sprintf("%s has %d of %s, %d available", o.Ref, rs.Status.Replicas, count(int(n), "pod"), rs.Status.AvailableReplicas)}
	for _, c := range rs.Status.Conditions {
		if c.Type == appsv1.ReplicaSetReplicaFailure && c.Status == corev1.ConditionTrue {
			a.Says += fmt.Sprintf(": %s: %s", c.Reason, c.Message)
		}
	}
	if name, why := s.firstWaiting(o); name != "" {
		a.Says += fmt.Sprintf("; %s is not ready: %s", name, why)
	}
	objects, pods := children[*corev1.Pod](s, o)
	for i, p := range pods {
		a.From = append(a.From, s.podLine(objects[i], p, ""))
	}
	a.From = told(a.From)
	return s.idle(a, "ReplicaSet")
}
