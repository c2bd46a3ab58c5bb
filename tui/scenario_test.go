package tui

import (
	"testing"

	"kviz/tui/tuitest"
)

// A scenario about one object has it in sight while it runs, wherever it is chosen; any other leaves the panes as they are.
func TestAScenarioShowsWhatItIsAbout(t *testing.T) {
	scenarios := func(c *Config) {
		c.Preset = ""
		c.Scenarios = []Scenario{
			{Name: "rollout", Means: "a rolling update", Line: "kubectl get deployments", Shows: tuitest.Ref("Deployment", "demo", "web")},
			{Name: "leader", Means: "a crash", Line: "kubectl get nodes"},
		}
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		d := explore(t, size[0], size[1], -1, scenarios).press("ctrl+p").typed("scenario rollout").press("enter")
		d.shows("Object · Deployment demo/web", "rollout RollingUpdate", "kubectl get deployments")
		d = explore(t, size[0], size[1], -1, scenarios).press("ctrl+p").typed("scenario leader").press("enter")
		d.shows("1 Cluster", "kubectl get nodes").hides("Object · Deployment")
	}
}
