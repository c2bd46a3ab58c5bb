package store

import (
	"strings"
	"testing"

	"kviz/cluster/trace"
)

// A stage says of a message what becomes of it: whether it comes, comes twice, comes when its sender has
// given it up, or is lost, itself or its answer.
func TestWhatBecomesOfAMessageOnTheStage(t *testing.T) {
	for _, c := range []struct {
		comes int
		lost  string
		want  string
	}{
		{0, "", "▷ append"},
		{1, "", "▷ append"},
		{2, "", "▷▷ append"},
		{0, "dropped on the link a to b", "✗ append"},
		{1, "the link b to a is cut", "✗ answer"},
		{1, "it was overtaken, and nobody waits for its answer any more", "✗ too late"},
	} {
		tape := led(3)
		sent := trace.RaftMessage{Serial: 900, RPC: "AppendEntries", From: "a", To: "b", Term: 1, Entries: []trace.RaftEntry{{Index: 7, Term: 1}}}
		at(tape, "a", trace.RaftSend, &sent)
		at(tape, "a", trace.RaftSend, &trace.RaftMessage{Serial: 901, RPC: "AppendEntries", From: "a", To: "b", Term: 1, Entries: []trace.RaftEntry{{Index: 8, Term: 1}}})
		for range c.comes {
			at(tape, "b", trace.RaftDeliver, &sent)
		}
		if c.lost != "" {
			lost := sent
			lost.Error = c.lost
			at(tape, "a", trace.RaftLost, &lost)
		}
		g, _ := onStage("logs", tape.History().Latest(), 80, 14)
		var rows []string
		for y := range g.Area().H() {
			rows = append(rows, g.Area().Row(y))
		}
		if text := strings.Join(rows, "\n"); !strings.Contains(text, " "+c.want+" ") {
			t.Errorf("after it came %d times and was lost by %q, want %q in\n%s", c.comes, c.lost, c.want, text)
		}
	}
}
