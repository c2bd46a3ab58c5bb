package clustermap

import (
	"fmt"
	"strings"
	"testing"

	"kviz/tui/tuitest"
)

// Beside a workload stand the autoscaler that scales it and the claims of its pods, in the picture and in the lists.
func TestCompanions(t *testing.T) {
	for _, c := range []struct {
		name string
		tape *tuitest.Tape
		want string
	}{
		{"autoscaler", tuitest.Autoscaling(), "hpa 2–5"},
		{"claims", tuitest.Disks(), "pvc 1/1"},
	} {
		h := c.tape.History()
		for _, size := range [][2]int{{80, 24}, {120, 40}, {160, 45}} {
			g := tuitest.Pane(New(), h, h.Latest(), size[0], size[1])
			tuitest.Golden(t, fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1]), tuitest.Planes(g))
			if !strings.Contains(g.Plane(), c.want) {
				t.Errorf("%q is not on the map of %d columns", c.want, size[0])
			}
		}
	}
}

// The words of a workload name each claim and its volume.
func TestClaimsInWords(t *testing.T) {
	h := tuitest.Disks().History()
	s := h.Latest()
	for _, c := range []struct {
		claims map[string]int
		text   string
		says   string
	}{
		{nil, "", ""},
		{map[string]int{"demo/data": 1, "demo/more": 1, "demo/none": 2}, "pvc 1/3", "claim demo/data is Bound to pvc-0b6e1f2a-5c3d-4e57-9c3a-1d2e3f405162, claim demo/more is Pending, claim demo/none is missing"},
		{map[string]int{"demo/a": 1, "demo/b": 1, "demo/c": 1, "demo/d": 1, "demo/e": 1}, "pvc 0/5", "claim demo/a is missing, claim demo/b is missing, claim demo/c is missing, and 2 more"},
	} {
		text, says := storage(s, c.claims)
		if got := strings.Join(says, ", "); text != c.text || got != c.says {
			t.Errorf("%v is %q, %q; want %q, %q", c.claims, text, got, c.text, c.says)
		}
	}
}
