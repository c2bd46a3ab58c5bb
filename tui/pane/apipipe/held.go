package apipipe

import (
	"strings"

	"kviz/cluster/control"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/keymap"
	"kviz/tui/pane"
)

// The keys of the watches' view: one event on its way to a client is held, let go, lost,
// or put behind the next. With the cursor on an event it is that one's object's, with the
// cursor on a client the oldest that waits, or the next that comes.

var (
	holdKey  = keymap.Bind("api.hold", "hold/release", "Hold the event under the cursor, or the next one of the client, with what comes behind it; once more lets it go.", "H")
	loseKey  = keymap.Bind("api.lose", "drop", "Lose the event under the cursor, or the next one of the client: its cache is wrong then.", "X")
	delayKey = keymap.Bind("api.delay", "delay", "Have the event under the cursor, or the next one of the client, arrive behind the one after it.", "D")
)

// For implements [pane.Prompter].
func (*Pipeline) For(on pane.Subject) []string {
	if !strings.HasPrefix(on.Target, "informer/") {
		return nil
	}
	return []string{holdKey.Action, loseKey.Action, delayKey.Action}
}

// toEvent does a fault to one event of the client under the cursor.
func toEvent(name string) pane.Act {
	return func(on pane.Subject, f *pane.Frame) action.Action {
		if !strings.HasPrefix(on.Target, "informer/") {
			return action.Notice{Text: "Put the cursor on a client or on an event that waits for it: v shows the watches."}
		}
		do := control.Fault{Name: name, Target: on.Target}
		if u, ok := on.Value.(view.Stale); ok {
			do.Args = []string{u.Object.Key()}
		}
		return action.Fault{Fault: do}
	}
}

// holdOrRelease lets go what is held at the client under the cursor, else holds.
func holdOrRelease(on pane.Subject, f *pane.Frame) action.Action {
	for _, w := range f.S.FaultsOn(on.Target) {
		if w.Fault.Fault == "hold" || w.Fault.Fault == "stall" {
			return action.Fault{Fault: control.Fault{Name: "release", Target: on.Target}}
		}
	}
	return toEvent("hold")(on, f)
}
