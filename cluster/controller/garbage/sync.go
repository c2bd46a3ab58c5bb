package garbage

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
)

var (
	errUnknownKind   = errors.New("no such kind is served")
	errNotSeen       = errors.New("not seen by the informer yet")
	errClusterScoped = errors.New("cluster-scoped object refers to a namespaced owner")
)

// sync decides about one object (attemptToDeleteItem).
func (c *Controller) sync(run *reconcile.Run) error {
	n := c.graph[uidOf(run.Key)]
	if n == nil || n.asked && !n.virtual {
		return nil // gone, or seen by now: that was the question
	}
	if n.beingDeleted && !n.deletingDependents {
		return nil // deleting it again changes nothing
	}
	latest, err := c.get(run.T, n.id)
	switch {
	case errors.Is(err, errClusterScoped):
		return nil // such a reference is never resolved
	case apierrors.IsNotFound(err), err == nil && latest.GetUID() != n.id.uid:
		// The API server does not have it; the informer will not tell of it.
		if c.graph[n.id.uid] == n {
			c.remove(run.T, n)
		}
		return nil
	case err != nil:
		return err
	case n.deletingDependents:
		return c.finishForeground(run, n)
	case len(latest.GetOwnerReferences()) > 0:
		if err := c.judge(run, n, latest); err != nil {
			return err
		}
	}
	if n.virtual {
		return fmt.Errorf("%s: %w", n.id, errNotSeen)
	}
	return nil
}

func (c *Controller) get(t *sim.Task, id identity) (metav1.Object, error) {
	r, ok := c.resourceOf(id.apiVersion, id.kind)
	if !ok {
		return nil, fmt.Errorf("%s %s: %w", id.apiVersion, id.kind, errUnknownKind)
	}
	if r.Namespaced && id.namespace == "" {
		return nil, errClusterScoped
	}
	obj, err := c.Client.Get(t, r, id.namespace, id.name)
	if err != nil {
		return nil, err
	}
	return obj.(metav1.Object), nil
}

// owners is a list of owner references, sorted out.
type owners struct {
	solid    []metav1.OwnerReference // exist
	dangling []metav1.OwnerReference // do not
	waiting  []metav1.OwnerReference // exist, being deleted in the foreground
}

// classify asks about every owner (classifyReferences).
func (c *Controller) classify(t *sim.Task, n *node, refs []metav1.OwnerReference) (out owners, err error) {
	for _, ref := range refs {
		owner, err := c.owner(t, n, ref)
		switch {
		case err != nil:
			return out, err
		case owner == nil:
			out.dangling = append(out.dangling, ref)
		case owner.GetDeletionTimestamp() != nil && slices.Contains(owner.GetFinalizers(), metav1.FinalizerDeleteDependents):
			out.waiting = append(out.waiting, ref)
		default:
			out.solid = append(out.solid, ref)
		}
	}
	return out, nil
}

// owner gives the owner that a reference means, or nil if there is none
// (isDangling).
func (c *Controller) owner(t *sim.Task, n *node, ref metav1.OwnerReference) (metav1.Object, error) {
	id := c.referred(ref, n.id.namespace)
	if _, gone := c.absent.Get(id); gone {
		return nil, nil
	}
	owner, err := c.get(t, id)
	if apierrors.IsNotFound(err) || err == nil && owner.GetUID() != ref.UID {
		c.absent.Add(id, true)
		return nil, nil
	}
	return owner, err
}

