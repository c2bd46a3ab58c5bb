package view_test

import (
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Of a message that is lost it is said what: it itself, or the answer to it.
func TestWhatOfAMessageWasLost(t *testing.T) {
	entries := []trace.RaftEntry{{Index: 7}, {Index: 8}}
	for want, p := range map[string]trace.RaftMessage{
		"Entry 7 from a to b was lost: dropped on the link a to b":                  {Entries: entries[:1], Error: "dropped on the link a to b"},
		"Entries 7 to 8 from a to b were lost: the link a to b is cut":              {Entries: entries, Error: "the link a to b is cut"},
		"The answer to entries 7 to 8 from a to b was lost: the link b to a is cut": {Entries: entries, Error: "the link b to a is cut"},
	} {
		p.RPC, p.From, p.To = "AppendEntries", "a", "b"
		if got := view.Explain(&trace.Event{Kind: trace.RaftLost, Payload: &p}); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
