package belief_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/belief"
	"kviz/tui/tuitest"
)

// both is what is said and what is, "" where they do not differ.
func both(b belief.Sides) string {
	if !b.Differ() {
		return ""
	}
	return b.SaidWord + " | " + b.IsWord
}

// Both sides of a node differ where its processes do something else than is stored of it.
func TestNode(t *testing.T) {
	for name, c := range map[string]struct {
		tape *tuitest.Tape
		said string
		is   string
	}{
		"well": {tuitest.Calm(3, 3), "", ""},
		"cut":  {tuitest.NodeLost(), "Unknown", "its kubelet and its pods run, cut off"},
		"dead": {tuitest.NodeDead(), "", "off since"},
	} {
		s := c.tape.History().Latest()
		got := both(belief.OfNode(s, "node-2"))
		if c.is == "" && got != "" || !strings.Contains(got, c.said) || !strings.Contains(got, c.is) {
			t.Errorf("%s: %q, want %q and %q", name, got, c.said, c.is)
		}
		if got := both(belief.OfNode(s, "node-1")); got != "" {
			t.Errorf("%s: of node-1 something else is said than it is: %s", name, got)
		}
	}
}

// podOn is the pod of the calm cluster that runs on node-2.
func podOn(t *testing.T, s *view.State) *corev1.Pod {
	t.Helper()
	pod, ok := s.Object("pods", "demo", "web-7f9c-m4q7z").Value.(*corev1.Pod)
	if !ok {
		t.Fatal("there is no pod on node-2")
	}
	return pod
}

// A pod is said to run on a node that is off, or after its container has ended and before that is
// written down.
func TestPod(t *testing.T) {
	ended := tuitest.Calm(3, 3)
	ended.Emit(trace.CompKubelet, "node-2", trace.ContainerChange, tuitest.Ref("Pod", "demo", "web-7f9c-m4q7z"), &trace.ContainerState{Node: "node-2", Pod: "demo/web-7f9c-m4q7z", Container: "web", State: "terminated"})
	for want, tape := range map[string]*tuitest.Tape{
		"":                            tuitest.Calm(3, 3),
		"node-2 is off since":         tuitest.NodeDead(),
		"container web is terminated": ended,
		"its containers run":          tuitest.NodeLost(),
	} {
		s := tape.History().Latest()
		got := both(belief.OfPod(s, podOn(t, s)))
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q, want %q in it", got, want)
		}
	}
}
