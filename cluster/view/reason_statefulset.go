package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// setLook is a StatefulSet and its pods, as its controller sorts them.
type setLook struct {
	s   *State
	o   *Object
	set *appsv1.StatefulSet

	first, end int // the ordinals that are wanted, the last one not included
	pods       map[int]*Object
	condemned  []int // ordinals of pods that are not wanted, the highest first
	lacking    map[int]string
}

func (s *State) lookAtSet(o *Object) *setLook {
	set, ok := o.Value.(*appsv1.StatefulSet)
	if !ok || set.Spec.Replicas == nil {
		return nil
	}
	l := &setLook{s: s, o: o, set: set, pods: map[int]*Object{}, lacking: map[int]string{}}
	l.first, l.end = ordinals(set)
	objects, _ := children[*corev1.Pod](s, o)
	for _, p := range objects {
		n := ordinalOf(p.Name())
		if n < 0 {
			continue
		}
		l.pods[n] = p
		if n < l.first || n >= l.end {
			l.condemned = append(l.condemned, n)
		}
	}
	slices.SortFunc(l.condemned, func(a, b int) int { return b - a })
	return l
}

// ordinals are those that a StatefulSet wants pods of, the last one not included.
func ordinals(set *appsv1.StatefulSet) (first, end int) {
	if set.Spec.Ordinals != nil {
		first = int(set.Spec.Ordinals.Start)
	}
	return first, first + int(wanted(set.Spec.Replicas))
}

// ordinalOf is the number at the end of a name; -1 if there is none.
func ordinalOf(name string) int {
	i := strings.LastIndexByte(name, '-')
	n, err := strconv.ParseInt(name[i+1:], 10, 32)
	if i < 0 || err != nil || n < 0 {
		return -1
	}
	return int(n)
}

func (l *setLook) name(n int) string { return fmt.Sprintf("%s-%d", l.set.Name, n) }

func (l *setLook) pod(n int) *corev1.Pod {
	if o := l.pods[n]; o != nil {
		return o.Value.(*corev1.Pod)
	}
	return nil
}

// lacks says why a pod does not count as available: it does not exist, is going, is not
// ready, or has not been for minReadySeconds; "" where it is.
func (l *setLook) lacks(n int) string {
	why, asked := l.lacking[n]
	if !asked {
		why = l.lack(n)
		l.lacking[n] = why
	}
	return why
}

func (l *setLook) lack(n int) string {
	pod := l.pod(n)
	if pod == nil {
		return "it does not exist"
	}
	if why := l.s.waitsOn(l.pods[n], pod); why != "" {
		if pod.DeletionTimestamp != nil && n >= l.first && n < l.end {
			why += fmt.Sprintf(", and there is never a second %s before the first is gone", l.name(n))
		}
		return why
	}
	if left := l.s.unripe(pod, l.set.Spec.MinReadySeconds); left > 0 {
		return fmt.Sprintf("it is Ready, and available only once it has been for minReadySeconds %d, in %s", l.set.Spec.MinReadySeconds, seconds(left))
	}
	return ""
}

// unripe is for how long a ready pod has still to be ready before it counts as available.
func (s *State) unripe(pod *corev1.Pod, minReadySeconds int32) time.Duration {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Add(time.Duration(minReadySeconds) * time.Second).Sub(s.Now())
		}
	}
	return 0
}

func (l *setLook) old(n int) bool {
	p := l.pod(n)
	return p != nil && l.set.Status.UpdateRevision != "" && p.Labels[appsv1.StatefulSetRevisionLabel] != l.set.Status.UpdateRevision
}

func (l *setLook) oneByOne() bool {
	return l.set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
}

