package job

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/controller/pods"
)

// failures is how often pods of a Job have failed since one succeeded, and when the last
// did (backoffRecord).
type failures struct {
	n    int32
	last time.Time
}

// after is the record once these pods have ended too (newBackoffRecord).
func (f failures) after(succeeded, failed []*corev1.Pod) failures {
	if len(succeeded) == 0 {
		if len(failed) > 0 {
			f.n += int32(len(failed))
			f.last = latest(failed)
		}
		return f
	}
	success := latest(succeeded)
	f = failures{}
	for _, p := range failed {
		if at := finished(p); at.After(success) {
			f.n++
			if at.After(f.last) {
				f.last = at
			}
		}
	}
	return f
}

// latest is when the last of some pods ended.
func latest(list []*corev1.Pod) time.Time {
	return finished(slices.MaxFunc(list, func(a, b *corev1.Pod) int { return finished(a).Compare(finished(b)) }))
}

// left is how long no pod is created after these failures: 10 s, doubled with each failure
// after the first, at most 10 minutes (getRemainingTimeForFailuresCount).
func (f failures) left(now time.Time) time.Duration {
	if f.n == 0 {
		return 0
	}
	return max(f.wait()-now.Sub(f.last), 0)
}

func (f failures) wait() time.Duration {
	wait := failureBackoff
	for i := 1; i < int(f.n) && wait < maxFailureBackoff; i++ {
		wait = min(2*wait, maxFailureBackoff)
	}
	return wait
}

// failuresOf are those of one index, of whose pods this is the last to fail; nil if none
// did (getRemainingTimePerIndex).
func failuresOf(last *corev1.Pod) failures {
	if last == nil {
		return failures{}
	}
	return failures{allIndexFailures(last) + 1, finished(last)}
}

// finished is when a pod ended: its last container, else what else tells (getFinishedTime).
func finished(p *corev1.Pod) time.Time {
	if at, ok := containersFinished(p); ok {
		return at
	}
	if c := pods.Condition(p, corev1.PodReady); c != nil && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime.Time
	}
	if p.DeletionTimestamp != nil {
		grace := int64(0)
		if g := p.DeletionGracePeriodSeconds; g != nil {
			grace = *g
		}
		return p.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
	}
	return p.CreationTimestamp.Time
}

func containersFinished(p *corev1.Pod) (last time.Time, ok bool) {
	last, ok = lastFinished(time.Time{}, false, p.Status.ContainerStatuses)
	var sidecars []corev1.ContainerStatus
	for _, s := range p.Status.InitContainerStatuses {
		if slices.ContainsFunc(p.Spec.InitContainers, func(c corev1.Container) bool {
			return c.Name == s.Name && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}) {
			sidecars = append(sidecars, s)
		}
	}
	return lastFinished(last, ok, sidecars)
}

// lastFinished is the latest end of containers, or the one before; ok is false where one
// has not ended (latestFinishTime).
func lastFinished(last time.Time, had bool, list []corev1.ContainerStatus) (time.Time, bool) {
	for _, c := range list {
		t := c.State.Terminated
		if t == nil || t.FinishedAt.IsZero() {
			return time.Time{}, false
		}
		if !had || last.Before(t.FinishedAt.Time) {
			last, had = t.FinishedAt.Time, true
		}
	}
	return last, had
}
