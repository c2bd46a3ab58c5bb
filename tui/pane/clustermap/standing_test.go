package clustermap

import (
	"fmt"
	"strings"
	"testing"

	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// Workloads of every kind stand on the map: as cells on the nodes, and below with how each stands in the way of its kind.
func TestWorkloadsOfEveryKind(t *testing.T) {
	h := tuitest.Workloads().History()
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 50}} {
		name := fmt.Sprintf("workloads-%dx%d", size[0], size[1])
		g := tuitest.Pane(New(), h, h.Latest(), size[0], size[1])
		tuitest.Golden(t, name, tuitest.Planes(g))
		if size[0] == 120 {
			tuitest.Golden(t, name+"-none", tuitest.Colourless(t, g))
		}
		lists := tuitest.Pane(New(), h, h.Latest(), size[0], size[1], "do map.view")
		tuitest.Golden(t, name+"-lists", tuitest.Planes(lists))
		if size[0] == 80 {
			continue
		}
		for _, want := range []string{"shop 4/6", "sts/db 4/5", "ds/log 2/3", "job/pi 6/12 ✗2", "cj/report in 14m4"} {
			if !strings.Contains(g.Plane(), want) {
				t.Errorf("%s: %q is not below the picture", name, want)
			}
		}
		for _, want := range []string{"Deployment demo/shop", "StatefulSet demo/db", "DaemonSet demo/log", "Job demo/pi", "CronJob demo/report"} {
			if !strings.Contains(lists.Plane(), want) {
				t.Errorf("%s: %q is not among the lists", name, want)
			}
		}
	}
}

// Each can be pointed at there, and opened.
func TestWorkloadsCanBeOpened(t *testing.T) {
	h := tuitest.Workloads().History()
	host, g := pane.NewHost(New(), ""), grid.New(140, 44)
	host.Draw(g, g.Area().R, pane.Frame{S: h.Latest(), H: h, Stage: true})
	for _, name := range []string{"Deployment demo/shop", "StatefulSet demo/db", "DaemonSet demo/log", "Job demo/pi", "CronJob demo/report"} {
		if r, whole := host.Find("work/" + name); !whole || r.H != 1 {
			t.Errorf("%s cannot be pointed at: %v", name, r)
		}
	}
}
