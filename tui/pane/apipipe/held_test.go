package apipipe

import (
	"slices"
	"testing"

	"kviz/tui/keymap"
	"kviz/tui/pane"
)

// The keys that do something to an event on its way are named while the cursor is on a
// client or an event that waits for it, and only then.
func TestHeldKeysAreForWatchEvents(t *testing.T) {
	p := New()
	for target, want := range map[string][]string{
		"informer/scheduler/pods": {"api.hold", "api.lose", "api.delay"},
		"watch/pods":              nil,
		"":                        nil,
	} {
		if got := p.For(pane.Subject{Target: target}); !slices.Equal(got, want) {
			t.Errorf("on %q the keys are %v, not %v", target, got, want)
		}
	}
	for _, action := range p.For(pane.Subject{Target: "informer/scheduler/pods"}) {
		if !slices.ContainsFunc(p.Info().Keys, func(k keymap.Binding) bool { return k.Action == action }) {
			t.Errorf("%s is no key of the pane", action)
		}
	}
}
