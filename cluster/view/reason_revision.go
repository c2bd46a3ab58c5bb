package view

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// revision says of which template a ControllerRevision is, which pods have it, and why it is
// kept.
func (s *State) revision(o *Object) *Reason {
	rev, ok := o.Value.(*appsv1.ControllerRevision)
	if !ok || o.Deleting() {
		return nil
	}
	owner := s.Owner(o)
	if owner == nil {
		return nil
	}
	var limit *int32
	var short string
	pods, all := 0, 0
	objects, values := children[*corev1.Pod](s, owner)
	var from []Keeper
	var newest bool
	var label, hash string
	switch v := owner.Value.(type) {
	case *appsv1.StatefulSet:
		limit, short, label, hash = v.Spec.RevisionHistoryLimit, "sts", appsv1.StatefulSetRevisionLabel, rev.Name
		newest = v.Status.UpdateRevision == rev.Name
	case *appsv1.DaemonSet:
		limit, short, label = v.Spec.RevisionHistoryLimit, "ds", appsv1.DefaultDaemonSetUniqueLabelKey
		hash = rev.Labels[label]
		newest = s.newestRevision(owner) == hash
	default:
		return nil
	}
	for i, p := range values {
		all++
		if p.Labels[label] == hash {
			pods++
			from = append(from, Keeper{What: "pod " + p.Name, Why: "is of this revision", Good: true, Ref: objects[i].Ref, Event: objects[i].Changed})
		}
	}
	undo := fmt.Sprintf("kubectl rollout undo %s/%s --to-revision=%d", short, owner.Name(), rev.Revision)
	is := fmt.Sprintf("%s is the pod template of revision %d of %s", o.Ref, rev.Revision, owner.Ref)
	a := &Reason{From: told(from)}
	switch {
	case newest:
		a.Says = fmt.Sprintf("%s, the newest: %d of %s have it", is, pods, count(all, "pod"))
	case pods > 0:
		a.Says = fmt.Sprintf("%s, an old one that %d of %s still have", is, pods, count(all, "pod"))
	default:
		a.Says = fmt.Sprintf("%s, kept for undo: no pod has it, and %s puts it back; revisionHistoryLimit is %d, so at most so many such are kept", is, undo, wanted(limit))
	}
	return a
}