// statefulSet says how far a StatefulSet is and what it waits for.
func (s *State) statefulSet(o *Object) *Reason {
	l := s.lookAtSet(o)
	if l == nil || o.Deleting() || s.unseen(l.set.Generation, l.set.Status.ObservedGeneration) {
		return nil
	}
	have := 0
	for n := l.first; n < l.end; n++ {
		if l.pods[n] != nil {
			have++
		}
	}
	is := fmt.Sprintf("%s has %d of %s: ", o.Ref, have, count(l.end-l.first, "pod"))
	if n := len(l.condemned); n > 0 {
		is = fmt.Sprintf("%s has %s and wants %d (spec.replicas): ", o.Ref, count(have+n, "pod"), l.end-l.first)
	}
	a := &Reason{}
	switch why := l.holdsUp(); {
	case l.set.Status.ObservedGeneration < l.set.Generation:
		a.Says = fmt.Sprintf("%sits controller has not looked yet at what was written last (generation %d, the status is of %d)", is, l.set.Generation, l.set.Status.ObservedGeneration)
	case why != "":
		a.Says = is + why
	case l.end == l.first: // and nothing is left of it
		a.Says = fmt.Sprintf("%s has no pods: spec.replicas is 0", o.Ref)
	default:
		a.Says = fmt.Sprintf("%s has its %s, %s, all available and of revision %s", o.Ref, count(have, "pod"), l.span(), l.set.Status.UpdateRevision)
	}
	a.From = l.lines()
	return s.idle(a, "StatefulSet")
}

func (l *setLook) span() string {
	if l.end-l.first == 1 {
		return l.name(l.first)
	}
	return fmt.Sprintf("%s to %s", l.name(l.first), l.name(l.end-1))
}

// holdsUp says what a StatefulSet waits for, in the order in which its controller looks: pods that are
// missing or not available, then pods that are too many, then those of an old revision.
func (l *setLook) holdsUp() string {
	blocker, missing := -1, -1
	for n := l.first; n < l.end && (blocker < 0 || missing < 0); n++ {
		if l.pods[n] == nil && missing < 0 {
			missing = n
		}
		if blocker < 0 && l.lacks(n) != "" {
			blocker = n
		}
	}
	switch {
	case missing >= 0 && missing == blocker || missing >= 0 && !l.oneByOne():
		return l.making(missing)
	case missing >= 0:
		return fmt.Sprintf("OrderedReady makes %s only when %s is Running and Ready, and %s is not: %s", l.name(missing), l.name(blocker), l.name(blocker), l.lacks(blocker)) + l.stuck(blocker)
	case len(l.condemned) > 0:
		return l.shrinking(blocker)
	}
	kept, why := l.rolling(blocker)
	switch {
	case blocker >= 0 && (kept || why == ""):
		return fmt.Sprintf("%s is not available: %s", l.name(blocker), l.lacks(blocker)) + l.stuck(blocker) + tail("; ", why)
	case why != "":
		return why
	}
	return ""
}

// stuck says that a pod which everything waits for is of an old template, and so not mended by a new
// one: the update only begins once the pod works.
func (l *setLook) stuck(blocker int) string {
	if !l.old(blocker) || l.pods[blocker].Deleting() || !l.oneByOne() {
		return ""
	}
	return fmt.Sprintf("; the template has changed since, but OrderedReady waits for the old %[1]s before it updates anything: kubectl delete pod %[1]s -n %[2]s lets it be made of the new one", l.name(blocker), l.set.Namespace)
}

// making says what becomes of the next pod to be made.
func (l *setLook) making(n int) string {
	why := fmt.Sprintf("%s is the next to be made", l.name(n))
	if !l.oneByOne() {
		why = fmt.Sprintf("%s is still to be made (podManagementPolicy Parallel waits for no other pod)", l.name(n))
	} else if n > l.first {
		why += fmt.Sprintf(", now that %s is Running and Ready", l.name(n-1))
	}
	if e := l.s.warned(l.o, "FailedCreate", l.o.At); e != nil {
		why += ", and could not be: " + e.Message
	}
	return why
}

// shrinking says how a StatefulSet comes to fewer pods.
func (l *setLook) shrinking(blocker int) string {
	highest := l.condemned[0]
	why := "the highest ordinal goes first, and "
	switch {
	case l.pods[highest].Deleting():
		return why + fmt.Sprintf("%s is being deleted%s", l.name(highest), l.nextDown())
	case l.oneByOne() && blocker >= 0:
		return why + fmt.Sprintf("%s waits, because %s is not Running and Ready: %s", l.name(highest), l.name(blocker), l.lacks(blocker))
	case l.oneByOne() && l.lacks(highest) != "" && l.lowestUnavailable() != highest:
		return why + fmt.Sprintf("%s waits, because %s is not Running and Ready: %s", l.name(highest), l.name(l.lowestUnavailable()), l.lacks(l.lowestUnavailable()))
	}
	return why + fmt.Sprintf("%s is the next to be deleted%s", l.name(highest), l.nextDown())
}

