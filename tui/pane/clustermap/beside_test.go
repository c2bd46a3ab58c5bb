package clustermap

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/tuitest"
)

// The registry is on the map only while an image is pulled from it, or it is broken.
func TestTheRegistryIsThereWhileItIsAsked(t *testing.T) {
	tape := tuitest.Calm(3, 3)
	shown := func() string {
		h := tape.History()
		g := tuitest.Pane(New(), h, h.Latest(), 120, 33)
		for _, l := range strings.Split(g.Plane(), "\n") {
			if at := strings.Index(l, "registry"); at >= 0 {
				before := strings.Fields(l[:at])
				after, _, _ := strings.Cut(l[at:], "  ")
				return before[len(before)-1] + " " + after
			}
		}
		return ""
	}
	said := func(reason string) {
		ref := tuitest.Ref("Pod", "demo", "web-7f9c-k2x9p")
		tape.After(time.Second).Emit(trace.CompKubelet, "node-1", trace.EventRecorded, ref, &trace.KubeEvent{Type: "Normal", Reason: reason, From: "kubelet", Regarding: ref, Count: 1})
	}
	if got := shown(); got != "" {
		t.Errorf("nothing is pulled, and the registry stands there: %s", got)
	}
	said("Pulling")
	if got := shown(); got != "● registry ⇄ node-1: 1 pull" {
		t.Errorf("while an image is pulled the registry is %q", got)
	}
	m, h := New(), tape.History()
	tuitest.Pane(m, h, h.Latest(), 120, 33)
	for _, e := range m.scene.Edges { // the API server has no part in a pull
		if e.To == scene.Servers || e.To == scene.Registry {
			t.Errorf("a line leads from %s to %s", e.From, e.To)
		}
	}
	said("Pulled")
	if got := shown(); got != "" {
		t.Errorf("it is still there after that: %s", got)
	}
	tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "stop", Target: "registry"})
	if got := shown(); got != "✗ registry" {
		t.Errorf("broken it is %q", got)
	}
}

// A cell tells of its node what is believed of it.
func TestACellSaysWhatIsBelieved(t *testing.T) {
	h := tuitest.ManyNodes(1000).History()
	m := New()
	p := &picture{f: &pane.Frame{S: h.Latest(), H: h}}
	p.pods = m.population(p.f)
	for name, want := range map[string]string{
		"node-18":  "said Unknown, silent for",
		"node-118": "3 pods believed to run",
		"node-19":  "4 pods.",
	} {
		if got := p.cellWords(name, "Node.", p.pods.of(name).pods); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", name, got, want)
		}
	}
}
