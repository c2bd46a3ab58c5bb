package view_test

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// What the picture tells of a watcher that falls behind, of a window that lets go, of
// a watch that ended, and of a cache that missed a deletion.
func TestWatchersFallBehindAndEnd(t *testing.T) {
	s := trace.NewStream(0)
	seq := uint64(0)
	tell := func(kind trace.Kind, payload any) {
		seq++
		s.Append(&trace.Event{ID: trace.ID{Seq: seq}, Lane: trace.Lane{Component: trace.CompAPIServer}, Kind: kind, Payload: payload})
	}
	h := view.NewHistory(s)
	now := func() *view.State { h.CatchUp(0); return h.Latest() }

	tell(trace.WatchOpened, &trace.Watch{Watch: 1, Resource: "pods", Client: "scheduler", From: 10})
	for r := int64(11); r <= 13; r++ {
		tell(trace.WatchCacheEvent, &trace.CacheUpdate{Resource: "pods", Type: "MODIFIED", Revision: r, Watchers: 1})
	}
	tell(trace.WatchDelivered, &trace.WatchEvent{Watch: 1, Client: "scheduler", Type: "MODIFIED", Revision: 11})
	before := now()
	c, w := before.WatchCache("pods"), before.Watchers()[0]
	if c.Behind(w.Revision) != 2 || c.Kept != 3 || c.Oldest != 0 || before.Traffic.Told != 1 {
		t.Errorf("%d wait for the watcher, want 2; the window has %d from %d, want 3 from 0; %d told, want 1", c.Behind(w.Revision), c.Kept, c.Oldest, before.Traffic.Told)
	}

	tell(trace.WatchCacheEvent, &trace.CacheUpdate{Resource: "pods", Type: "MODIFIED", Revision: 14, Oldest: 13, Kept: 2})
	tell(trace.WatchClosed, &trace.Watch{Watch: 1, Resource: "pods", Client: "scheduler", Reason: "too slow"})
	tell(trace.InformerRelist, &trace.Informer{Informer: "scheduler", Resource: "pods", Reason: "410"})
	tell(trace.InformerSync, &trace.Informer{Informer: "scheduler", Resource: "pods", Revision: 14, Items: 3, Tombstones: 2})
	tell(trace.RequestReceived, &trace.Request{Request: 7, Verb: "create"})
	tell(trace.RequestDone, &trace.Response{Request: 7, Code: 403, Stage: trace.StageAuthorization})
	after := now()
	if c := after.WatchCache("pods"); c.Kept != 2 || c.Oldest != 13 {
		t.Errorf("the window has %d events from %d, want 2 from 13", c.Kept, c.Oldest)
	}
	if list := after.EndedWatches(); len(list) != 1 || list[0].Reason != "too slow" || len(after.Watchers()) != 0 {
		t.Errorf("%d watches are open and %d ended, want one that ended because it was too slow", len(after.Watchers()), len(list))
	}
	if i := after.Informer("scheduler", "pods"); !i.Synced || i.Tombstones != 2 || i.Relists != 1 {
		t.Errorf("the cache is %+v, want it synced with two tombstones", i)
	}
	if n := after.Traffic.Refused(trace.StageAuthorization); n != 1 || before.Traffic.Refused(trace.StageAuthorization) != 0 {
		t.Errorf("authorization refused %d, want 1 now and 0 before", n)
	}
	if c := before.WatchCache("pods"); c.Behind(11) != 2 || len(before.EndedWatches()) != 0 {
		t.Error("the state before has changed")
	}
}
