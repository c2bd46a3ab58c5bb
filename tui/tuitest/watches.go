package tuitest

import (
	"time"

	"kviz/cluster/trace"
)

// WatchStory is the story once more, with watchers: clients whose caches have
// everything, one with events waiting for it, one that lists again after 410 Gone and
// learns of a deletion that it missed, and a watch that ended.
func WatchStory() *Tape {
	t := Story()
	number := uint64(100)
	watch := func(client, resource, selector string) uint64 {
		number++
		t.Emit(trace.CompAPIServer, "", trace.WatchOpened, trace.Ref{}, &trace.Watch{Watch: number, Resource: resource, Client: client, From: t.rev, Selector: selector, Buffer: 29})
		return number
	}
	informer := func(client, resource string, items, tombstones int) {
		in := &trace.Informer{Informer: client, Resource: resource, Revision: t.rev, Reason: "first start"}
		t.Emit(client, "", trace.InformerRelist, trace.Ref{}, in)
		t.Emit(client, "", trace.InformerSync, trace.Ref{}, &trace.Informer{Informer: client, Resource: resource, Revision: t.rev, Items: items, Tombstones: tombstones})
	}
	const kcm, sched, kubelet = "controller-manager", "scheduler", "kubelet/node-1"
	deployments := watch(kcm, "deployments", "")
	watch(kcm, "pods", "")
	watch(sched, "pods", "") // which is told nothing from here on
	watch(kubelet, "pods", "spec.nodeName=node-1")
	informer(kcm, "deployments", 1, 0)
	informer(kcm, "pods", 5, 0)
	informer(sched, "pods", 5, 0)
	informer(kubelet, "pods", 2, 0)

	ref := Ref("Deployment", "demo", "web")
	for range 2 {
		t.After(time.Second)
		c := t.Commit(ref, "deployments", Deployment(3, 2), trace.ID{})
		u := t.Emit(trace.CompAPIServer, "", trace.WatchCacheEvent, ref, &trace.CacheUpdate{Resource: "deployments", Type: "MODIFIED", Revision: t.rev, Watchers: 1}, c)
		t.Emit(kcm, "", trace.WatchDelivered, ref, &trace.WatchEvent{Watch: deployments, Client: kcm, Type: "MODIFIED", Revision: t.rev}, u)
	}
	pod := Ref("Pod", "demo", "late")
	for _, node := range []string{"", "node-3", "node-3"} { // the scheduler's buffer fills
		c := t.Commit(pod, "pods", Pod("demo", "late", "", node, "", ""), trace.ID{})
		t.Emit(trace.CompAPIServer, "", trace.WatchCacheEvent, pod, &trace.CacheUpdate{
			Resource: "pods", Type: "MODIFIED", Revision: t.rev, Watchers: 1, Oldest: t.rev - 9, Kept: 10,
		}, c)
	}
	for range 10 { // three clients poll
		for i := range 3 {
			t.req++
			who := "poller-" + string(rune('1'+i))
			t.Emit(trace.CompAPIServer, "", trace.RequestReceived, trace.Ref{}, &trace.Request{Request: t.req, Verb: "list", Resource: "deployments", Path: "/apis/apps/v1/deployments", User: who, Client: who})
			t.Emit(trace.CompAPIServer, "", trace.RequestDone, trace.Ref{}, &trace.Response{Request: t.req, Verb: "list", Code: 200, Took: 600 * time.Microsecond})
		}
		t.After(2 * time.Second)
	}
	nodes := watch(kcm, "nodes", "")
	t.Emit(trace.CompAPIServer, "", trace.WatchClosed, trace.Ref{}, &trace.Watch{Watch: nodes, Resource: "nodes", Client: kcm, Reason: "the client was too slow: 30 events waited for it, its buffer holds 29 (two channels of 14), and after 100ms the server stopped waiting"})
	informer(kcm, "nodes", 3, 0)
	t.Emit(kcm, "", trace.InformerRelist, trace.Ref{}, &trace.Informer{Informer: kcm, Resource: "nodes", Revision: t.rev, Items: 3, Reason: "410 too old resource version: 12 (60)"})
	informer(kcm, "nodes", 3, 2)
	t.Emit(sched, "", trace.InformerRelist, trace.Ref{}, &trace.Informer{Informer: sched, Resource: "nodes", Items: 3, Reason: "410 too old resource version: 12 (60)"})
	return t
}
