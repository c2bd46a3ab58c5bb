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

// A member is found with the cursor on it, in whichever view the store pane is, at every size.
func TestJumpToAMemberPutsTheCursorOnIt(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		for view := range 8 {
			d := explore(t, size[0], size[1], -1).press("2")
			for range view {
				d.press("v")
			}
			for _, member := range []string{"c", "a", "b"} {
				d.press("1", "ctrl+o").typed("member " + member).press("enter")
				if got := d.m.frame.Under().Target; d.m.frame.Focused().Name != "store" || got != "member/"+member {
					t.Errorf("%dx%d, view %d: member %s leads to %q in the pane %s", size[0], size[1], view, member, got, d.m.frame.Focused().Name)
				}
			}
		}
	}
}

// An object leads to the object pane, which shows it and nothing else.
func TestJumpToAnObjectShowsIt(t *testing.T) {
	d := explore(t, 120, 40, -1)
	for typed, shows := range map[string]string{"node node-3": "Node node-3", "service demo/web": "Service demo/web", "pod demo/web-7f9c-m4q7z": "Pod demo/web-7f9c-m4q7z"} {
		d.press("ctrl+o").typed(typed).press("enter")
		if got := d.m.frame.Focused().Name; got != "object" {
			t.Errorf("%s leads to the pane %s", typed, got)
		}
		d.shows("Object · " + shows)
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

// In a pane that was chosen by its key "why?" is about the row that it marks, and begins with
// the answer that kviz why gives; on the picture, where nothing was pointed at, it is about
// what is told.
func TestWhyIsAboutTheMarkedRow(t *testing.T) {
	for _, key := range []string{"6", "tab"} {
		d := explore(t, 120, 40, -1)
		for d.press(key); d.m.frame.Focused().Name != "scheduler"; {
			d.press(key)
		}
		on := d.m.frame.Under()
		if on.Event.IsZero() || on.Ref.Name == "" {
			t.Fatalf("the scheduler's pane marks %+v", on)
		}
		reasons := d.m.travel.State().ReasonsOf(on.Ref)
		if len(reasons) == 0 {
			t.Fatalf("nothing answers why of %s", on.Ref)
		}
		d.press("w").shows("Why #"+on.Event.String()+"?", reasons[0].Says[:60])
	}
	d := explore(t, 120, 40, -1)
	told := d.m.told().ID
	d.press("w").shows("Why #" + told.String() + "?")
}
