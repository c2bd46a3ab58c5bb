package statefulset

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// roll deletes pods that are not of the newest template, so that the next run makes them
// anew: from the highest ordinal down to the partition, as many as may be
// unavailable (updateStatefulSetAfterInvariantEstablished).
func (s *step) roll() error {
	partition, most := 0, 1
	if ru := s.set.Spec.UpdateStrategy.RollingUpdate; ru != nil {
		partition = int(*ru.Partition)
		var err error
		if most, err = maxUnavailable(ru, len(s.replicas)); err != nil {
			return err
		}
	}
	away, awayAndOld := 0, 0
	for _, pod := range s.replicas {
		if s.unavailable(pod) {
			away++
			if s.old(pod) && !terminating(pod) {
				awayAndOld++
			}
		}
	}
	arithmetic := fmt.Sprintf("%d of %d unavailable, maxUnavailable is %d", away, len(s.replicas), most)
	if partition > 0 {
		arithmetic += fmt.Sprintf(", partition %d", partition)
	}
	if s.monotonic() {
		s.holds(most-away, partition, arithmetic)
		return s.replace(most-away, partition, arithmetic, func(pod *corev1.Pod) bool { return !terminating(pod) })
	}
	s.holds(most-away, partition, arithmetic)
	if away >= most && awayAndOld == 0 {
		return nil
	}
	// Those that do no work anyway go first, and count for nothing: else a broken update
	// could take the last that work before it reaches them.
	if err := s.replace(len(s.replicas), partition, arithmetic+", this one is among them", func(pod *corev1.Pod) bool { return !s.available(pod) && !terminating(pod) }); err != nil {
		return err
	}
	return s.replace(most-away, partition, arithmetic, func(pod *corev1.Pod) bool { return !s.unavailable(pod) })
}

// holds notes that pods of older revisions stay for now: because as many are unavailable as may be, or
// because they are below the partition.
func (s *step) holds(n, partition int, arithmetic string) {
	for i := len(s.replicas) - 1; i >= 0; i-- {
		pod := s.replicas[i]
		if !s.old(pod) || terminating(pod) {
			continue
		}
		if i < partition {
			s.run.Waits("%s stays of revision %s, though the newest is %s: spec.updateStrategy.rollingUpdate.partition is %d", pod.Name, revisionOf(pod), s.update.Name, partition)
		} else if n <= 0 {
			s.run.Waits("%s is of revision %s, the newest is %s: it waits, %s", pod.Name, revisionOf(pod), s.update.Name, arithmetic)
		} else {
			continue
		}
		return
	}
}

func (s *step) old(pod *corev1.Pod) bool { return revisionOf(pod) != s.update.Name }

// replace deletes up to n of the old pods that which is true of.
func (s *step) replace(n, partition int, arithmetic string, which func(*corev1.Pod) bool) error {
	for i := len(s.replicas) - 1; i >= partition && n > 0; i-- {
		pod := s.replicas[i]
		if !s.old(pod) || !which(pod) {
			continue
		}
		why := fmt.Sprintf("%s is of revision %s, the newest is %s, %s: delete it, to create it again", pod.Name, revisionOf(pod), s.update.Name, arithmetic)
		if err := s.delete(s.run, pod, why); err != nil {
			return err
		}
		s.status.CurrentReplicas--
		n--
	}
	return nil
}

// maxUnavailable is how many of n pods an update may have unavailable, at least 1
// (getStatefulSetMaxUnavailable).
func maxUnavailable(ru *appsv1.RollingUpdateStatefulSetStrategy, n int) (int, error) {
	most, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(ru.MaxUnavailable, intstr.FromInt32(1)), n, false)
	return max(most, 1), err
}
