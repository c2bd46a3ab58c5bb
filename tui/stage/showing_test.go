package stage_test

import (
	"strings"
	"testing"
	"time"

	"kviz/lessons"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/stage"
	"kviz/tui/tuitest"
)

// toCrash is the small lesson where a command is offered.
func toCrash(t *testing.T) *play {
	t.Helper()
	p := begin(t, aWrite("a"))
	p.goesTo("guess")
	p.press("1")
	p.goesTo("which")
	for _, key := range []string{"enter", "1", " "} {
		p.press(key)
	}
	if id := p.look().Beat.ID; id != "crash" {
		t.Fatalf("%s stands", id)
	}
	return p
}

// screen is what stands on a screen of 80x24 beside a command that was run last.
func (p *play) screen(last stage.Command) string {
	p.last = last
	g := grid.New(80, 24)
	p.stage.Draw(g, stage.Around{Console: stage.Console{Last: last}})
	return g.Plane()
}

// TestShowMe has kviz do what is offered: the command is typed a character at a time, stands to be read, and is run
// then; the beat stays.
func TestShowMe(t *testing.T) {
	p := toCrash(t)
	const offer = "kviz fault crash member/a"
	if does := p.press("s"); does != action.Lesson("shown") {
		t.Fatalf("s does %v", does)
	}
	p.stage.Tick(10 * 30 * time.Millisecond)
	if got := p.screen(stage.Command{}); !strings.Contains(got, " $ kviz fault▏") && !strings.Contains(got, " $ kviz faul▏") {
		t.Errorf("after ten characters:\n%s", got)
	}
	g := grid.New(80, 24)
	p.stage.Draw(g, stage.Around{})
	tuitest.Golden(t, "show-types", tuitest.Planes(g))
	if does := p.stage.Does(); does != nil {
		t.Errorf("half of a command does %v", does)
	}
	p.stage.Tick(time.Duration(len(offer)-10) * 30 * time.Millisecond)
	if does := p.stage.Does(); does != nil {
		t.Errorf("nobody has read it, and it does %v", does)
	}
	p.stage.Tick(time.Second)
	if does := p.stage.Does(); does != action.Offered(offer) {
		t.Errorf("it does %v", does)
	}
	if does := p.stage.Does(); does != nil {
		t.Errorf("it does it twice: %v", does)
	}
	if err := p.player.Do("offered"); err != nil {
		t.Fatal(err)
	}
	p.runs()
	if look := p.look(); look.Beat.ID != "crash" || !look.CanNext {
		t.Errorf("then %s stands, over: %v", look.Beat.ID, look.CanNext)
	}
	p.press(" ")
	p.press(" ")
	if card := p.look().Card; card == nil || card.Shown != 1 || card.Met != 1 {
		t.Errorf("of two goals one was shown, one is that nothing else happens; the card says %+v", card)
	}
}

// TestWhatACommandSaidIsSeen shows what an offered command printed, with how it ended, as long as its beat stands.
func TestWhatACommandSaidIsSeen(t *testing.T) {
	p := toCrash(t)
	before := stage.Command{Line: "kubectl get pods", Said: "No resources found", Exit: 0}
	p.screen(before)
	p.stage.Update(p.look(), p.history)
	ran := stage.Command{Line: "kviz fault crash member/a", Running: true}
	if got := p.screen(ran); !strings.Contains(got, "runs …") {
		t.Errorf("while it runs:\n%s", got)
	}
	ran = stage.Command{Line: ran.Line, Said: "NAME   STATE\nerror: member a is down already", Exit: 1}
	got := p.screen(ran)
	for _, want := range []string{"│ NAME   STATE", "│ error: member a is down already  exit 1"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q:\n%s", want, got)
		}
	}
	g := grid.New(80, 24)
	p.stage.Draw(g, stage.Around{Console: stage.Console{Last: ran}})
	tuitest.Golden(t, "command-said", tuitest.Planes(g))
	p.runs()
	if got := p.screen(ran); !strings.Contains(got, " $ kviz fault crash member/a │ error: member a is down already") { // a verdict takes the room
		t.Errorf("beside a verdict:\n%s", got)
	}
	p.press(" ")
	if look := p.look(); look.Kind != lessons.Free {
		t.Fatalf("%s stands, not the next beat", look.Beat.ID)
	}
	if got := p.screen(ran); strings.Contains(got, "down already") {
		t.Errorf("the next beat has it, too:\n%s", got)
	}
}
