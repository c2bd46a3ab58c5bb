package scheduler

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// show makes the pane with one of its views.
func show(name string) pane.Maker {
	return func() pane.Pane {
		p := New()
		p.ShowView(name)
		return p
	}
}

// The plugins of the profile: the usual ones, and what a file made of them.
func TestPlugins(t *testing.T) {
	tuitest.Frames(t, show("plugins"),
		tuitest.Case{Name: "plugins", W: 80, H: 24, Kind: trace.SchedDecision, N: 1, Moves: []string{keymap.Down}},
	)
	tape := tuitest.NewTape()
	packing := *view.UsualProfile()
	packing.Name, packing.Percentage = "packing", 40
	packing.Args = []string{`NodeResourcesFit scoringStrategy {"type":"MostAllocated"}`}
	packing.Points = append([]trace.SchedPlugins{}, packing.Points...)
	for i := range packing.Points {
		if at := &packing.Points[i]; at.Point == "Score" {
			at.Plugins = []string{"NodeResourcesFit 5", "TaintToleration 3", "NodeAffinity 2", "VolumeBinding 1", "PodTopologySpread 2", "InterPodAffinity 2", "ImageLocality 1", "Mine 1"}
		}
	}
	tape.Emit(trace.CompSimulation, "", trace.SchedConfigured, trace.Ref{}, &trace.SchedConfiguration{
		File: true, Profiles: []trace.SchedProfile{*view.UsualProfile(), packing}, Changed: []string{"podMaxBackoffSeconds 30"},
	})
	ref := tuitest.Ref("Pod", "demo", "packed")
	cycle := tape.Emit(trace.CompScheduler, "", trace.SchedCycle, ref, &trace.SchedCycleStart{Pod: "demo/packed", Attempt: 1, Nodes: 3, Profile: "packing"})
	tape.Emit(trace.CompScheduler, "", trace.SchedDecision, ref, &trace.Decision{Pod: "demo/packed", Node: "node-2", Evaluated: 3, Feasible: 1, Skipped: true}, cycle)
	tuitest.FramesOf(t, tape, show("plugins"), tuitest.Case{Name: "plugins-file", W: 100, H: 30}, tuitest.Case{Name: "plugins-narrow", W: 44, H: 24})
	tuitest.FramesOf(t, tape, pane.Make(New), tuitest.Case{Name: "profile", W: 80, H: 12})
}
