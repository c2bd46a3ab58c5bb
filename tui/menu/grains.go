package menu

import (
	"kviz/cluster/trace"
	"kviz/tui/action"
	"kviz/tui/overlay"
	"kviz/tui/theme"
)

// Grains is the menu of step sizes, the cursor on the present one. Where there is a
// command whose effects a step can follow, that is the first.
func Grains(now trace.Grain, command string, follows bool) overlay.Overlay {
	means := []string{
		"one message, disk write, vote or election timeout of a member", "one revision of the store", "one stage of an API request, one action of a kubelet or proxy",
		"one watch event delivered", "one move of a work queue", "one reconcile or scheduling decision", "one object whose status says what its spec asks",
	}
	p := &overlay.Picker{Title: "How far is a step?"}
	at := int(now)
	if command != "" {
		at++
		it := overlay.Item{
			Label: overlay.Padded("path", 10), Note: "the next thing that comes of: " + command, Do: action.Follow{},
			Detail: "From one thing that your newest command or fault led to, to the next; what has nothing to do with it goes on unseen. Any other choice leaves the path.",
		}
		if follows {
			at, it.Style = 0, theme.Accent
			it.Note += "  ← now"
		}
		p.Items = append(p.Items, it)
	}
	for i, n := range trace.GrainNames() {
		it := overlay.Item{Label: overlay.Padded(n, 10), Note: means[i], Do: action.Grain(i)}
		if trace.Grain(i) == now && !follows {
			it.Style = theme.Accent
			it.Note += "  ← now"
		}
		p.Items = append(p.Items, it)
	}
	p.Select(at)
	return p
}
