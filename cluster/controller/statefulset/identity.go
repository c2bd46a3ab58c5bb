package statefulset

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/pods"
)

// Everything that a pod is to its set is in its name: web-7 is number 7 of web.
var nameAndOrdinal = regexp.MustCompile("(.*)-([0-9]+)$")

// parentAndOrdinal reads a pod's name; "" and -1 where a StatefulSet would not give it
// (getParentNameAndOrdinal).
func parentAndOrdinal(name string) (string, int) {
	m := nameAndOrdinal.FindStringSubmatch(name)
	if m == nil {
		return "", -1
	}
	n, err := strconv.ParseInt(m[2], 10, 32)
	if err != nil {
		return m[1], -1
	}
	return m[1], int(n)
}

func ordinal(pod *corev1.Pod) int {
	_, n := parentAndOrdinal(pod.Name)
	return n
}

// mostOrdinals is how many pods a set has at most, whatever it asks for: each look at the set makes those
// that are missing, of which upstream's controller would run out of memory.
const mostOrdinals = 5000

// ordinals are those that a set wants pods of, the last one not included.
func ordinals(set *appsv1.StatefulSet) (first, end int) {
	if set.Spec.Ordinals != nil {
		first = int(set.Spec.Ordinals.Start)
	}
	return first, first + min(max(int(*set.Spec.Replicas), 0), mostOrdinals)
}

func inRange(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	first, end := ordinals(set)
	n := ordinal(pod)
	return n >= first && n < end
}

// sort puts the pods in the places of their ordinals, and fills the empty places with pods
// as they would be made.
func (s *step) sort(mine []*corev1.Pod) {
	first, end := ordinals(s.set)
	s.replicas = make([]*corev1.Pod, end-first)
	for _, pod := range mine {
		switch n := ordinal(pod); {
		case inRange(s.set, pod):
			s.replicas[n-first] = pod
		case n >= 0:
			s.condemned = append(s.condemned, pod)
		}
	}
	for i := range s.replicas {
		if s.replicas[i] == nil {
			s.replicas[i] = s.missing(first + i)
		}
	}
	slices.SortStableFunc(s.condemned, func(a, b *corev1.Pod) int { return ordinal(b) - ordinal(a) })
}

// missing is the pod of an ordinal as it is to be made: below the partition of the revision
// that the set had before, so that a pod that dies during an update comes back as it was
// (newVersionedStatefulSetPod).
func (s *step) missing(n int) *corev1.Pod {
	set, rev := s.updateSet, s.update
	first, _ := ordinals(s.set)
	strategy := s.set.Spec.UpdateStrategy
	switch ru := strategy.RollingUpdate; {
	case ru != nil && n < first+int(*ru.Partition),
		ru == nil && strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType && n < first+int(s.set.Status.CurrentReplicas):
		set, rev = s.currentSet, s.current
	}
	pod := newPod(set, n)
	pod.Labels[appsv1.StatefulSetRevisionLabel] = rev.Name
	return pod
}

// newPod is the pod of a set that has an ordinal (newStatefulSetPod).
func newPod(set *appsv1.StatefulSet, n int) *corev1.Pod {
	pod := pods.FromTemplate(&set.Spec.Template, set.Name, metav1.NewControllerRef(set, client.StatefulSets.GVK()))
	pod.Name = fmt.Sprintf("%s-%d", set.Name, n)
	identify(set, pod)
	// These two never change again; endpoints of the Service of that name are called so.
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, set.Spec.ServiceName
	mountClaims(set, pod)
	return pod
}

// identify gives a pod the name and the labels of its ordinal (updateIdentity).
func identify(set *appsv1.StatefulSet, pod *corev1.Pod) {
	n := ordinal(pod)
	pod.Name, pod.Namespace = fmt.Sprintf("%s-%d", set.Name, n), set.Namespace
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[appsv1.StatefulSetPodNameLabel], pod.Labels[appsv1.PodIndexLabel] = pod.Name, strconv.Itoa(n)
}

// identified reports whether a pod is who it has to be (identityMatches).
func identified(set *appsv1.StatefulSet, pod *corev1.Pod) bool {
	parent, n := parentAndOrdinal(pod.Name)
	return n >= 0 && parent == set.Name && pod.Name == fmt.Sprintf("%s-%d", set.Name, n) && pod.Namespace == set.Namespace &&
		pod.Labels[appsv1.StatefulSetPodNameLabel] == pod.Name
}

func revisionOf(pod *corev1.Pod) string { return pod.Labels[appsv1.StatefulSetRevisionLabel] }

// What is true of a pod. One that is yet to be made has no phase.
func created(pod *corev1.Pod) bool     { return pod.Status.Phase != "" }
func terminating(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }
func runningAndReady(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && pods.Ready(pod)
}

func (s *step) available(pod *corev1.Pod) bool {
	return pods.Available(pod, s.set.Spec.MinReadySeconds, s.now)
}

func (s *step) unavailable(pod *corev1.Pod) bool { return !s.available(pod) || terminating(pod) }

// firstUnavailable is the pod that everything waits for: of the replicas, then of the
// condemned, the one with the lowest ordinal.
func (s *step) firstUnavailable() *corev1.Pod {
	for _, pod := range s.replicas {
		if s.unavailable(pod) {
			return pod
		}
	}
	for _, pod := range slices.Backward(s.condemned) {
		if s.unavailable(pod) {
			return pod
		}
	}
	return nil
}