// judge deletes an object whose owners are all gone, and takes dead references
// from one that still has an owner.
func (c *Controller) judge(run *reconcile.Run, n *node, latest metav1.Object) error {
	o, err := c.classify(run.T, n, latest.GetOwnerReferences())
	if errors.Is(err, errClusterScoped) {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case len(o.solid) > 0:
		dead := slices.Concat(o.dangling, o.waiting)
		if len(dead) == 0 {
			return nil
		}
		run.Act("patch", n.id.ref(), names(o.solid), names(latest.GetOwnerReferences()),
			"%s still has an owner (%s): remove only its references to %s", n.id, names(o.solid), names(dead))
		return c.dropReferences(run.T, n, dead)
	case len(o.waiting) > 0 && n.count() > 0:
		if err := c.breakCycle(run, n); err != nil {
			return err
		}
		run.Act("delete", n.id.ref(), "Foreground", nil,
			"its owner %s waits for its dependents, and %s has dependents itself: delete it in the foreground too", names(o.waiting), n.id)
		return c.delete(run.T, n, latest, metav1.DeletePropagationForeground)
	}
	policy := policyOf(latest)
	if len(o.waiting) > 0 {
		run.Act("delete", n.id.ref(), policy, nil, "its owner %s waits for its dependents to go: delete %s", names(o.waiting), n.id)
	} else {
		run.Act("delete", n.id.ref(), policy, nil, "no owner of %s exists any more (%s): delete it", n.id, names(o.dangling))
	}
	return c.delete(run.T, n, latest, policy)
}

