package stage_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	tea "charm.land/bubbletea/v2"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/panes"
	"kviz/tui/stage"
	"kviz/tui/tuitest"
)

// play is a lesson on a cluster that plays a tape, on a stage.
type play struct {
	t       *testing.T
	cluster *tuitest.Cluster
	player  *lessons.Player
	history *view.History
	stage   *stage.Stage
	last    stage.Command // that was run
}

// aWrite is three members, then a write, then a crash of one of them.
func aWrite(crash string) *tuitest.Tape {
	tape := tuitest.Calm(3, 3)
	tape.Commit(tuitest.Ref("Deployment", "demo", "web"), "deployments", tuitest.Deployment(3, 2))
	tape.After(300 * time.Millisecond)
	id := tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "crash", Target: "member/" + crash})
	return tape.Down(crash, "crashed", id)
}

// aDay is the day on which lessons are taken here.
func aDay() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

func begin(t *testing.T, tape *tuitest.Tape) *play {
	t.Helper()
	text, err := os.ReadFile("testdata/lesson.md")
	if err != nil {
		t.Fatal(err)
	}
	return beginOf(t, tape, string(text), lessons.NewProgress(aDay))
}

// beginOf begins a lesson as somebody with a progress.
func beginOf(t *testing.T, tape *tuitest.Tape, text string, progress *lessons.Progress) *play {
	t.Helper()
	all, err := lessons.Load(fstest.MapFS{"L50/lesson.md": {Data: []byte(text)}}, panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	c := tuitest.NewCluster(tape, int(tuitest.Calm(3, 3).Stream.Len()))
	p := &play{t, c, lessons.NewPlayer(c, all, progress), view.NewHistory(c.Trace()), stage.New(panes.All), stage.Command{}}
	if err := p.player.Start("L50"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.player.Close)
	p.sets()
	return p
}

// sets waits until the scene is set, which is done beside this, by no script.
func (p *play) sets() {
	for look := p.look(); look.Setting; look = p.look() {
		runtime.Gosched()
	}
}

// look brings the stage up to date.
func (p *play) look() lessons.Look {
	look := p.player.Look()
	p.history.CatchUp(0)
	p.stage.Update(look, p.history)
	return look
}

// runs has the cluster go on until the beat stands.
func (p *play) runs() {
	p.t.Helper()
	for range 10_000 {
		if look := p.look(); !look.Beat.Runs {
			return
		}
		if !p.cluster.Play(1) {
			return
		}
	}
	p.t.Fatal("the beat never stands")
}

// again has the lesson go on on a cluster that was run again up to an event, and then goes on
// otherwise.
func (p *play) again(tape *tuitest.Tape, at trace.ID) {
	p.t.Helper()
	n := int(tape.Stream.Search(trace.ID{Seq: at.Seq + 1}))
	p.cluster = tuitest.NewCluster(tape, n)
	p.history = view.NewHistory(p.cluster.Trace())
	if err := p.player.Undone(p.cluster); err != nil {
		p.t.Fatal(err)
	}
	p.look()
}

// shows is what stands on the stage.
func (p *play) shows(name string, w, h int) {
	p.t.Helper()
	g := grid.New(w, h)
	p.stage.Draw(g, stage.Around{})
	tuitest.Golden(p.t, fmt.Sprintf("%s-%d", name, w), tuitest.Planes(g))
}

// press presses a key, and does what the lesson is asked for.
func (p *play) press(key string) action.Action {
	p.t.Helper()
	p.screen(p.last) // keys are pressed by who has seen something
	code := map[string]rune{"enter": tea.KeyEnter, "left": tea.KeyLeft, "down": tea.KeyDown, "up": tea.KeyUp, " ": ' '}[key]
	k := tea.KeyPressMsg{Code: code}
	if code == 0 || code == ' ' {
		k = tea.KeyPressMsg{Code: []rune(key)[0], Text: key}
	}
	does := p.stage.Key(k)
	if l, ok := does.(action.Lesson); ok {
		if err := p.player.Do(string(l)); err != nil {
			p.t.Fatalf("%s: %v", key, err)
		}
	}
	p.look()
	return does
}

// TestAStage goes through a lesson and looks at every screen of it.
func TestAStage(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			w, h := size[0], size[1]
			p := begin(t, aWrite("a"))
			p.shows("1-still", w, h)
			p.press(" ")
			p.shows("2-runs", w, h)
			p.runs()
			p.shows("2-begins", w, h) // as it was, before the first change
			p.stage.Tick(700 * time.Millisecond)
			p.shows("2-changes", w, h)
			p.press(" ") // ends the motion
			p.shows("2-stands", w, h)
			p.press(" ")
			p.shows("3-asks", w, h)
			p.press("2")
			p.shows("3-how-sure", w, h)
			p.press("3")
			p.press(" ")
			p.runs()
			p.press(" ")
			p.shows("4-verdict", w, h)
			p.press("left")
			p.shows("3-again", w, h)
			p.press(" ")
			p.press(" ")
			p.press("down")
			p.shows("5-points", w, h)
			p.press("enter")
			p.press("2")
			p.press(" ")
			p.shows("6-offers", w, h)
			if does := p.press("enter"); !strings.Contains(fmt.Sprint(does), "kviz fault crash member/a") {
				t.Errorf("enter does %v", does)
			}
			p.runs()
			p.shows("6-done", w, h)
			p.press(" ")
			p.shows("7-free", w, h)
			p.press(" ")
			p.shows("8-card", w, h)
			if does := p.press("1"); !strings.Contains(fmt.Sprint(does), "comes back to the lesson") {
				t.Errorf("1 does %v", does)
			}
			p.stage.Return()
			p.press("left")
			p.shows("7-free", w, h)
		})
	}
}

