package nodes

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// A step's event comes when it has ended, so its bar lies before it; a back-off's when it begins,
// so its bar lies behind it, and ends now at the latest: not over what caused it.
func TestABackOffLiesBehindItsCause(t *testing.T) {
	crash := view.Step{At: 40 * time.Second, Took: 5 * time.Second, Kind: trace.CRICall}
	backoff := view.Step{At: 41 * time.Second, Took: 20 * time.Second, Kind: trace.RestartBackoff}
	if got := ran(crash, time.Minute); got != (times{35 * time.Second, 40 * time.Second}) {
		t.Errorf("a call of 5 s that ended at 40 s ran over %v", got)
	}
	if got := ran(backoff, time.Hour); got != (times{41 * time.Second, 61 * time.Second}) {
		t.Errorf("a back-off of 20 s that began at 41 s runs over %v", got)
	}
	if got := ran(backoff, 50*time.Second); got != (times{41 * time.Second, 50 * time.Second}) {
		t.Errorf("after 9 s a back-off has run over %v", got)
	}
	if got := stretch([]view.Step{crash, backoff}, 45*time.Second); got != (times{35 * time.Second, 45 * time.Second}) {
		t.Errorf("both lie in %v", got)
	}
}

// The pod told in detail is one of those that the filter lets through.
func TestTheFilterChoosesThePodToo(t *testing.T) {
	h := tuitest.Story().History()
	for _, n := range h.Latest().Nodes() {
		for _, p := range n.Pods() {
			s, g := New(), grid.New(118, 14)
			host := pane.NewHost(s, "")
			host.Draw(g, grid.Rect{W: 118, H: 14}, pane.Frame{S: h.Latest(), H: h, Live: true, Filter: p.Pod, Sel: pane.Subject{Node: n.Name}})
			for _, other := range n.Pods() {
				if other.Pod != p.Pod && strings.Contains(g.Plane(), other.Pod) {
					t.Errorf("with the filter %s the pane shows %s:\n%s", p.Pod, other.Pod, g.Plane())
				}
			}
		}
	}
}

// What is assumed of a container stands below it, for as long as it is assumed of the newest
// container of that name.
func TestWhatIsAssumedStandsBelowTheContainer(t *testing.T) {
	tape := tuitest.Story()
	ref := tuitest.Ref("Pod", "demo", "operator")
	create := func(assumed string) {
		last := tape.Emit(trace.CompRuntime, "node-1", trace.CRICall, ref, &trace.RuntimeCall{
			Node: "node-1", Pod: "demo/operator", Container: "main", Call: "CreateContainer", Arg: "quay.io/example/operator:v1.4.0", Assumed: assumed,
		})
		tape.Emit(trace.CompRuntime, "node-1", trace.ContainerChange, ref, &trace.ContainerState{Node: "node-1", Pod: "demo/operator", Container: "main", State: "running"}, last)
	}
	shown := func(w int) string {
		h, g := tape.History(), grid.New(w, 24)
		pane.NewHost(New(), "").Draw(g, grid.Rect{W: w, H: 24}, pane.Frame{S: h.Latest(), H: h, Live: true, Filter: "demo/operator", Sel: pane.Subject{Node: "node-1"}})
		return g.Plane()
	}
	const assumed = "assumed to run until stopped, as user 65532, with /manager (unknown image)"
	create("to run until stopped, as user 65532, with /manager (unknown image)")
	for w, want := range map[int]string{80: assumed, 120: assumed[:60]} {
		if got := shown(w); !strings.Contains(got, want) {
			t.Errorf("%d columns: no %q in\n%s", w, want, got)
		}
	}
	create("")
	if got := shown(80); strings.Contains(got, "assumed") {
		t.Errorf("of a container that is created again without it:\n%s", got)
	}
}