// policyOf keeps a deletion's policy if one was begun already.
func policyOf(m metav1.Object) metav1.DeletionPropagation {
	switch f := m.GetFinalizers(); {
	case slices.Contains(f, metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(f, metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// names is "ReplicaSet web-abc, Job x".
func names(refs []metav1.OwnerReference) string {
	out := make([]string, len(refs))
	for i, ref := range refs {
		out[i] = ref.Kind + " " + ref.Name
	}
	return strings.Join(out, ", ")
}

// breakCycle stops the node from blocking its owners when a dependent of it is
// already being deleted in the foreground: two objects could wait for each other.
func (c *Controller) breakCycle(run *reconcile.Run, n *node) error {
	cycle := false
	n.each(func(d *node) bool {
		cycle = d.deletingDependents
		return !cycle
	})
	if !cycle {
		return nil
	}
	var refs []map[string]any
	all := slices.Clone(n.owners)
	for i, ref := range n.owners {
		if isTrue(ref.BlockOwnerDeletion) {
			refs = append(refs, map[string]any{"uid": ref.UID, "blockOwnerDeletion": false})
		}
		all[i].BlockOwnerDeletion = new(bool)
	}
	if len(refs) == 0 {
		return nil // a patch without references would take them all away
	}
	run.Act("patch", n.id.ref(), false, true, "a dependent of %s already waits for its own dependents: let %s no longer block its owners", n.id, n.id)
	return c.patchReferences(run.T, n, refs, func([]metav1.OwnerReference) []metav1.OwnerReference { return all })
}

// finishForeground lets an owner go whose blocking dependents are gone, and
// else sees to those that are not on their way yet (processDeletingDependentsItem).
func (c *Controller) finishForeground(run *reconcile.Run, n *node) error {
	blocked := 0
	n.each(func(d *node) bool {
		if d.blocks(n.id.uid) {
			blocked++
			if !d.deletingDependents {
				c.queue(run.T, d)
			}
		}
		return true
	})
	if blocked > 0 {
		return nil
	}
	run.Act("patch", n.id.ref(), nil, metav1.FinalizerDeleteDependents,
		"no dependent blocks %s any more: remove its finalizer %s, so that it can go", n.id, metav1.FinalizerDeleteDependents)
	return c.removeFinalizer(run.T, n, metav1.FinalizerDeleteDependents)
}

// orphan cuts the dependents of an owner loose and lets it go
// (attemptToOrphanWorker).
func (c *Controller) orphan(run *reconcile.Run) error {
	n := c.graph[uidOf(run.Key)]
	if n == nil {
		return nil
	}
	var all []*node
	n.each(func(d *node) bool {
		all = append(all, d)
		return true
	})
	if len(all) > 0 {
		run.Act("patch", n.id.ref(), 0, len(all), "%s is deleted with the policy Orphan: remove the references of its %d dependents to it", n.id, len(all))
	}
	ref := []metav1.OwnerReference{{UID: n.id.uid}}
	errs := make([]error, len(all))
	c.Parallel(run.T, "orphan", len(all), func(t *sim.Task, i int) {
		if err := c.dropReferences(t, all[i], ref); !apierrors.IsNotFound(err) {
			errs[i] = err
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	run.Act("patch", n.id.ref(), nil, metav1.FinalizerOrphanDependents, "no dependent names %s any more: remove its finalizer %s, so that it can go", n.id, metav1.FinalizerOrphanDependents)
	return c.removeFinalizer(run.T, n, metav1.FinalizerOrphanDependents)
}

// delete deletes the object as it was judged: should its owners have changed
// since, the API server refuses (operations.go deleteObject).
func (c *Controller) delete(t *sim.Task, n *node, latest metav1.Object, policy metav1.DeletionPropagation) error {
	r, _ := c.resourceOf(n.id.apiVersion, n.id.kind)
	uid, revision := n.id.uid, latest.GetResourceVersion()
	opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &revision}, PropagationPolicy: &policy}
	err := c.Client.Delete(t, r, n.id.namespace, n.id.name, opts)
	if apierrors.IsConflict(err) {
		var now metav1.Object
		if now, err = c.get(t, n.id); err == nil {
			if now.GetUID() != uid || !reflect.DeepEqual(now.GetOwnerReferences(), latest.GetOwnerReferences()) {
				return fmt.Errorf("%s changed while it was judged", n.id)
			}
			// Something else about it changed, as statuses do all the time.
			opts.Preconditions.ResourceVersion = nil
			err = c.Client.Delete(t, r, n.id.namespace, n.id.name, opts)
		}
	}
	if apierrors.IsNotFound(err) {
		if c.graph[uid] == n {
			c.remove(t, n)
		}
		return nil
	}
	return err
}

// dropReferences removes references to owners.
func (c *Controller) dropReferences(t *sim.Task, n *node, dead []metav1.OwnerReference) error {
	var refs []map[string]any
	for _, ref := range dead {
		refs = append(refs, map[string]any{"$patch": "delete", "uid": ref.UID})
	}
	return c.patchReferences(t, n, refs, func(all []metav1.OwnerReference) []metav1.OwnerReference {
		return slices.DeleteFunc(slices.Clone(all), func(r metav1.OwnerReference) bool {
			return slices.ContainsFunc(dead, func(d metav1.OwnerReference) bool { return d.UID == r.UID })
		})
	})
}

// patchReferences changes owner references by a strategic merge patch. Where there
// is none, because the kind is a custom one, a merge patch names the whole list,
// which rest gives (patch.go patch).
func (c *Controller) patchReferences(t *sim.Task, n *node, refs []map[string]any, rest func([]metav1.OwnerReference) []metav1.OwnerReference) error {
	r, _ := c.resourceOf(n.id.apiVersion, n.id.kind)
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": n.id.uid, "ownerReferences": refs}})
	if err != nil {
		return err
	}
	_, err = c.Client.Patch(t, r, n.id.namespace, n.id.name, types.StrategicMergePatchType, data, "")
	if !apierrors.IsUnsupportedMediaType(err) {
		return err
	}
	m, err := c.get(t, n.id)
	if err != nil {
		return err
	}
	data, err = json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": m.GetResourceVersion(), "ownerReferences": rest(m.GetOwnerReferences()),
	}})
	if err != nil {
		return err
	}
	_, err = c.Client.Patch(t, r, n.id.namespace, n.id.name, types.MergePatchType, data, "")
	return err
}

// finalizerTries is how often a conflict is met before the queue's back-off
// takes over (client-go util/retry DefaultBackoff).
const finalizerTries = 4

// removeFinalizer takes a finalizer away, on top of the newest version only.
func (c *Controller) removeFinalizer(t *sim.Task, n *node, finalizer string) error {
	r, _ := c.resourceOf(n.id.apiVersion, n.id.kind)
	for try := 1; ; try++ {
		m, err := c.get(t, n.id)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot finalize owner %s, because cannot get it: %w", n.id, err)
		}
		i := slices.Index(m.GetFinalizers(), finalizer)
		if i < 0 {
			return nil
		}
		data, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": m.GetResourceVersion(), "finalizers": slices.Delete(m.GetFinalizers(), i, i+1),
		}})
		if err != nil {
			return err
		}
		_, err = c.Client.Patch(t, r, n.id.namespace, n.id.name, types.MergePatchType, data, "")
		if !apierrors.IsConflict(err) || try == finalizerTries {
			return err
		}
	}
}
