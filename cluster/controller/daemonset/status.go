package daemonset

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
)

// count counts nodes by the oldest pod of each (updateDaemonSetStatus).
func (l *look) count() (st appsv1.DaemonSetStatus, err error) {
	on, err := l.byNode(false)
	if err != nil {
		return st, err
	}
	st = *l.ds.Status.DeepCopy()
	st.DesiredNumberScheduled, st.CurrentNumberScheduled, st.NumberMisscheduled, st.NumberReady, st.UpdatedNumberScheduled, st.NumberAvailable = 0, 0, 0, 0, 0, 0
	for _, n := range l.all {
		here := on[n.Name]
		if !n.should {
			if len(here) > 0 {
				st.NumberMisscheduled++
			}
			continue
		}
		st.DesiredNumberScheduled++
		if len(here) == 0 {
			continue
		}
		st.CurrentNumberScheduled++
		pod := slices.MinFunc(here, olderFirst)
		if pods.Ready(pod) {
			st.NumberReady++
			if l.available(pod) {
				st.NumberAvailable++
			}
		}
		if l.updated(pod) {
			st.UpdatedNumberScheduled++
		}
	}
	st.NumberUnavailable = st.DesiredNumberScheduled - st.NumberAvailable
	return st, nil
}

// updateStatus brings the status up to date; acted says whether the spec was acted on.
func (l *look) updateStatus(acted bool) error {
	st, err := l.count()
	if err != nil {
		return err
	}
	there := acted && st.NumberAvailable == st.DesiredNumberScheduled && st.UpdatedNumberScheduled == st.DesiredNumberScheduled
	if err := l.store(st, acted); err != nil {
		return err
	}
	if l.ds.Spec.MinReadySeconds > 0 && st.NumberReady != st.NumberAvailable {
		l.run.Again(time.Duration(l.ds.Spec.MinReadySeconds) * time.Second)
	}
	l.run.Converged(client.RefOf(l.ds), l.ds.Generation, there)
	return nil
}

// store writes the status if it changed, with one more try (storeDaemonSetStatus).
func (l *look) store(st appsv1.DaemonSetStatus, acted bool) error {
	if counts(&st) == counts(&l.ds.Status) && l.ds.Status.ObservedGeneration >= l.ds.Generation {
		return nil
	}
	l.run.Act("update", client.RefOf(l.ds), counts(&st), counts(&l.ds.Status), "%s", whyStatus(l.ds, &st))
	ds := l.ds.DeepCopy()
	for try := 0; ; try++ {
		st.CollisionCount, st.Conditions = ds.Status.CollisionCount, ds.Status.Conditions
		if st.ObservedGeneration = ds.Status.ObservedGeneration; acted {
			st.ObservedGeneration = l.ds.Generation
		}
		ds.Status = st
		updated, err := client.UpdateStatus(l.run.T, l.Client, client.DaemonSets, ds.Namespace, ds)
		if err == nil {
			l.written.At(l.run.Key, l.sets, updated)
			return nil
		}
		if try > 0 {
			return fmt.Errorf("error storing status for daemon set %s: %w", l.ds.Name, err)
		}
		if ds, err = client.Get[*appsv1.DaemonSet](l.run.T, l.Client, client.DaemonSets, ds.Namespace, ds.Name); err != nil {
			return err
		}
	}
}

// counts are desired, current, misscheduled, ready, updated, available, unavailable.
func counts(st *appsv1.DaemonSetStatus) [7]int32 {
	return [7]int32{st.DesiredNumberScheduled, st.CurrentNumberScheduled, st.NumberMisscheduled, st.NumberReady, st.UpdatedNumberScheduled, st.NumberAvailable, st.NumberUnavailable}
}

// whyStatus says what is new in a status.
func whyStatus(ds *appsv1.DaemonSet, st *appsv1.DaemonSetStatus) string {
	if counts(st) == counts(&ds.Status) {
		return fmt.Sprintf("the spec is at generation %d, the status at %d: note that it was seen", ds.Generation, ds.Status.ObservedGeneration)
	}
	return fmt.Sprintf("counted %s, the status says %s: update it", words(st), words(&ds.Status))
}

func words(st *appsv1.DaemonSetStatus) string {
	s := fmt.Sprintf("%d of %d nodes with a pod (%d updated, %d ready, %d available)", st.CurrentNumberScheduled, st.DesiredNumberScheduled, st.UpdatedNumberScheduled, st.NumberReady, st.NumberAvailable)
	if st.NumberMisscheduled > 0 {
		s += fmt.Sprintf(", %d where none should run", st.NumberMisscheduled)
	}
	return s
}
