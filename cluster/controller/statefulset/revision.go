package statefulset

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	defaults "k8s.io/kubernetes/pkg/apis/apps/v1"
	upstream "k8s.io/kubernetes/pkg/controller/history"

	"kviz/cluster/client"
	"kviz/cluster/controller/history"
	"kviz/cluster/controller/reconcile"
)

// revisionsOf gives the revision that the set's pods had, the one of its template now, which it
// makes where there is none, and how often a name was taken (getStatefulSetRevisions).
func (c *Controller) revisionsOf(run *reconcile.Run, set *appsv1.StatefulSet, list []*appsv1.ControllerRevision) (current, update *appsv1.ControllerRevision, collisions int32, err error) {
	if n := set.Status.CollisionCount; n != nil {
		collisions = *n
	}
	next := int64(1)
	var newest *appsv1.ControllerRevision
	if len(list) > 0 {
		newest = list[len(list)-1]
		next = newest.Revision + 1
	}
	wanted, err := newRevision(set, next, &collisions)
	if err != nil {
		return nil, nil, collisions, err
	}
	equal := upstream.FindEqualRevisions(list, wanted)
	switch {
	case len(equal) > 0 && upstream.EqualRevision(newest, equal[len(equal)-1]), len(equal) == 0 && newest != nil && restores(set, newest, wanted):
		update = newest
	case len(equal) > 0: // an old one again
		update, err = c.history.Number(run, equal[len(equal)-1], next)
	default:
		update, err = c.createRevision(run, set, wanted, &collisions)
	}
	if err != nil {
		return nil, nil, collisions, err
	}
	if current = history.Named(list, set.Status.CurrentRevision); current == nil {
		current = update
	}
	return current, update, collisions, nil
}

// newRevision is the set's template as a revision (newRevision).
func newRevision(set *appsv1.StatefulSet, number int64, collisions *int32) (*appsv1.ControllerRevision, error) {
	patch, err := history.Patch(set)
	if err != nil {
		return nil, err
	}
	rev, err := upstream.NewControllerRevision(set, client.StatefulSets.GVK(), set.Spec.Template.Labels, patch, number, collisions)
	if err != nil {
		return nil, err
	}
	rev.Annotations = map[string]string{}
	maps.Copy(rev.Annotations, set.Annotations)
	return rev, nil
}

// createRevision makes a revision, under another name as long as the name is one of another
// template (CreateControllerRevision).
func (c *Controller) createRevision(run *reconcile.Run, set *appsv1.StatefulSet, rev *appsv1.ControllerRevision, collisions *int32) (*appsv1.ControllerRevision, error) {
	rev = rev.DeepCopy()
	for {
		rev.Name = upstream.ControllerRevisionName(set.Name, upstream.HashControllerRevision(rev, collisions))
		run.Act("create", client.ControllerRevisions.Ref(set.Namespace, rev.Name), rev.Revision, nil,
			"the template of StatefulSet %s is none that a revision remembers: remember it as %s, revision %d", set.Name, rev.Name, rev.Revision)
		made, err := client.Create(run.T, c.Client, client.ControllerRevisions, set.Namespace, rev)
		if !apierrors.IsAlreadyExists(err) {
			return made, err
		}
		have, err := client.Get[*appsv1.ControllerRevision](run.T, c.Client, client.ControllerRevisions, set.Namespace, rev.Name)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(have.Data.Raw, rev.Data.Raw) {
			return have, nil
		}
		*collisions++
	}
}

// restores reports whether a revision, which differs from the template as it is written, is
// the same once defaults are filled in: one of an earlier version of Kubernetes
// (setMatchesLatestExistingRevision).
func restores(set *appsv1.StatefulSet, rev, wanted *appsv1.ControllerRevision) bool {
	restored, err := apply(set, rev)
	if err != nil {
		return false
	}
	defaults.SetObjectDefaults_StatefulSet(restored)
	again, err := newRevision(restored, -1, nil)
	return err == nil && upstream.EqualRevision(wanted, again)
}

// apply is the set with the template of a revision (ApplyRevision).
func apply(set *appsv1.StatefulSet, rev *appsv1.ControllerRevision) (*appsv1.StatefulSet, error) {
	set = set.DeepCopy()
	data, err := json.Marshal(set)
	if err != nil {
		return nil, err
	}
	patched, err := strategicpatch.StrategicMergePatch(data, rev.Data.Raw, set)
	if err != nil {
		return nil, err
	}
	restored := &appsv1.StatefulSet{}
	if err := json.Unmarshal(patched, restored); err != nil {
		return nil, err
	}
	set.Spec = restored.Spec
	return set, nil
}

// truncate deletes the oldest revisions that nothing is of, beyond the limit (truncateHistory).
func (c *Controller) truncate(run *reconcile.Run, set *appsv1.StatefulSet, mine []*corev1.Pod, list []*appsv1.ControllerRevision, current, update *appsv1.ControllerRevision) error {
	var idle []*appsv1.ControllerRevision
	for _, rev := range list {
		if current != nil && rev.Name == current.Name || update != nil && rev.Name == update.Name ||
			slices.ContainsFunc(mine, func(pod *corev1.Pod) bool { return revisionOf(pod) == rev.Name }) {
			continue
		}
		idle = append(idle, rev)
	}
	limit := *set.Spec.RevisionHistoryLimit
	if limit < 0 {
		return nil
	}
	return c.history.Delete(run, idle, len(idle)-int(limit), limit)
}
