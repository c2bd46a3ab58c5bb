package statefulset

import (
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
)

// sync brings one StatefulSet one step further (sync and syncStatefulSet).
func (c *Controller) sync(run *reconcile.Run) error {
	if err := c.written.Seen(run.Key); err != nil {
		return err
	}
	obj, ok := c.sets.Get(run.Key)
	if !ok {
		c.written.Forget(run.Key)
		run.Gone()
		return nil
	}
	set := obj.(*appsv1.StatefulSet)
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return nil // no retry makes it valid
	}
	if err := c.adoptRevisions(run, set, selector); err != nil {
		return err
	}
	mine, err := c.claimPods(run, set, selector)
	if err != nil {
		return err
	}
	run.Look(len(mine))
	now := run.T.Now()
	st, err := c.update(run, set, c.revisions(set, selector), mine, now)
	if err != nil {
		return err
	}
	run.Converged(client.RefOf(set), set.Generation, converged(set, st))
	if s := set.Spec.MinReadySeconds; s > 0 && st.ReadyReplicas != st.AvailableReplicas {
		// The queue has one entry for the set, whatever the number of pods that wait.
		next := pods.NextAvailable(mine, s, now)
		if next == 0 {
			next = time.Duration(s) * time.Second
		}
		run.Again(next)
	}
	return nil
}

// adoptRevisions makes the revisions of nobody that the set's selector matches its own
// (adoptOrphanRevisions). A set that is being deleted cannot, and comes no further. None is ever
// released.
func (c *Controller) adoptRevisions(run *reconcile.Run, set *appsv1.StatefulSet, selector labels.Selector) error {
	claimer := &ownerref.Claimer{
		Run: run, Client: c.Client, Owner: set, OwnerOf: client.StatefulSets, Kind: client.ControllerRevisions, Selector: selector,
	}
	for _, rev := range c.revisions(set, selector) {
		if metav1.GetControllerOfNoCopy(rev) != nil {
			continue
		}
		if err := claimer.Adopt(rev); err != nil {
			return err
		}
	}
	return nil
}

// revisions are those of the set, and of nobody, that its selector matches, the oldest first
// (ListRevisions).
func (c *Controller) revisions(set *appsv1.StatefulSet, selector labels.Selector) (list []*appsv1.ControllerRevision) {
	for _, rev := range c.history.Candidates(set.Namespace, set.UID) {
		if selector.Matches(labels.Set(rev.Labels)) {
			list = append(list, rev)
		}
	}
	return list
}

// claimPods gives the set's pods, adopting and releasing. It takes none whose name it would
// not have given (getPodsForStatefulSet).
func (c *Controller) claimPods(run *reconcile.Run, set *appsv1.StatefulSet, selector labels.Selector) ([]*corev1.Pod, error) {
	return ownerref.Claim(&ownerref.Claimer{
		Run: run, Client: c.Client, Owner: set, OwnerOf: client.StatefulSets, Kind: client.Pods, Selector: selector,
		Matches: func(pod ownerref.Object) bool {
			parent, _ := parentAndOrdinal(pod.GetName())
			return parent == set.Name
		},
		Adopted: func(pod runtime.Object) { c.written.At(run.Key, c.pods, pod) },
	}, ownerref.Candidates[*corev1.Pod](c.pods, set.Namespace, set.UID))
}

// update takes the step, writes the status, and deletes revisions that are too many
// (UpdateStatefulSet and performUpdate).
func (c *Controller) update(run *reconcile.Run, set *appsv1.StatefulSet, revisions []*appsv1.ControllerRevision, mine []*corev1.Pod, now time.Time) (*appsv1.StatefulSetStatus, error) {
	current, update, collisions, err := c.revisionsOf(run, set, revisions)
	var st *appsv1.StatefulSetStatus
	if err == nil {
		if st, err = c.step(run, set, current, update, collisions, mine, now); st != nil {
			if statusErr := c.updateStatus(run, set, st); err == nil {
				err = statusErr
			}
		}
	}
	return st, errors.Join(err, c.truncate(run, set, mine, revisions, current, update))
}

