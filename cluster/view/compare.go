package view

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// Comparison is two runs side by side: how far they are the same, and what came of each.
type Comparison struct {
	Differs bool
	Same    uint64 // the last control-plane event that is the same in both; 0 for none
	A, B    Outcome
	Pods    []PodsReady // of pods of either that are not alike, by name
}

// Outcome is what came of a run.
type Outcome struct {
	Next         *trace.Event // the first event that differs; nil if there is none
	Events       uint64       // of the control plane
	Until        time.Duration
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

// Compare compares two runs, each from its beginning, as [trace.Hash] sees them.
func Compare(a, b []*trace.Event) (*Comparison, error) {
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
	c.A, podsA = outcome(x, n)
	c.B, podsB = outcome(y, n)
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

func controlPlane(events []*trace.Event) []*trace.Event {
	in := make([]*trace.Event, 0, len(events))
	for _, e := range events {
		if !e.Outside() {
			in = append(in, e)
		}
	}
	return in
}

// outcome sums a run up; same is how many of its events the other has too.
func outcome(events []*trace.Event, same int) (o Outcome, pods map[string]PodReady) {
	pods = map[string]PodReady{}
	ready := map[string]bool{}
	o.Events = uint64(len(events))
	if same < len(events) {
		o.Next = events[same]
	}
	running := false
	var last *trace.Event
	for _, e := range events {
		o.Until = e.At
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
	if last != nil && running && o.Until-last.At > o.Gap {
		o.Gap, o.GapFrom = o.Until-last.At, last.ID
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
