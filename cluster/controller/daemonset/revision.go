package daemonset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/controller/history"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/pods"
)

// hashLabel says of which revision a pod is, and a revision what its pods say.
const hashLabel = appsv1.DefaultDaemonSetUniqueLabelKey

// revisions gives the revision of the set's template now, which it makes where there is none, and
// the others, the oldest first (constructHistory).
func (l *look) revisions() (current *appsv1.ControllerRevision, old []*appsv1.ControllerRevision, err error) {
	patch, err := history.PatchExactly(l.ds)
	if err != nil {
		return nil, nil, err
	}
	list, err := ownerref.Claim(l.claimer(client.ControllerRevisions), l.history.Candidates(l.ds.Namespace, l.ds.UID))
	if err != nil {
		return nil, nil, err
	}
	var same []*appsv1.ControllerRevision
	number := int64(1)
	for _, rev := range list {
		if _, ok := rev.Labels[hashLabel]; !ok {
			l.run.Act("update", client.RefOf(rev), rev.Name, nil, "revision %s has no label %s: its name will do", rev.Name, hashLabel)
			rev = rev.DeepCopy()
			rev.Labels[hashLabel] = rev.Name
			if rev, err = client.Update(l.run.T, l.Client, client.ControllerRevisions, rev.Namespace, rev); err != nil {
				return nil, nil, err
			}
		}
		if bytes.Equal(patch.Raw, rev.Data.Raw) {
			same = append(same, rev)
			continue
		}
		old = append(old, rev)
		number = max(number, rev.Revision+1)
	}
	if len(same) == 0 {
		current, err = l.snapshot(patch, number)
		return current, old, err
	}
	if current, err = l.dedup(same); err != nil {
		return nil, nil, err
	}
	if current.Revision < number {
		err = l.history.NumberOnce(l.run, current, number)
	}
	return current, old, err
}

// snapshot remembers the template in a revision that is named by the template's hash.
func (l *look) snapshot(patch runtime.RawExtension, number int64) (*appsv1.ControllerRevision, error) {
	ds := l.ds
	hash := pods.Hash(&ds.Spec.Template, ds.Status.CollisionCount)
	rev := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: ds.Name + "-" + hash, Namespace: ds.Namespace, Labels: map[string]string{}, Annotations: maps.Clone(ds.Annotations),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(ds, client.DaemonSets.GVK())},
		},
		Data: patch, Revision: number,
	}
	maps.Copy(rev.Labels, ds.Spec.Template.Labels)
	rev.Labels[hashLabel] = hash
	l.run.Act("create", client.ControllerRevisions.Ref(ds.Namespace, rev.Name), number, nil,
		"the template of DaemonSet %s is none that a revision remembers: remember it as %s, revision %d", ds.Name, rev.Name, number)
	made, err := client.Create(l.run.T, l.Client, client.ControllerRevisions, ds.Namespace, rev)
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	taken := err
	have, err := client.Get[*appsv1.ControllerRevision](l.run.T, l.Client, client.ControllerRevisions, ds.Namespace, rev.Name)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(have.Data.Raw, patch.Raw) {
		return have, nil
	}
	// Another template has this hash: count that, so that the next run finds another name.
	fresh, err := client.Get[*appsv1.DaemonSet](l.run.T, l.Client, client.DaemonSets, ds.Namespace, ds.Name)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(fresh.Status.CollisionCount, ds.Status.CollisionCount) {
		return nil, fmt.Errorf("found a stale collision count (%d, expected %d) of DaemonSet %q while processing; will retry until it is updated", count(ds), count(fresh), ds.Name)
	}
	if fresh.Status.CollisionCount == nil {
		fresh.Status.CollisionCount = new(int32)
	}
	*fresh.Status.CollisionCount++
	if _, err := client.UpdateStatus(l.run.T, l.Client, client.DaemonSets, ds.Namespace, fresh); err != nil {
		return nil, err
	}
	return nil, taken
}

func count(ds *appsv1.DaemonSet) int32 {
	if n := ds.Status.CollisionCount; n != nil {
		return *n
	}
	return 0
}

// dedup leaves one of the revisions that have the same template, the newest, and has the pods
// say that they are of that (dedupCurHistories).
func (l *look) dedup(same []*appsv1.ControllerRevision) (*appsv1.ControllerRevision, error) {
	keep := same[len(same)-1] // the highest number
	if len(same) == 1 {
		return keep, nil
	}
	list, err := l.claim()
	if err != nil {
		return nil, err
	}
	label := keep.Labels[hashLabel]
	for _, pod := range list {
		if pod.Labels[hashLabel] == label {
			continue
		}
		l.run.Act("patch", client.RefOf(pod), label, pod.Labels[hashLabel], "%d revisions remember this template, %s stays: %s is of that", len(same), keep.Name, pod.Name)
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{hashLabel: label}}})
		if err != nil {
			return nil, err
		}
		if _, err := l.Client.Patch(l.run.T, client.Pods, pod.Namespace, pod.Name, types.MergePatchType, patch, ""); err != nil {
			return nil, err
		}
	}
	for _, rev := range same[:len(same)-1] {
		l.run.Act("delete", client.RefOf(rev), 1, len(same), "%s remembers the same template as %s, which is newer: delete it", rev.Name, keep.Name)
		if err := l.Client.Delete(l.run.T, client.ControllerRevisions, rev.Namespace, rev.Name, metav1.DeleteOptions{}); err != nil {
			return nil, err
		}
	}
	return keep, nil
}

// truncate deletes the oldest revisions that no pod is of, as many as there are more than
// the limit (cleanupHistory).
func (l *look) truncate(old []*appsv1.ControllerRevision) error {
	limit := *l.ds.Spec.RevisionHistoryLimit
	over := len(old) - int(limit)
	on, err := l.byNode(over > 0) // also where nothing goes: it claims the pods
	if err != nil || over <= 0 {
		return err
	}
	live := map[string]bool{}
	for _, list := range on {
		for _, pod := range list {
			live[pod.Labels[hashLabel]] = true
		}
	}
	var idle []*appsv1.ControllerRevision
	for _, rev := range old {
		if !live[rev.Labels[hashLabel]] {
			idle = append(idle, rev)
		}
	}
	return l.history.Delete(l.run, idle, over, limit)
}