func (l *setLook) nextDown() string {
	if len(l.condemned) < 2 {
		return ""
	}
	return ", and then " + l.name(l.condemned[1])
}

// lowestUnavailable is the lowest of the condemned that is not available.
func (l *setLook) lowestUnavailable() int {
	for _, n := range slices.Backward(l.condemned) {
		if l.lacks(n) != "" {
			return n
		}
	}
	return l.condemned[0]
}

// rolling says how far an update is: which pods are of an old revision, and why they still are. kept is true
// where they are to keep it.
func (l *setLook) rolling(blocker int) (kept bool, why string) {
	var old []int
	for n := l.end - 1; n >= l.first; n-- {
		if l.old(n) {
			old = append(old, n)
		}
	}
	if len(old) == 0 {
		return false, ""
	}
	keep := "keep"
	if len(old) == 1 {
		keep = "keeps"
	}
	if l.set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return true, fmt.Sprintf("%s %s the old revision because spec.updateStrategy.type is OnDelete: a pod gets the new one when somebody deletes it", l.list(old), keep)
	}
	partition := l.first + l.partition()
	due := slices.DeleteFunc(slices.Clone(old), func(n int) bool { return n < partition })
	if len(due) == 0 {
		return true, fmt.Sprintf("%s %s the old revision because spec.updateStrategy.rollingUpdate.partition is %d: only pods from %s on get the new one", l.list(old), keep, l.partition(), l.name(partition))
	}
	most := l.maxUnavailable()
	away := 0
	for n := l.first; n < l.end; n++ {
		if l.lacks(n) != "" {
			away++
		}
	}
	why = fmt.Sprintf("an update replaces them from the highest ordinal down, and %s %s still of the old revision: ", l.list(due), isAre(len(due)))
	arithmetic := fmt.Sprintf("%d of %d unavailable, maxUnavailable is %d", away, l.end-l.first, most)
	switch {
	case l.pods[due[0]].Deleting():
		why += fmt.Sprintf("%s is being deleted (%s)", l.name(due[0]), arithmetic)
	case blocker >= 0 && (l.oneByOne() || away >= most && l.lacks(due[0]) == ""):
		why += fmt.Sprintf("%s waits, because %s is not available: %s (%s)", l.name(due[0]), l.name(blocker), l.lacks(blocker), arithmetic) + l.stuck(blocker)
	default:
		why += fmt.Sprintf("%s is the next (%s)", l.name(due[0]), arithmetic)
	}
	if n := len(old) - len(due); n > 0 {
		why += fmt.Sprintf("; those before %s keep it, because partition is %d", l.name(partition), l.partition())
	}
	return false, why
}

func (l *setLook) list(ordinals []int) string {
	var all []string
	for _, n := range slices.Sorted(slices.Values(ordinals)) {
		all = append(all, l.name(n))
	}
	return names(all)
}

func (l *setLook) partition() int {
	if ru := l.set.Spec.UpdateStrategy.RollingUpdate; ru != nil {
		return int(wanted(ru.Partition))
	}
	return 0
}

// maxUnavailable is how many pods an update may have unavailable (upstream's
// getStatefulSetMaxUnavailable).
func (l *setLook) maxUnavailable() int {
	ru := l.set.Spec.UpdateStrategy.RollingUpdate
	if ru == nil {
		return 1
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(ru.MaxUnavailable, intstr.FromInt32(1)), l.end-l.first, false)
	if err != nil {
		return 1
	}
	return max(most, 1)
}

// lines are the pods of a StatefulSet, by ordinal, those that are missing too.
func (l *setLook) lines() (from []Keeper) {
	for n := l.first; n < l.end && len(from) <= 4*maxTold; n++ {
		if l.pods[n] == nil {
			from = append(from, Keeper{What: "pod " + l.name(n), Why: "does not exist"})
			continue
		}
		k := l.s.podLine(l.pods[n], l.pod(n), "revision "+l.pod(n).Labels[appsv1.StatefulSetRevisionLabel])
		if l.old(n) {
			k.Why += " (an old one)"
		}
		from = append(from, k)
	}
	for _, n := range slices.Backward(l.condemned) {
		k := l.s.podLine(l.pods[n], l.pod(n), fmt.Sprintf("beyond the ordinals that spec.replicas %d wants", l.end-l.first))
		k.Good = false
		from = append(from, k)
	}
	return told(from)
}