// step is one look at the pods of a set, from which one step is decided.
type step struct {
	*Controller
	run *reconcile.Run
	set *appsv1.StatefulSet
	now time.Time

	current, update       *appsv1.ControllerRevision
	currentSet, updateSet *appsv1.StatefulSet // the set with the template of the revision

	replicas  []*corev1.Pod // by ordinal, from the first on; those that are missing as they would be made
	condemned []*corev1.Pod // those of other ordinals, the highest first
	status    appsv1.StatefulSetStatus
}

// step takes it (updateStatefulSet). It gives no status where it found out nothing.
func (c *Controller) step(run *reconcile.Run, set *appsv1.StatefulSet, current, update *appsv1.ControllerRevision, collisions int32, mine []*corev1.Pod, now time.Time) (*appsv1.StatefulSetStatus, error) {
	s := &step{Controller: c, run: run, set: set, now: now, current: current, update: update}
	var err error
	if s.currentSet, err = apply(set, current); err != nil {
		return nil, err
	}
	if s.updateSet, err = apply(set, update); err != nil {
		return nil, err
	}
	if set.Spec.UpdateStrategy.Type == appsv1.RecreateStatefulSetStrategyType {
		err := fmt.Errorf("statefulset %s/%s uses Recreate strategy but feature gate StatefulSetRecreateStrategy is disabled", set.Namespace, set.Name)
		c.Events.Event(run.T, set, corev1.EventTypeWarning, "UnknownStrategy", "%v", err)
		return nil, err
	}
	s.status = appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation, CurrentRevision: current.Name, UpdateRevision: update.Name,
		CollisionCount: &collisions, Conditions: set.Status.Conditions,
	}
	s.count(mine)
	s.sort(mine)
	if set.DeletionTimestamp != nil {
		return &s.status, nil // its pods are the garbage collector's now
	}
	stop, err := s.keep()
	if s.count(s.replicas, s.condemned); stop || err != nil {
		return &s.status, err
	}
	if set.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType {
		err = s.roll()
	} else if i := slices.IndexFunc(s.replicas, func(pod *corev1.Pod) bool { return created(pod) && s.old(pod) }); i >= 0 {
		s.run.Waits("%s is of revision %s, the newest is %s: updateStrategy OnDelete waits until somebody deletes it", s.replicas[i].Name, revisionOf(s.replicas[i]), s.update.Name)
	}
	return &s.status, err
}

// keep has a pod for each ordinal of the set, and none for any other. It stops where it
// has to wait.
func (s *step) keep() (stop bool, err error) {
	if stop, err = s.each(s.replicas, "replica", s.replica); stop || err != nil {
		return stop, err
	}
	if stop, err = s.each(s.condemned, "claims", s.condemnedClaims); stop || err != nil {
		return stop, err
	}
	first := s.firstUnavailable()
	return s.each(s.condemned, "condemned", func(run *reconcile.Run, pod *corev1.Pod, _ int) (bool, error) {
		return s.condemn(run, pod, first)
	})
}

// maxBatch is the most pods that are dealt with at the same time (MaxBatchSize).
const maxBatch = 500

// each calls fn for the pods: one after the other until it says stop, or, with Parallel, for all of
// them, in batches that double as long as all goes well (runForAll and slowStartBatch).
func (s *step) each(list []*corev1.Pod, what string, fn func(run *reconcile.Run, pod *corev1.Pod, i int) (bool, error)) (bool, error) {
	if s.monotonic() {
		for i, pod := range list {
			if stop, err := fn(s.run, pod, i); stop || err != nil {
				return true, err
			}
		}
		return false, nil
	}
	for done, size := 0, min(len(list), 1); size > 0; size = min(2*size, len(list)-done, maxBatch) {
		errs := make([]error, size)
		s.Parallel(s.run.T, what, size, func(t *sim.Task, i int) {
			_, errs[i] = fn(s.run.In(t), list[done+i], done+i)
		})
		if err := errors.Join(errs...); err != nil {
			return true, err
		}
		done += size
	}
	return false, nil
}

// monotonic says that one thing is done after the other.
func (s *step) monotonic() bool {
	return s.set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
}
