package replicaset

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/controller/ownerref"
	"kviz/cluster/controller/pods"
)

// A sync looks at every pod of the set, and every change of a pod asks for a
// sync. Objects in an informer are never changed, only replaced; so what was
// found out about a pod holds as long as it is the same object, and a sync of
// 5,000 pods of which one has changed looks closely at one.
type tally struct {
	uid        types.UID
	generation int64 // of the ReplicaSet the facts were found out for

	selector, template labels.Selector

	now, was seen
	at       int // in was, while now is being filled
}

// seen is a list of pods and what is known of each.
type seen struct {
	pods  []*corev1.Pod
	facts []fact
}

// fact is what a pod is to its ReplicaSet.
type fact uint8

const (
	known       fact = 1 << iota
	claimed          // controlled by the set and matched by its selector
	unsettled        // to be adopted or released: ask the claimer
	active           // counts as a replica
	terminating      // on its way out
	labelled         // has the labels of the template
	ready

	unknown fact = 0
)

// tallyOf is the set's tally, brought up to date with what the cache shows.
func (c *Controller) tallyOf(key string, rs *appsv1.ReplicaSet, selector labels.Selector) *tally {
	y := c.tallies[key]
	if y == nil || y.uid != rs.UID || y.generation != rs.Generation {
		y = &tally{
			uid: rs.UID, generation: rs.Generation, selector: selector,
			template: labels.Set(rs.Spec.Template.Labels).AsSelectorPreValidated(),
		}
		c.tallies[key] = y
	}
	y.begin()
	ownerref.EachCandidate(c.pods, rs.Namespace, rs.UID, y.add)
	return y
}

// begin starts a new list in the memory of the one before the last.
func (y *tally) begin() {
	clear(y.was.pods)
	y.was, y.now = y.now, seen{pods: y.was.pods[:0], facts: y.was.facts[:0]}
	y.at = 0
}

// add walks the old list beside the new one: both are sorted by key.
func (y *tally) add(pod *corev1.Pod) {
	was := &y.was
	for y.at < len(was.pods) && was.pods[y.at] != pod && was.pods[y.at].Name < pod.Name {
		y.at++ // gone
	}
	f := unknown
	if y.at < len(was.pods) {
		if was.pods[y.at] == pod {
			f = was.facts[y.at]
			y.at++
		}
	}
	if f == unknown {
		f = y.look(pod)
	}
	y.now.pods, y.now.facts = append(y.now.pods, pod), append(y.now.facts, f)
}

func (y *tally) look(pod *corev1.Pod) fact {
	f := known
	set := labels.Set(pod.Labels)
	matches := y.selector.Matches(set)
	ref := metav1.GetControllerOfNoCopy(pod)
	switch {
	case ref == nil && matches, ref != nil && ref.UID == y.uid && !matches:
		f |= unsettled
	case ref != nil && ref.UID == y.uid:
		f |= claimed
	}
	if pods.Active(pod) {
		f |= active
	} else if pods.Terminating(pod) {
		f |= terminating
	}
	if y.template.Matches(set) {
		f |= labelled
	}
	if pods.Ready(pod) {
		f |= ready
	}
	return f
}

// settle adopts and releases with the claimer; without it nothing but the facts
// decides.
func (y *tally) settle(claimer *ownerref.Claimer) error {
	open := y.list(unsettled | active)
	if len(open) == 0 {
		return nil
	}
	mine, err := ownerref.Claim(claimer, open)
	if err != nil {
		return err
	}
	for i, pod := range y.now.pods {
		if y.now.facts[i]&unsettled != 0 {
			y.now.facts[i] &^= claimed
			if slices.Contains(mine, pod) {
				y.now.facts[i] |= claimed
			}
		}
	}
	return nil
}

// number is how many pods all of want is true of.
func (y *tally) number(want fact) (n int) {
	for _, f := range y.now.facts {
		if f&want == want {
			n++
		}
	}
	return n
}

// list gives the pods that all of want is true of.
func (y *tally) list(want fact) []*corev1.Pod {
	var out []*corev1.Pod
	for i, f := range y.now.facts {
		if f&want == want {
			out = append(out, y.now.pods[i])
		}
	}
	return out
}

// available is how many replicas have been ready for minReadySeconds.
func (y *tally) available(minReadySeconds int32, now time.Time) (n int) {
	const want = claimed | active | ready
	if minReadySeconds == 0 {
		return y.number(want)
	}
	for i, f := range y.now.facts {
		if f&want == want && pods.Available(y.now.pods[i], minReadySeconds, now) {
			n++
		}
	}
	return n
}
