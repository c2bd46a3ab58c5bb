package view_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// The depth of the queues is what is left when a column ends, and what it was at most,
// however short that was: every event counts. A queue of which nothing is heard stays
// as deep as it is.
func TestQueuePeaksAreSeen(t *testing.T) {
	b := view.NewBuilder()
	var seq uint64
	add := func(at time.Duration, queue string, ready int) {
		seq++
		b.Apply(&trace.Event{ID: trace.ID{Seq: seq}, At: at, Lane: lane("kube-controller-manager"), Kind: trace.QueueAdd, Payload: &trace.QueueItem{Queue: queue, Key: "demo/web", Ready: ready}})
	}
	add(1100*time.Millisecond, "replicaset", 3)
	add(1200*time.Millisecond, "endpointslice", 4)
	add(1200*time.Millisecond, "endpointslice", 0) // in the same moment
	add(1300*time.Millisecond, "replicaset", 1)
	add(4000*time.Millisecond, "replicaset", 0)
	add(5500*time.Millisecond, "replicaset", 9)
	add(5500*time.Millisecond, "replicaset", 5)
	add(6900*time.Millisecond, "replicaset", 6)
	add(9000*time.Millisecond, "replicaset", 6)
	for _, c := range []struct {
		columns    int
		step       time.Duration
		left, tops string
		events     string
		rose       int64
	}{
		{10, time.Second, "0 1 1 1 0 5 6 6 6 6", "0 7 1 1 1 9 6 6 6 6", "0 2 4 4 4 6 8 8 8 8", 5},
		{4, time.Second, "6 6 6 6", "6 6 6 6", "8 8 8 8", 0},
		{2, 5 * time.Second, "0 6", "7 9", "2 6", 1},
	} {
		chart := b.Live().Cascade(c.columns, c.step)
		depth := chart.Floors[len(chart.Floors)-1]
		text := func(all any) string { return strings.Trim(fmt.Sprint(all), "[]") }
		var events []uint64
		for _, id := range depth.Events {
			events = append(events, id.Seq)
		}
		if left, tops := text(depth.Values), text(depth.Tops); left != c.left || tops != c.tops || text(events) != c.events || int64(depth.Rose) != c.rose {
			t.Errorf("columns of %v: left %s, at most %s, by the events %s, high from %d on; want %+v", c.step, left, tops, text(events), depth.Rose, c)
		}
		if !strings.Contains(chart.Describe(), "for a moment at most "+depth.Level(depth.Peak)) {
			t.Errorf("as text:\n%s", chart.Describe())
		}
	}
}

// How deep the queues were is known of every second, also of those in which nothing changed.
func TestDepths(t *testing.T) {
	b := view.NewBuilder()
	queued := func(at time.Duration, ready int) {
		b.Apply(&trace.Event{ID: trace.ID{Seq: uint64(at)}, At: at, Lane: trace.Lane{Component: "x"}, Kind: trace.QueueAdd, Payload: &trace.QueueItem{Queue: "q", Ready: ready}})
	}
	queued(1*time.Second, 5)
	queued(1500*time.Millisecond, 2)
	queued(4*time.Second, 7)
	queued(4100*time.Millisecond, 0)
	if got, want := b.Live().Depths(6), []int{0, 0, 5, 2, 2, 7}; !slices.Equal(got, want) {
		t.Errorf("depths %v, want %v", got, want)
	}
}

// How many Leases of nodes were renewed and pods bound is known of each second that is over;
// what makes a Lease, or is refused, is none of it.
func TestRenewedAndBound(t *testing.T) {
	b := view.NewBuilder()
	var seq uint64
	apply := func(at time.Duration, k trace.Kind, payload any) {
		seq++
		b.Apply(&trace.Event{ID: trace.ID{Seq: seq}, At: at, Lane: lane("x"), Kind: k, Payload: payload})
	}
	lease := func(at time.Duration, namespace string, version int64) {
		apply(at, trace.StoreCommit, &trace.Commit{Revision: int64(seq + 1), Changes: []trace.KeyChange{
			{Key: "/registry/leases/" + namespace + "/x", Version: version, Object: trace.Ref{Kind: "Lease", Namespace: namespace, Name: "x"}},
		}})
	}
	lease(1000*time.Millisecond, "kube-node-lease", 1)
	lease(1100*time.Millisecond, "kube-node-lease", 2)
	lease(1900*time.Millisecond, "kube-node-lease", 3)
	lease(2000*time.Millisecond, "kube-system", 7)
	apply(2100*time.Millisecond, trace.SchedBind, &trace.Decision{Pod: "demo/a", Node: "node-1"})
	apply(2200*time.Millisecond, trace.SchedBind, &trace.Decision{Pod: "demo/b", Node: "node-1", Message: "the pod is gone"})
	lease(4000*time.Millisecond, "kube-node-lease", 4)
	lease(5000*time.Millisecond, "kube-node-lease", 5)
	s := b.Live()
	if got, want := s.Renewed(5), []int{0, 2, 0, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("renewed %v, want %v", got, want)
	}
	if got, want := s.Bound(4), []int{0, 1, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("bound %v, want %v", got, want)
	}
}

// How deep one queue was, of each second: at most, and as it stayed where nothing changed.
func TestReadyIn(t *testing.T) {
	b := view.NewBuilder()
	for i, d := range []view.Depth{{At: time.Second, Ready: 5}, {At: 1500 * time.Millisecond, Ready: 2}, {At: 4 * time.Second, Ready: 7}, {At: 4100 * time.Millisecond, Ready: 0}} {
		b.Apply(&trace.Event{ID: trace.ID{Seq: uint64(i + 1)}, At: d.At, Lane: lane("x"), Kind: trace.QueueAdd, Payload: &trace.QueueItem{Queue: "q", Key: "k", Ready: d.Ready}})
	}
	q := b.Live().Queues()[0]
	for _, c := range []struct {
		n    int
		now  time.Duration
		want []int
	}{
		{6, 4900 * time.Millisecond, []int{0, 0, 5, 2, 2, 7}},
		{3, 6 * time.Second, []int{7, 0, 0}},
		{2, time.Minute, []int{0, 0}},
		{2, 3 * time.Second, []int{2, 2}},
	} {
		if got := q.ReadyIn(c.n, c.now); !slices.Equal(got, c.want) {
			t.Errorf("%d seconds up to %v: %v, want %v", c.n, c.now, got, c.want)
		}
	}
}
