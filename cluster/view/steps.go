package view

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"kviz/cluster/trace"
)

// RolloutStep is one step of a Deployment's rollout: a write after which one of its ReplicaSets wants or has another
// number of pods.
type RolloutStep struct {
	Event trace.ID
	At    time.Duration
	Sets  []SetSize // of the revisions, in their order; those that are not there yet have Desired -1
	By    int       // the one that was written
}

// SetSize is how many pods a ReplicaSet wants and how many of them are ready.
type SetSize struct{ Desired, Ready int }

// Steps lists the last n steps of a Deployment's rollout, oldest first, and the revisions (at most three) that
// they are of.
func (s *State) Steps(r *Rollout, n int) (of []Revision, steps []RolloutStep) {
	type write struct {
		Change
		set  int
		size SetSize
	}
	var writes []write
	var since trace.ID // the newest ReplicaSet came
	for i, rev := range r.latest {
		o := s.ObjectOf(rev.Ref)
		if o == nil || o.Resource != "replicasets" || i == 2 && rev.Total == 0 && rev.Desired == 0 {
			continue
		}
		if i == 0 {
			since = o.Created
		}
		was := SetSize{-1, 0}
		for _, c := range o.History() {
			rs, ok := c.Value.(*appsv1.ReplicaSet)
			if !ok {
				continue
			}
			if size := (SetSize{podsWanted(rs), int(rs.Status.ReadyReplicas)}); size != was {
				writes = append(writes, write{c, len(of), size})
				was = size
			}
		}
		of = append(of, rev)
	}
	slices.SortStableFunc(writes, func(a, b write) int { return cmp.Or(a.Event.Compare(b.Event), a.set-b.set) })
	now := slices.Repeat([]SetSize{{-1, 0}}, len(of))
	for _, w := range writes {
		now = slices.Clone(now)
		now[w.set] = w.size
		if len(steps) > 0 && w.Event.Compare(since) <= 0 {
			steps = steps[:0] // only the last one before it is told
		}
		steps = append(steps, RolloutStep{Event: w.Event, At: w.At, Sets: now, By: w.set})
	}
	return of, last(steps, n)
}
