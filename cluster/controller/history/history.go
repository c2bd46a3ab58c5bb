// Package history is what the controllers of StatefulSets and DaemonSets remember the
// templates of their pods in: ControllerRevisions.
//
// A Deployment remembers an old template in the ReplicaSet that it has made of it. These
// two make their pods themselves, so each template that there was becomes an object of its
// own: a patch that would put it back (what kubectl rollout undo applies), and a number
// that says how new it is. A pod says in the label controller-revision-hash of which
// revision it is; an update is finished when all say the newest.
//
// Mirrors pkg/controller/history. What is found, made and numbered how differs between
// the two controllers, and is in their packages. Start reading at [Revisions].
package history

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	exactly "k8s.io/apimachinery/pkg/util/json"
	upstream "k8s.io/kubernetes/pkg/controller/history"

	"kviz/cluster/client"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
)

// Revisions are the ControllerRevisions as one controller sees them.
type Revisions struct {
	client   client.Interface
	informer *informer.Informer
}

// Of gives those that a controller works with.
func Of(env *reconcile.Env) *Revisions {
	r := &Revisions{client: env.Client, informer: env.Informers.For(client.ControllerRevisions)}
	ownerref.AddIndex(r.informer)
	return r
}

// Informer is where they are read.
func (r *Revisions) Informer() *informer.Informer { return r.informer }

// Candidates gives the revisions of an owner, and those of nobody in its namespace, the
// oldest first.
func (r *Revisions) Candidates(namespace string, owner types.UID) []*appsv1.ControllerRevision {
	list := ownerref.Candidates[*appsv1.ControllerRevision](r.informer, namespace, owner)
	upstream.SortControllerRevisions(list)
	return list
}

// Number gives a revision a new number, which makes it the newest.
func (r *Revisions) Number(run *reconcile.Run, rev *appsv1.ControllerRevision, number int64) (*appsv1.ControllerRevision, error) {
	renumbered(run, rev, number)
	rev = rev.DeepCopy()
	err := reconcile.OnConflict(run.T, reconcile.Backoff, func() error {
		rev.Revision = number
		updated, err := client.Update(run.T, r.client, client.ControllerRevisions, rev.Namespace, rev)
		if err == nil {
			rev = updated
		} else if seen, ok := r.informer.Get(informer.KeyOf(rev)); ok {
			rev = seen.DeepCopyObject().(*appsv1.ControllerRevision)
		}
		return err
	})
	return rev, err
}

// NumberOnce does so too, but tries only once: what it meets is the caller's to try again
// (constructHistory of the DaemonSet controller).
func (r *Revisions) NumberOnce(run *reconcile.Run, rev *appsv1.ControllerRevision, number int64) error {
	renumbered(run, rev, number)
	rev = rev.DeepCopy()
	rev.Revision = number
	_, err := client.Update(run.T, r.client, client.ControllerRevisions, rev.Namespace, rev)
	return err
}

func renumbered(run *reconcile.Run, rev *appsv1.ControllerRevision, number int64) {
	run.Act("update", client.RefOf(rev), number, rev.Revision, "the template is again that of %s, which was revision %d: it becomes revision %d", rev.Name, rev.Revision, number)
}

// Delete deletes the oldest of idle, which are sorted and of which there are over more than
// limit allows.
func (r *Revisions) Delete(run *reconcile.Run, idle []*appsv1.ControllerRevision, over int, limit int32) error {
	for i, rev := range idle[:min(max(over, 0), len(idle))] {
		run.Act("delete", client.RefOf(rev), limit, nil,
			"revisionHistoryLimit is %d, %d too many: delete %s, revision %d, which no pod is of", limit, over-i, rev.Name, rev.Revision)
		if err := r.client.Delete(run.T, client.ControllerRevisions, rev.Namespace, rev.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// Patch is the template of owner as a strategic merge patch that would restore it: the
// whole of what a revision remembers (getPatch). It has the very bytes that
// Kubernetes' controllers write, since revisions are named by their hash.
//
// The controller of StatefulSets reads numbers as floating-point ones, and so rounds integers
// beyond 2^53, which a tolerationSeconds can be; that of DaemonSets does not, see [PatchExactly].
func Patch(owner runtime.Object) (runtime.RawExtension, error) { return patch(owner, json.Unmarshal) }

// PatchExactly is [Patch] as the controller of DaemonSets writes it.
func PatchExactly(owner runtime.Object) (runtime.RawExtension, error) {
	return patch(owner, exactly.Unmarshal)
}

func patch(owner runtime.Object, read func([]byte, any) error) (runtime.RawExtension, error) {
	data, err := json.Marshal(owner)
	if err != nil {
		return runtime.RawExtension{}, err
	}
	var raw struct {
		Spec struct {
			Template map[string]any `json:"template"`
		} `json:"spec"`
	}
	if err := read(data, &raw); err != nil {
		return runtime.RawExtension{}, err
	}
	raw.Spec.Template["$patch"] = "replace"
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": raw.Spec.Template}})
	return runtime.RawExtension{Raw: patch}, err
}

// Named gives the revision of a name, or nil.
func Named(list []*appsv1.ControllerRevision, name string) *appsv1.ControllerRevision {
	if i := slices.IndexFunc(list, func(r *appsv1.ControllerRevision) bool { return r.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}
