package view

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/trace"
)

// maxTold is how many pods, nodes or indexes an answer lists.
const maxTold = 12

// Now is the time on the cluster's clock.
func (s *State) Now() time.Time { return s.Run.Epoch.Add(s.At) }

// due says when something happens, and in how long.
func (s *State) due(at time.Time) string {
	at = at.Truncate(time.Second)
	if left := at.Sub(s.Now()); left > 0 {
		return fmt.Sprintf("at %s (in %s)", clockTime(at), seconds(left))
	}
	return "at " + clockTime(at)
}

// clockTime is a time as the API writes it, in UTC unless it has a zone of its own.
func clockTime(at time.Time) string {
	if at.Location() == time.Local {
		at = at.UTC()
	}
	return at.Format(time.RFC3339)
}

// seconds is a duration to the second, at least one.
func seconds(d time.Duration) string {
	d = max(d.Round(time.Second), time.Second)
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d/time.Second))
	}
	return d.String()
}

// children are the objects of one type that an owner controls, in the order of their names.
func children[T runtime.Object](s *State, owner *Object) (objects []*Object, values []T) {
	for _, c := range s.Children(owner.UID) {
		if v, ok := c.Value.(T); ok && s.Owner(c) == owner {
			objects, values = append(objects, c), append(values, v)
		}
	}
	return objects, values
}

// idle ends a sentence about what a controller does next where none does it.
func (s *State) idle(a *Reason, controller string) *Reason {
	if p, down := s.down(trace.CompKCM); down {
		a.Says += fmt.Sprintf("; and the controller manager, whose %s controller acts on it, is not running", controller)
		a.From = append([]Keeper{{What: p.Name, Why: p.Reason, Event: p.Event}}, a.From...)
	}
	return a
}

// waitsOn says what a pod that is not at work waits for: "ImagePullBackOff: …"; "" of one that is
// ready and stays.
func (s *State) waitsOn(o *Object, pod *corev1.Pod) string {
	if pod.DeletionTimestamp == nil && podReady(pod) {
		return ""
	}
	for _, why := range []*Reason{s.podFailed(o), s.podPending(o), s.podUnready(o), s.deletionWaits(o)} {
		if why == nil {
			continue
		}
		says := strings.TrimPrefix(why.Says, o.Ref.String()+" ")
		for _, lead := range []string{"is Pending: ", "is not ready: "} {
			if rest, ok := strings.CutPrefix(says, lead); ok {
				return rest
			}
		}
		return "it " + says
	}
	switch pod.Status.Phase {
	case corev1.PodFailed, corev1.PodSucceeded:
		return "it has ended (" + string(pod.Status.Phase) + ")"
	}
	return "it is not ready"
}

// podLine is a pod in a list of what an answer comes from.
func (s *State) podLine(o *Object, pod *corev1.Pod, also string) Keeper {
	k := Keeper{What: "pod " + o.Name(), Ref: o.Ref, Event: o.Changed, Why: s.waitsOn(o, pod)}
	if k.Good = k.Why == ""; k.Good {
		k.Why = "is ready"
		if pod.Spec.NodeName != "" {
			k.Why += " on " + pod.Spec.NodeName
		}
	}
	k.Why += tail(", ", also)
	return k
}

// told cuts a list of what an answer comes from to what a person reads, those first that
// stand in the way.
func told(from []Keeper) []Keeper {
	if len(from) <= maxTold {
		return from
	}
	var bad, good []Keeper
	for _, k := range from {
		if k.Good {
			good = append(good, k)
		} else {
			bad = append(bad, k)
		}
	}
	all := append(bad, good...)
	return append(all[:maxTold:maxTold], Keeper{What: fmt.Sprintf("and %d more", len(all)-maxTold), Good: len(bad) <= maxTold})
}

// warned is the newest Warning of a reason about an object; nil if there is none newer than since.
func (s *State) warned(o *Object, reason string, since time.Duration) *KubeEvent {
	list := s.KubeEventsAbout(o.Ref)
	for i := len(list) - 1; i >= 0; i-- {
		if e := list[i]; e.Type == corev1.EventTypeWarning && e.Reason == reason && e.At >= since {
			return &list[i]
		}
	}
	return nil
}

// names lists the first few of some names.
func names(list []string) string {
	const most = 5
	if len(list) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
	}
	return joined(list)
}

// unseen reports whether [State.unattended] tells of an object: no controller of kviz' own runs, and none
// from outside has seen it.
func (s *State) unseen(generation, observed int64) bool {
	return observed < generation && s.Without(trace.CompKCM)
}
