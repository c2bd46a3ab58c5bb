package clustermap

import (
	"slices"
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/tuitest"
)

// The controllers that everybody asks about stand before those whose names come first, by
// the names that controllers really have.
func TestKnownControllersComeFirst(t *testing.T) {
	var all []*view.Controller
	for _, name := range []string{"clusterrole-aggregation-controller", "deployment-controller", "endpoints-controller", "replicaset-controller"} {
		all = append(all, &view.Controller{Name: name})
	}
	var got []string
	for _, c := range knownFirst(all) {
		got = append(got, short(c))
	}
	if want := []string{"deployment", "replicaset", "clusterrole-aggregation", "endpoints"}; !slices.Equal(got, want) {
		t.Errorf("in this order: %v, want %v", got, want)
	}
}

// Clients from outside are counted beside you, each once; the console, what is typed there, and the cluster's own
// clients are not.
func TestOthersBesideYou(t *testing.T) {
	tape := tuitest.Calm(3, 3)
	for i, client := range []string{"kubectl", "kubectl", "pod/demo/watcher", "console", "scheduler", "kubelet/node-1", "endpointslice-controller"} {
		tape.Emit(trace.CompAPIServer, "", trace.WatchOpened, trace.Ref{}, &trace.Watch{Watch: uint64(i + 1), Resource: "pods", Client: client})
	}
	typed := tape.Emit(trace.CompConsole, "", trace.CommandStart, trace.Ref{}, &trace.Command{Line: "kubectl get pods -w", Source: "console"})
	asks := tape.Emit(trace.CompAPIServer, "", trace.RequestReceived, trace.Ref{}, &trace.Request{Request: 900, Verb: "watch", Resource: "pods", Client: "kubectl/own"}, typed)
	tape.Emit(trace.CompAPIServer, "", trace.WatchOpened, trace.Ref{}, &trace.Watch{Watch: 900, Resource: "pods", Client: "kubectl/own"}, asks)
	h := tape.History()
	for _, size := range [][2]int{{80, 18}, {120, 33}} {
		if text := tuitest.Pane(New(), h, h.Latest(), size[0], size[1]).Plane(); !strings.Contains(text, "you +2") {
			t.Errorf("%v: two others ask, and it is not said:\n%s", size, text)
		}
	}
	calm := tuitest.Calm(3, 3).History()
	if text := tuitest.Pane(New(), calm, calm.Latest(), 120, 33).Plane(); strings.Contains(text, "you +") {
		t.Errorf("nobody else asks:\n%s", text)
	}
}

// A component that was left out is not dead: its place is free.
func TestAPlaceThatIsLeftToOthers(t *testing.T) {
	tape := tuitest.NewTape()
	tape.Emit(trace.CompSimulation, "", trace.RunStart, trace.Ref{}, &trace.Run{Store: "mvcc", Nodes: 1, Without: []string{"controller-manager", "scheduler"}})
	h := tape.History()
	for _, size := range [][2]int{{80, 18}, {120, 33}, {200, 53}} {
		text := tuitest.Pane(New(), h, h.Latest(), size[0], size[1]).Plane()
		if strings.Contains(text, "scheduler ✗") || strings.Contains(text, "controllers ✗") || strings.Contains(text, "queues") || size[0] > 100 && strings.Count(text, "left to others") != 2 {
			t.Errorf("%v: two places are free, and it is said:\n%s", size, text)
		}
	}
}
