package tui

import (
	"path/filepath"
	"testing"

	"kviz/cluster/trace"
	"kviz/tui/class/walk"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

// Marks of a walk are set where the explorer stands, in the pane that has the focus, with a ring around what somebody points
// at; they are listed, gone to, and taken away, and stand in the file beside the recording.
func TestMarksOfAWalk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.kvrun")
	marks, err := walk.Open(file, stage.Pictures(panes.All))
	if err != nil {
		t.Fatal(err)
	}
	d := explore(t, 120, 40, -1, func(c *Config) { c.Recording, c.Marks = "run.kvrun", marks })
	d.press("end", "2", "M").shows("Marks of a walk", "run.kvrun.marks", "set a mark at #")
	last := d.m.travel.State().Last
	d.press("enter").shows("A mark at #"+last.String(), "store").typed("All is well.").press("enter").shows("a mark is set at #" + last.String())
	d.press("home", "1", "down", "M", "enter").typed("It begins.").press("enter")
	all := marks.All()
	if len(all) != 2 || all[0].Say != "It begins." || all[1].Say != "All is well." || all[1].At != last || all[1].Show == "" || len(all[1].Spots) > 0 {
		t.Fatalf("the marks are %+v", all)
	}
	d.press("M").shows("take away: It begins.", "All is well.")
	d.press("down", "down", "down", "enter").shows("All is well.")
	if at := d.m.travel.State().Last; at != last || d.m.frame.Focused().Name != "store" {
		t.Errorf("it goes to #%s, on %s", at, d.m.frame.Focused().Name)
	}
	d.press("M").shows("take away: All is well.").press("down", "enter").shows("the mark is gone")
	again, err := walk.Open(file, stage.Pictures(panes.All))
	if err != nil || len(again.All()) != 1 || again.All()[0].Say != "It begins." {
		t.Errorf("the file has %+v, %v", again.All(), err)
	}
}

// A mark has a ring around what the cursor was put on.
func TestAMarkHasARing(t *testing.T) {
	marks := walk.New(stage.Pictures(panes.All))
	d := explore(t, 120, 40, -1, func(c *Config) { c.Marks, c.Saved = marks, true })
	d.press("2", "down", "down", "M", "enter").typed("Look.").press("enter")
	all := marks.All()
	if len(all) != 1 || len(all[0].Spots) != 1 || all[0].At != d.m.travel.State().Last {
		t.Fatalf("the marks are %+v", all)
	}
	on, ring := d.m.frame.Under(), all[0].Spots[0]
	found := false
	for _, name := range on.Names() {
		found = found || ring == "store:"+name
	}
	if !found {
		t.Errorf("the ring is around %s, the cursor on %v", ring, on.Names())
	}
	d.press("q").shows("and the marks that you").press("esc")
}

// Where no marks can be kept, that is said; and a cluster of a student's own has none.
func TestWhereNoMarksAreSet(t *testing.T) {
	d := explore(t, 120, 40, -1)
	d.press("M").shows("marks are set in a cluster or a recording of your own")
	d = explore(t, 120, 40, 0, func(c *Config) { c.Marks = walk.New(nil) })
	if d.m.travel.State().Last != (trace.ID{}) {
		t.Fatal("something has happened")
	}
	d.press("M").shows("Marks of a walk").press("enter")
}
