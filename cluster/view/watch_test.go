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

// What a client does not know while events are held, lost or overtaken, what it believes
// meanwhile beside what is stored, and which faults are over when it happened.
func TestWhatAClientDoesNotKnow(t *testing.T) {
	s := trace.NewStream(0)
	seq := uint64(0)
	pod := trace.Ref{APIVersion: "v1", Kind: "Pod", Namespace: "demo", Name: "web"}
	tell := func(kind trace.Kind, payload any) {
		seq++
		s.Append(&trace.Event{ID: trace.ID{Seq: seq}, Object: pod, Lane: trace.Lane{Component: trace.CompAPIServer}, Kind: kind, Payload: payload})
	}
	h := view.NewHistory(s)
	now := func() *view.State { h.CatchUp(0); return h.Latest() }
	event := func(revision int64, from, to string) *trace.WatchEvent {
		return &trace.WatchEvent{Watch: 1, Client: "scheduler", Type: "MODIFIED", Revision: revision, Unknown: []trace.FieldDiff{{Path: "spec.nodeName", From: from, To: to}}}
	}
	fault := func(name, detail string) {
		tell(trace.FaultInjected, &trace.Fault{Fault: name, Target: "informer/scheduler/pods", Detail: detail})
	}
	faults := func() (names []string) {
		for _, f := range now().Faults() {
			names = append(names, f.Fault.Fault)
		}
		return names
	}
	tell(trace.WatchOpened, &trace.Watch{Watch: 1, Resource: "pods", Client: "scheduler"})
	tell(trace.InformerSync, &trace.Informer{Informer: "scheduler", Resource: "pods", Items: 1})
	tell(trace.WatchHeld, event(11, "", "a"))
	tell(trace.WatchHeld, event(12, "a", "b"))
	before := now()
	if got := view.Beliefs(before.Watcher(1).Held()); len(got) != 1 || got[0].Believes != "nothing" || got[0].Stored != "b" {
		t.Errorf("it believes %+v, want nothing beside b", got)
	}

	fault("drop", "demo/web")
	tell(trace.WatchLost, event(11, "", "a"))
	if w, i := now().Watcher(1), now().Informer("scheduler", "pods"); len(w.Held()) != 1 || len(i.Stale()) != 1 || len(faults()) != 0 {
		t.Errorf("after the loss %d are held, %d lost, and %v is broken; want 1, 1 and nothing", len(w.Held()), len(i.Stale()), faults())
	}
	fault("delay", "")
	tell(trace.WatchDelivered, event(13, "", ""))
	if got := faults(); len(got) != 1 {
		t.Errorf("%v is broken before the event that is delayed has come", got)
	}
	late := event(12, "a", "c")
	late.Behind, late.Newer = true, 13
	tell(trace.WatchDelivered, late)
	i := now().Informer("scheduler", "pods")
	if len(now().Watcher(1).Held()) != 0 || len(faults()) != 0 || len(i.Stale()) != 1 || !i.Stale()[0].Back || i.Stale()[0].Revision != 13 {
		t.Errorf("after an older one came last, %v is broken and the cache lacks %+v, want nothing, and revision 13", faults(), i.Stale())
	}
	tell(trace.WatchDelivered, &trace.WatchEvent{Watch: 1, Client: "scheduler", Type: "MODIFIED", Revision: 14})
	if i := now().Informer("scheduler", "pods"); len(i.Stale()) != 0 {
		t.Errorf("the object has come anew, and the cache lacks %+v", i.Stale())
	}
	if len(before.Watcher(1).Held()) != 2 {
		t.Error("the state before has changed")
	}
}
