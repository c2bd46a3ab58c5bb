package replicaset

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
)

// sync brings one ReplicaSet one step further (syncReplicaSet).
func (c *Controller) sync(run *reconcile.Run) error {
	obj, ok := c.sets.Get(run.Key)
	if !ok {
		c.expect.Forget(run.Key)
		delete(c.tallies, run.Key)
		run.Gone()
		return nil
	}
	rs := c.kind.set(obj)
	satisfied := c.expect.Satisfied(run.Key, run.T.Now())
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return nil // no retry makes it valid
	}
	y := c.tallyOf(run.Key, rs, selector)
	run.Look(len(y.now.pods))
	if err := y.settle(&ownerref.Claimer{Run: run, Client: c.Client, Owner: rs, OwnerOf: c.kind.resource, Kind: client.Pods, Selector: selector}); err != nil {
		return err
	}

	var manageErr error
	if satisfied && rs.DeletionTimestamp == nil {
		manageErr = c.manage(run, rs, y)
	}
	now := run.T.Now()
	updated, err := c.updateStatus(run, rs, c.status(rs, y, manageErr, now))
	if err != nil {
		return err
	}
	run.Converged(c.ref(updated), updated.Generation, converged(updated))
	if manageErr != nil {
		return manageErr
	}
	if s := updated.Spec.MinReadySeconds; s > 0 && updated.Status.ReadyReplicas != updated.Status.AvailableReplicas {
		if next := pods.NextAvailable(y.list(claimed|active), s, now); next > 0 {
			run.Again(next)
		}
	}
	return nil
}

// manage creates or deletes pods (manageReplicas).
func (c *Controller) manage(run *reconcile.Run, rs *appsv1.ReplicaSet, y *tally) error {
	want, have := int(*rs.Spec.Replicas), y.number(claimed|active)
	switch {
	case have < want:
		return c.create(run, rs, have, want)
	case have > want:
		return c.delete(run, rs, y.list(claimed|active), want)
	}
	return nil
}

func (c *Controller) create(run *reconcile.Run, rs *appsv1.ReplicaSet, have, want int) error {
	n := min(want-have, BurstReplicas)
	run.Act("create", client.Pods.Ref(rs.Namespace, ""), want, have,
		"spec.replicas is %d, %s: create %d%s", want, exist(have), n, batches(n))
	c.expect.Creations(run.Key, n, run.T.Now())
	done, err := c.slowStart(run.T, n, func(t *sim.Task) error { return c.createPod(t, rs) })
	for range n - done {
		c.expect.Created(run.Key) // these will never be seen
	}
	return err
}

// exist is "no pod exists", "1 pod exists", "7 pods exist".
func exist(n int) string {
	switch n {
	case 0:
		return "no pod exists"
	case 1:
		return "1 pod exists"
	}
	return fmt.Sprintf("%d pods exist", n)
}

// batches says how slow start splits a creation: " (first 1, then 2, 4)".
func batches(n int) string {
	if n < 2 {
		return ""
	}
	s, left, size := "first 1, then ", n-1, 1
	for left > 0 {
		size = min(2*size, left)
		s += fmt.Sprint(size)
		if left -= size; left > 0 {
			s += ", "
		}
	}
	return " (" + s + ")"
}

// slowStart calls fn n times, in batches that double as long as all goes well,
// and gives how many calls succeeded (slowStartBatch).
func (c *Controller) slowStart(t *sim.Task, n int, fn func(*sim.Task) error) (done int, err error) {
	for left, size := n, min(n, 1); size > 0; size = min(2*size, left) {
		errs := make([]error, size)
		c.Parallel(t, "create", size, func(t *sim.Task, i int) { errs[i] = fn(t) })
		for _, e := range errs {
			if e == nil {
				done++
			} else if err == nil {
				err = e
			}
		}
		if err != nil {
			return done, err
		}
		left -= size
	}
	return done, nil
}

func (c *Controller) createPod(t *sim.Task, rs *appsv1.ReplicaSet) error {
	pod := pods.FromTemplate(&rs.Spec.Template, rs.Name, metav1.NewControllerRef(rs, c.kind.resource.GVK()))
	made, err := client.Create(t, c.Client, client.Pods, rs.Namespace, pod)
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil // nothing can be created there any more: not worth an error
	case err != nil:
		c.Events.Event(t, c.kind.object(rs), corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
		return err
	}
	c.Events.Event(t, c.kind.object(rs), corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %s", made.Name)
	return nil
}

func (c *Controller) delete(run *reconcile.Run, rs *appsv1.ReplicaSet, active []*corev1.Pod, want int) error {
	n := min(len(active)-want, BurstReplicas)
	victims := pods.ToDelete(active, c.related(rs), n, run.T.Now())
	names := make([]string, len(victims))
	for i, pod := range victims {
		names[i] = informer.KeyOf(pod)
	}
	run.Act("delete", client.Pods.Ref(rs.Namespace, ""), want, len(active),
		"spec.replicas is %d, %s: delete %d, those missed least (%s)", want, exist(len(active)), n, list(victims))
	c.expect.Deletions(run.Key, names, run.T.Now())
	errs := make([]error, n)
	c.Parallel(run.T, "delete", n, func(t *sim.Task, i int) { errs[i] = c.deleteOne(t, rs, run.Key, victims[i]) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// list names the first few pods.
func list(victims []*corev1.Pod) string {
	const most = 5
	s := ""
	for i, pod := range victims {
		if i == most {
			return s + fmt.Sprintf(" and %d more", len(victims)-most)
		}
		if i > 0 {
			s += ", "
		}
		s += pod.Name
	}
	return s
}

func (c *Controller) deleteOne(t *sim.Task, rs *appsv1.ReplicaSet, key string, pod *corev1.Pod) error {
	err := c.Client.Delete(t, client.Pods, pod.Namespace, pod.Name, metav1.DeleteOptions{})
	if err == nil {
		c.Events.Event(t, c.kind.object(rs), corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %s", pod.Name)
		return nil
	}
	c.expect.Deleted(key, informer.KeyOf(pod)) // the cache will show no deletion
	if apierrors.IsNotFound(err) {
		return nil
	}
	c.Events.Event(t, c.kind.object(rs), corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
	return fmt.Errorf("unable to delete pods: %w", err)
}

// related gives the pods of all ReplicaSets with the same owner
// (getIndirectlyRelatedPods): during a rolling update a node is crowded by the
// pods of both.
func (c *Controller) related(rs *appsv1.ReplicaSet) []*corev1.Pod {
	sets := []*appsv1.ReplicaSet{rs}
	if ref := metav1.GetControllerOfNoCopy(rs); ref != nil {
		sets = sets[:0]
		for _, obj := range c.sets.ByIndex(ownerref.Index, string(ref.UID)) {
			sets = append(sets, c.kind.set(obj))
		}
	}
	var out []*corev1.Pod
	for _, s := range sets {
		out = append(out, ownerref.ControlledBy[*corev1.Pod](c.pods, s.UID)...)
	}
	return out
}