// TestAMistake crashes a member that the beat does not mean.
func TestAMistake(t *testing.T) {
	p := begin(t, aWrite("b"))
	for _, key := range []string{" ", " ", " ", "1", "enter", " ", " ", "enter", "enter", " "} { // enter: not how sure
		p.press(key)
		p.runs()
	}
	p.shows("mistake", 80, 24)
	look := p.look()
	before := trace.ID{Seq: look.Beat.Noticed.Seq - 1}
	if does := p.stage.Key(tea.KeyPressMsg{Code: 'u', Text: "u"}); does != (action.Undo{At: before}) {
		t.Errorf("u does %v; the fault was noticed at #%s", does, look.Beat.Noticed)
	}
	if c := p.cluster.Clock(); !c.Paused {
		t.Error("the clock stands while a mistake is looked at")
	}
	p.again(aWrite("a"), before)
	p.shows("undone", 80, 24)
	p.press("left")
	p.shows("undone-back", 80, 24)
	p.press(" ")
	p.runs()
	if look := p.look(); look.Beat.Mistake != "" || !look.CanNext || look.Beat.ID != "crash" {
		t.Errorf("with the right crash after the undo the beat %s says %q, and is over: %v", look.Beat.ID, look.Beat.Mistake, look.CanNext)
	}
	if want := "Right"; !strings.HasPrefix(p.look().Verdict, want) {
		t.Errorf("what was pointed at is judged %q by the run that was undone", p.look().Verdict)
	}
}

// TestRecalled looks at the end of a sitting of questions.
func TestRecalled(t *testing.T) {
	p := begin(t, aWrite("a"))
	look := p.look()
	look.Recall = &lessons.RecallLook{No: 3, Of: 3, Right: 2, Told: true, Over: true, Later: 1, Next: "2026-01-04"}
	p.stage.Update(look, p.history)
	p.shows("recalled", 80, 24)
	if does := p.stage.Key(tea.KeyPressMsg{Code: 'L', Text: "L"}); does != action.Lessons {
		t.Errorf("L does %v", does)
	}
}
