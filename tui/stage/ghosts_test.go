package stage_test

import (
	"fmt"
	"strings"
	"testing"

	"kviz/lessons"
	"kviz/tui/grid"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

// TestAGhostStandsUntilTheBeatIsOver draws what was expected from the answer to the end of the beat
// that shows what came instead, and no longer.
func TestAGhostStandsUntilTheBeatIsOver(t *testing.T) {
	p := begin(t, aWrite("a"))
	haunted := func() bool {
		g := grid.New(80, 24)
		p.stage.Draw(g, stage.Around{})
		return strings.Contains(g.Plane(), "┆ you: stays")
	}
	for _, step := range []struct {
		key  string
		want bool
	}{{" ", false}, {" ", false}, {" ", false}, {"2", true}, {"1", true}, {" ", true}, {" ", true}, {"left", true}, {" ", true}, {" ", false}} {
		p.press(step.key)
		p.runs()
		if got := haunted(); got != step.want {
			t.Errorf("after %q of beat %s the ghost is there: %v", step.key, p.look().Beat.ID, got)
		}
	}
}

// TestGhostsAreProven refuses a ghost that has no cell, with the nearest name, and one that has no
// room, on both screens.
func TestGhostsAreProven(t *testing.T) {
	p := begin(t, aWrite("a"))
	p.press(" ")
	p.runs()
	for _, c := range []struct {
		ghost lessons.GhostLook
		says  string
	}{
		{lessons.GhostLook{At: "store:commit", Says: "stays"}, ""},
		{lessons.GhostLook{At: "store:member/*", Says: "lacks it"}, ""},
		{lessons.GhostLook{At: "store:comit", Says: "stays"}, `ghost "store:comit" is not on the screen; did you mean "store:commit"?`},
		{lessons.GhostLook{At: "store:nember/*", Says: "stays"}, `ghost "store:nember/*" is not on the screen; did you mean "store:member/`},
		{lessons.GhostLook{At: "map:node/node-1", Says: "stays"}, `ghost "map:node/node-1": store is on the stage as its prediction is answered`},
		{lessons.GhostLook{At: "store:commit", Says: strings.Repeat("very ", 30) + "long"}, `ghost "store:commit": there is no room beside it`},
	} {
		look := p.look()
		look.Beat.Ghosts = []lessons.GhostLook{c.ghost}
		_, wrong := stage.NewProof(panes.All).Prove(look, p.history)
		err := fmt.Sprint(wrong)
		for _, size := range []string{"at 80x24", "at 120x40"} {
			if c.says == "" && strings.Contains(err, "ghost") || c.says != "" && !strings.Contains(err, c.says) || c.says != "" && !strings.Contains(err, size) {
				t.Errorf("%+v gives %s; want %q", c.ghost, err, c.says)
			}
		}
	}
}

// TestPointing moves among the cells that can be pointed at, and finds the same without a screen.
func TestPointing(t *testing.T) {
	p := begin(t, aWrite("a"))
	for _, key := range []string{" ", " ", " ", "1", "enter", " ", " ", " "} {
		p.press(key)
		p.runs()
	}
	if id := p.look().Beat.ID; id != "which" {
		t.Fatalf("the beat is %s", id)
	}
	for _, c := range []struct{ key, want string }{{"down", "member b"}, {"down", "member c"}, {"down", "member c"}, {"left", "member c"}, {"up", "member b"}} {
		p.press(c.key)
		g := grid.New(80, 24)
		p.stage.Draw(g, stage.Around{})
		if want := "You point at " + c.want + " "; !strings.Contains(g.Plane(), want) {
			t.Errorf("after %s it does not say %q:\n%s", c.key, want, g.Plane())
		}
	}
	if got := fmt.Sprint(stage.CellsOf(panes.All, p.look(), p.history, 120, 40)); got != "[member/a member/b member/c]" {
		t.Errorf("without a screen there are %s to point at", got)
	}
	p.press("enter")
	if err := p.player.Do("point member/a member/a member/b"); err == nil || !strings.Contains(err.Error(), "answered already") {
		t.Errorf("the answer can be changed: %v", err)
	}
}
