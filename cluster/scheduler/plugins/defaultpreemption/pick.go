package defaultpreemption

import (
	"time"

	v1helper "k8s.io/component-helpers/scheduling/corev1"

	"kviz/cluster/scheduler/framework"
)

// criteria are asked one after another, as long as several candidates are equal: the highest
// number wins.
//
// Mirrors framework/preemption/preemption.go pickOneNodeForPreemption.
var criteria = []struct {
	why   string
	score func(*candidate) int64
}{
	{"the fewest victims against their PodDisruptionBudgets", func(c *candidate) int64 { return -int64(c.violations) }},
	{"its most important victim has the lowest priority", func(c *candidate) int64 { return -int64(v1helper.PodPriority(c.victims[0].Pod)) }},
	{"the lowest sum of its victims' priorities", func(c *candidate) int64 { return -sum(c.victims) }},
	{"the fewest victims", func(c *candidate) int64 { return -int64(len(c.victims)) }},
	// Of the victims of the highest priority, the first is the one that started first.
	{"its most important victims started last", func(c *candidate) int64 { return started(c.victims[0]).Unix() }},
}

// pick takes the candidate that does the least harm, and says by which criterion it is the one.
func pick(candidates []candidate) (best *candidate, why string) {
	if len(candidates) == 1 {
		return &candidates[0], "the only candidate"
	}
	left := make([]*candidate, len(candidates))
	for i := range candidates {
		left[i] = &candidates[i]
	}
	for _, by := range criteria {
		if left = highest(left, by.score); len(left) == 1 {
			return left[0], by.why
		}
	}
	return left[0], "the first of those that do the same harm"
}

func highest(list []*candidate, score func(*candidate) int64) (top []*candidate) {
	var most int64
	for _, c := range list {
		n := score(c)
		if len(top) > 0 && n < most {
			continue
		}
		if len(top) > 0 && n > most {
			top = top[:0]
		}
		top, most = append(top, c), n
	}
	return top
}

// sum adds up priorities moved into the positive, so that a node with few
// victims of negative priority does not lose to one with many.
func sum(victims []*framework.PodInfo) (total int64) {
	for _, v := range victims {
		total += int64(v1helper.PodPriority(v.Pod)) + 1<<31
	}
	return total
}

// notStarted is when a pod counts as started that no kubelet has seen yet: after all that
// have (pkg/scheduler/util GetPodStartTime).
var notStarted = time.Unix(1<<40, 0)

func started(p *framework.PodInfo) time.Time {
	if p.Pod.Status.StartTime == nil {
		return notStarted
	}
	return p.Pod.Status.StartTime.Time
}
