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
