package object

import (
	"fmt"
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/tuitest"
)

// A pod of a node that is off, and the node: what is said of them, and what they are.
func TestBelief(t *testing.T) {
	h := tuitest.NodeDead().History()
	for name, ref := range map[string]trace.Ref{"pod": tuitest.Ref("Pod", "demo", "web-7f9c-m4q7z"), "node": tuitest.Ref("Node", "", "node-2")} {
		for _, size := range [][2]int{{78, 18}, {118, 34}} {
			p := New()
			p.Show(ref)
			tuitest.Golden(t, fmt.Sprintf("belief-%s-%d", name, size[0]), tuitest.Planes(tuitest.Pane(p, h, h.Latest(), size[0], size[1])))
		}
	}
	p := New()
	p.Show(tuitest.Ref("Pod", "demo", "web-7f9c-k2x9p"))
	if text := tuitest.Pane(p, h, h.Latest(), 78, 18).Plane(); strings.Contains(text, "said") {
		t.Errorf("of a pod that is as it is said to be both are drawn:\n%s", text)
	}
}

// A client whose watch is held has the object otherwise than the store: here the scheduler.
func TestAnotherCache(t *testing.T) {
	tape := tuitest.Calm(3, 3)
	ref := tuitest.Ref("Pod", "demo", "web-7f9c-k2x9p")
	tape.Emit(trace.CompAPIServer, "", trace.WatchOpened, trace.Ref{}, &trace.Watch{Watch: 7, Resource: "pods", Client: "scheduler"})
	tape.Emit(trace.CompAPIServer, "", trace.WatchHeld, ref, &trace.WatchEvent{
		Watch: 7, Client: "scheduler", Type: "MODIFIED", Revision: 90, Unknown: []trace.FieldDiff{{Path: "spec.priority", From: "0", To: "10"}},
	})
	h := tape.History()
	p := New()
	p.Show(ref)
	text := tuitest.Pane(p, h, h.Latest(), 78, 18).Plane()
	for _, want := range []string{"the cache of scheduler has it otherwise", "spec.priority believes 0", "stored 10"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
