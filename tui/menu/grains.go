package menu

import (
	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/overlay"
	"kviz/tui/theme"
)

// Grains is the menu of step sizes, the cursor on the present one.
func Grains(now trace.Grain) overlay.Overlay {
	means := []string{
		"one message, disk write, vote or election timeout of a member", "one revision of the store", "one stage of an API request, one action of a kubelet or proxy",
		"one watch event delivered", "one move of a work queue", "one reconcile or scheduling decision", "one object whose status says what its spec asks",
	}
	p := &overlay.Picker{Title: "How far is a step?"}
	for i, n := range trace.GrainNames() {
		it := overlay.Item{Label: overlay.Padded(n, 10), Note: means[i], Do: action.Grain(i)}
		if trace.Grain(i) == now {
			it.Style = theme.Accent
			it.Note += "  ← now"
		}
		p.Items = append(p.Items, it)
	}
	p.Select(int(now))
	return p
}
