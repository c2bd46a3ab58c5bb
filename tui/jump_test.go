package tui

import "testing"

// A few letters go to a pane, to any object, node or Service, and to a member's pane.
func TestAFewLettersJumpAnywhere(t *testing.T) {
	for _, c := range []struct{ typed, focus, shows string }{
		{"Scheduler", "scheduler", ""},
		{"nodenode-2", "object", "node-2"},
		{"memberb", "store", ""},
		{"deplweb", "object", "web"},
		{"servweb", "object", "web"},
	} {
		d := explore(t, 120, 40, -1)
		d.press("ctrl+o").shows("Jump to").typed(c.typed).press("enter")
		if got := d.m.frame.Focused().Name; got != c.focus {
			t.Errorf("%q leads to the pane %s, want %s\n%s", c.typed, got, c.focus, d.screen())
		}
		d.shows(c.shows)
	}
}

// The glossary has concepts beside kinds of events; enter goes to where one is seen.
func TestTheGlossaryLeadsToWhereAConceptIsSeen(t *testing.T) {
	d := explore(t, 120, 40, -1)
	d.press("g").typed("quorum").shows("More than half of the members", "See it in the pane store").press("enter")
	if got := d.m.frame.Focused().Name; got != "store" {
		t.Errorf("quorum leads to the pane %s, want store", got)
	}
}
