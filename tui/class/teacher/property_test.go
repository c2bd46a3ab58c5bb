package teacher

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/raftstore/steady"
	"kviz/tui/action"
	"kviz/tui/class"
	"kviz/tui/class/lead"
	"kviz/tui/grid"
	"kviz/tui/panes"
	"kviz/tui/stage"
	"kviz/tui/tuitest"
)

// still is a lead that does nothing but keep what it was asked.
type still struct {
	scene *lead.Scene
	asked []string
}

func (s *still) Scene() *lead.Scene                            { return s.scene }
func (s *still) LookAs(map[string]lessons.Answer) lessons.Look { return s.scene.Stand.Look }
func (s *still) Press(k tea.KeyPressMsg) error                 { s.asked = append(s.asked, k.String()); return nil }
func (s *still) Do(what string) error                          { s.asked = append(s.asked, what); return nil }
func (s *still) Answer(string) error                           { return nil }
func (s *still) ShowPoll() error                               { return nil }
func (s *still) Exec(line string) error                        { s.asked = append(s.asked, line); return nil }
func (s *still) Black() error                                  { return nil }
func (s *still) Mark(words string) error                       { s.asked = append(s.asked, words); return nil }
func (s *still) Spot(names ...string) error                    { s.asked = append(s.asked, names...); return nil }

var everyKey = strings.Fields("pgdown pgup space n left enter V G A . b s : t e q E esc 1 2 3 9 p B up down home end backspace a c d r ? u o + -")

// TestRandomKeys: at whatever size, with any keys, both screens stay up and draw no line beyond the screen.
func TestRandomKeys(t *testing.T) {
	scenes := scenesOf(t)
	steady.Check(t, func(r *rapid.T) {
		room := class.NewRoom(time.Now, nil)
		room.Begin("L50@1")
		scene := rapid.SampledFrom(scenes).Draw(r, "scene")
		beat := ""
		if b := scene.Stand.Look.Beat; b != nil {
			beat = b.ID
		}
		room.GoTo(beat)
		for i := range rapid.SampledFrom([]int{0, 1, 27, 200}).Draw(r, "students") {
			room.Come(studentName(i))
		}
		if rapid.Bool().Draw(r, "polled") {
			room.Poll(beat, class.Open)
			a := lessons.Answer{Said: lessons.Said{Parts: []int{rapid.IntRange(0, 3).Draw(r, "choice")}}}
			_ = room.Answer("anna", beat, &a, hostile[0]) // nobody, where nobody is there
			room.Poll(beat, rapid.SampledFrom([]string{class.Open, class.Closed, class.Shown}).Draw(r, "poll"))
		}
		var scenesBell class.Bell
		cfg := Config{
			Lead: &still{scene: scene}, Scenes: &scenesBell, Room: room, Seats: &room.Changed, Panes: panes.All, Theme: "none",
			Beats: []Beat{{ID: "members", Title: "Three", Kind: "see"}, {ID: beat, Title: "Now", Kind: "do"}}, Time: time.Minute,
			Join: Join{Address: "ssh lab", Code: "plum-42"},
		}
		models := []model{NewProjector(t.Context(), cfg), NewNotes(t.Context(), cfg)}
		for range rapid.IntRange(1, 4).Draw(r, "sizes") {
			w, h := rapid.IntRange(1, 300).Draw(r, "w"), rapid.IntRange(1, 90).Draw(r, "h")
			for _, m := range models {
				m.Update(tea.WindowSizeMsg{Width: w, Height: h})
			}
			for _, k := range rapid.SliceOfN(rapid.SampledFrom(everyKey), 1, 8).Draw(r, "keys") {
				for _, m := range models {
					m.Update(keyOf(k))
					m.screen().read()
					lines := strings.Split(m.View().Content, "\n")
					if len(lines) > h {
						r.Fatalf("%d lines on a screen of %d", len(lines), h)
					}
					for _, l := range lines {
						if lw := ansi.StringWidth(l); lw > w {
							r.Fatalf("a line is %d columns wide on a screen of %d: %q", lw, w, l)
						}
					}
				}
			}
		}
	})
}

// scenesOf are scenes of a whole lesson: before it, in the midst of changes, at each question, mistake and goal, and its card.
func scenesOf(t *testing.T) (all []*lead.Scene) {
	t.Helper()
	text, err := os.ReadFile("testdata/lesson.md")
	if err != nil {
		t.Fatal(err)
	}
	read, err := lessons.Load(fstest.MapFS{"L50/lesson.md": {Data: text}}, panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	tape := tuitest.Calm(3, 3)
	calm := int(tape.Stream.Len())
	tape.Commit(tuitest.Ref("Deployment", "demo", "web"), "deployments", tuitest.Deployment(3, 2))
	tape.After(300 * time.Millisecond)
	tape.Down("a", "crashed", tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "crash", Target: "member/a"}))
	c := tuitest.NewCluster(tape, calm)
	player := lessons.NewPlayer(c, read, lessons.NewProgress(time.Now))
	t.Cleanup(player.Close)
	if err := player.Start("L50"); err != nil {
		t.Fatal(err)
	}
	for player.Look().Setting { // which is done beside this, by no script
		runtime.Gosched()
	}
	h, st, g := view.NewHistory(c.Trace()), stage.New(panes.All), grid.New(80, 24)
	look := func() lessons.Look {
		look := player.Look()
		h.CatchUp(0)
		st.Update(look, h)
		st.Draw(g, stage.Around{})
		around := stage.Around{Console: stage.Console{Last: stage.Command{Line: "kviz fault crash member/a", Exit: 1, Said: "a\nb\tc\n\x1b[31mred"}}}
		all = append(all, &lead.Scene{No: uint64(len(all) + 1), Stand: st.Stand(), Around: around})
		return look
	}
	all = append(all, &lead.Scene{})
	for _, k := range strings.Fields("space space space 1 enter space space enter enter space space space space space space") {
		look()
		st.Tick(700 * time.Millisecond)
		for look().Beat.Runs && c.Play(1) {
		}
		if does, ok := st.Key(keyOf(k)).(action.Lesson); ok {
			_ = player.Do(string(does)) // a key that does nothing here
		}
	}
	look()
	if last := all[len(all)-1].Stand.Look; last.Step < 6 {
		t.Fatalf("the lesson has come to beat %d", last.Step)
	}
	return all
}
