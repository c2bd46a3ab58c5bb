package object

import (
	"fmt"
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/tuitest"
)

// An autoscaler with its sum, what it recommended and how many replicas there were; and the Deployment that it scales, with the
// load that was set for it.
func TestAutoscaling(t *testing.T) {
	h := tuitest.Autoscaling().History()
	for _, ref := range []trace.Ref{tuitest.Ref("HorizontalPodAutoscaler", "demo", "shop"), tuitest.Ref("Deployment", "demo", "shop")} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {160, 45}} {
			p := New()
			p.Show(ref)
			g := tuitest.Pane(p, h, h.Latest(), size[0], size[1])
			name := map[string]string{"HorizontalPodAutoscaler": "autoscaler", "Deployment": "load"}[ref.Kind]
			tuitest.Golden(t, fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), tuitest.Planes(g))
			want := []string{"5 × 20 / 60 = 2 → 6 (highest of the last 5m)", "highest 6", "2 to 5 replicas"}
			if ref.Kind == "Deployment" {
				want = []string{"requests-per", "shared among 5 Ready pods, 24 each"}
			}
			for _, text := range want {
				if !strings.Contains(g.Plane(), text) {
					t.Errorf("%s at %d columns does not say %q:\n%s", ref, size[0], text, g.Plane())
				}
			}
		}
	}
}
