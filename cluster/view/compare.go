package view

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// Comparison is two runs side by side: how far they are the same, and what came of each up to the same virtual time.
type Comparison struct {
	Differs bool
	Same    uint64        // the last control-plane event that is the same in both; 0 for none
	Until   time.Duration // what came of both is summed up to here
	A, B    Outcome
	Pods    []PodsReady // of pods of either that are not alike, by name
}

// Outcome is what came of a run.
type Outcome struct {
	Next         *trace.Event  // the first event that differs; nil if there is none
	Events       uint64        // of the control plane
	End          time.Duration // of the whole run
	Commits      int
	StoreRefused int           // requests that the store could not or would not carry out
	Refused      int           // writes that the API server turned down
	Gap          time.Duration // the longest time between two commits, since the cluster was ready
	GapFrom      trace.ID      // the commit before it
	ReadyPods    int           // at the end
}

// PodsReady is when a pod was first ready in each run.
type PodsReady struct {
	Name string // namespace/name
	A, B PodReady
}

// PodReady is when a pod was first ready.
type PodReady struct {
	Seen  bool // it was there
	After time.Duration
}

// Compare compares two runs, each from its beginning, as [trace.Hash] sees them. What came of them is that up to a virtual
// time which both reached: until, or where that is 0 or later the earlier of their ends.
func Compare(a, b []*trace.Event, until time.Duration) (*Comparison, error) {
	x, y := controlPlane(a), controlPlane(b)
	c := &Comparison{}
	n := 0
	for ; n < min(len(x), len(y)); n++ {
		same, err := trace.Same(x[n], y[n])
		if err != nil {
			return nil, err
		}
		if !same {
			break
		}
		c.Same = x[n].ID.Seq
	}
	c.Differs = n < max(len(x), len(y))
	var podsA, podsB map[string]PodReady
	c.Until = min(endOf(a), endOf(b))
	if until > 0 {
		c.Until = min(c.Until, until)
	}
	c.A, podsA = outcome(x, n, c.Until)
	c.B, podsB = outcome(y, n, c.Until)
	c.A.End, c.B.End = endOf(a), endOf(b)
	for name, p := range podsA {
		if p != podsB[name] {
			c.Pods = append(c.Pods, PodsReady{name, p, podsB[name]})
		}
	}
	for name, p := range podsB {
		if _, both := podsA[name]; !both {
			c.Pods = append(c.Pods, PodsReady{Name: name, B: p})
		}
	}
	slices.SortFunc(c.Pods, func(a, b PodsReady) int { return strings.Compare(a.Name, b.Name) })
	return c, nil
}

// endOf is the virtual time at which a run ends.
func endOf(events []*trace.Event) time.Duration {
	if len(events) == 0 {
		return 0
	}
	return events[len(events)-1].At
}

func controlPlane(events []*trace.Event) []*trace.Event {
	in := make([]*trace.Event, 0, len(events))
	for _, e := range events {
		if !e.Outside() {
			in = append(in, e)
		}
	}
	return in
}

// outcome sums a run up to a time; same is how many of its events the other has too.
func outcome(events []*trace.Event, same int, until time.Duration) (o Outcome, pods map[string]PodReady) {
	pods = map[string]PodReady{}
	ready := map[string]bool{}
	if same < len(events) {
		o.Next = events[same]
	}
	running := false
	var last *trace.Event
	for _, e := range events {
		if e.At > until {
			break
		}
		o.Events++
		switch p := e.Payload.(type) {
		case *trace.StoreError:
			o.StoreRefused++
		case *trace.Response:
			if p != nil && p.Code >= 400 && writes(p) {
				o.Refused++
			}
		case *trace.Commit:
			if p == nil {
				continue
			}
			o.Commits++
			if last != nil && running && e.At-last.At > o.Gap {
				o.Gap, o.GapFrom = e.At-last.At, last.ID
			}
			last = e
			for _, ch := range p.Changes {
				notePod(pods, ready, ch, e.At)
			}
		}
		running = running || e.Kind == trace.Ready
	}
	if last != nil && running && until-last.At > o.Gap {
		o.Gap, o.GapFrom = until-last.At, last.ID
	}
	o.ReadyPods = len(ready)
	return o, pods
}

// notePod takes down whether a change makes a pod ready.
func notePod(pods map[string]PodReady, ready map[string]bool, ch trace.KeyChange, at time.Duration) {
	if ch.Object.Kind != "Pod" {
		return
	}
	name := ch.Object.Key()
	delete(ready, name)
	if ch.Deleted || ch.Value == nil {
		return
	}
	pod, ok := ch.Value.Value.(*corev1.Pod)
	if !ok {
		return
	}
	seen := pods[name]
	seen.Seen = true
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			ready[name] = true
			if seen.After == 0 {
				seen.After = at
			}
		}
	}
	pods[name] = seen
}

func writes(r *trace.Response) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb)
}
