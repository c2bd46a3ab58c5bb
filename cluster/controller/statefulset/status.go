package statefulset

import (
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
)

// count counts the pods into the status (updateStatus).
func (s *step) count(lists ...[]*corev1.Pod) {
	st := &s.status
	st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.CurrentReplicas, st.UpdatedReplicas = 0, 0, 0, 0, 0
	for _, list := range lists {
		for _, pod := range list {
			if !created(pod) {
				continue
			}
			st.Replicas++
			if runningAndReady(pod) {
				st.ReadyReplicas++
				if s.available(pod) {
					st.AvailableReplicas++
				}
			}
			if terminating(pod) {
				continue
			}
			if revisionOf(pod) == s.current.Name {
				st.CurrentReplicas++
			}
			if revisionOf(pod) == s.update.Name {
				st.UpdatedReplicas++
			}
		}
	}
}

// updateStatus writes the status if it changed (updateStatefulSetStatus). With it an update ends: once all
// pods are of the newest revision and ready, that is the current one.
func (c *Controller) updateStatus(run *reconcile.Run, set *appsv1.StatefulSet, st *appsv1.StatefulSetStatus) error {
	if n := *set.Spec.Replicas; st.UpdatedReplicas == n && st.ReadyReplicas == n && st.Replicas == n {
		st.CurrentReplicas, st.CurrentRevision = st.UpdatedReplicas, st.UpdateRevision
	}
	if !changed(&set.Status, st) {
		return nil
	}
	run.Act("update", client.RefOf(set), counts(st), counts(&set.Status), "%s", whyStatus(set, st))
	set = set.DeepCopy()
	return reconcile.OnConflict(run.T, reconcile.Retry, func() error {
		set.Status = *st
		updated, err := client.UpdateStatus(run.T, c.Client, client.StatefulSets, set.Namespace, set)
		if err == nil {
			c.written.At(run.Key, c.sets, updated)
		} else if seen, ok := c.sets.Get(informer.KeyOf(set)); ok {
			set = seen.(*appsv1.StatefulSet).DeepCopy()
		}
		return err
	})
}

// changed reports whether a status is worth writing (inconsistentStatus).
func changed(was, is *appsv1.StatefulSetStatus) bool {
	return is.ObservedGeneration > was.ObservedGeneration || counts(is) != counts(was) ||
		is.CurrentRevision != was.CurrentRevision || is.UpdateRevision != was.UpdateRevision || !reflect.DeepEqual(was.Conditions, is.Conditions)
}

// counts are replicas, ready, available, current, updated.
func counts(st *appsv1.StatefulSetStatus) [5]int32 {
	return [5]int32{st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.CurrentReplicas, st.UpdatedReplicas}
}

// whyStatus says what is new in a status.
func whyStatus(set *appsv1.StatefulSet, st *appsv1.StatefulSetStatus) string {
	was := &set.Status
	switch {
	case was.CurrentRevision != "" && was.CurrentRevision != st.CurrentRevision:
		return fmt.Sprintf("all %s are of revision %s and ready: the update is finished, it is the current revision", pods.Count(st.Replicas), st.UpdateRevision)
	case counts(st) != counts(was):
		return fmt.Sprintf("counted %s, the status says %s: update it", words(st), words(was))
	case was.UpdateRevision != st.UpdateRevision:
		return fmt.Sprintf("the newest revision is %s: note it in the status", st.UpdateRevision)
	}
	return fmt.Sprintf("the spec is at generation %d, the status at %d: note that it was seen", set.Generation, was.ObservedGeneration)
}

func words(st *appsv1.StatefulSetStatus) string {
	return fmt.Sprintf("%s (%d ready, %d available, %d current, %d updated)", pods.Count(st.Replicas), st.ReadyReplicas, st.AvailableReplicas, st.CurrentReplicas, st.UpdatedReplicas)
}

// converged reports whether there is what the spec asks for.
func converged(set *appsv1.StatefulSet, st *appsv1.StatefulSetStatus) bool {
	n := *set.Spec.Replicas
	return st.Replicas == n && st.AvailableReplicas == n && st.CurrentRevision == st.UpdateRevision
}
