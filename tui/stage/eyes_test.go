package stage_test

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/action"
	"kviz/tui/pane"
	"kviz/tui/stage"
	"kviz/tui/theme"
	"kviz/tui/tuitest"
)

// TestWhatFlashesIsRefused shows a thing that is another one only at one event of the way, for shorter and for longer
// than a glance.
func TestWhatFlashesIsRefused(t *testing.T) {
	tape := aWrite("a")
	tape.Commit(tuitest.Ref("Deployment", "demo", "web"), "deployments", tuitest.Deployment(3, 3))
	h := view.NewHistory(tape.Stream)
	h.CatchUp(0)
	from := uint64(0)
	for at := range h.Len() {
		if h.At(at).Event.Kind == trace.MemberDown {
			from = at
		}
	}
	flash := func() pane.Pane {
		return events{func(s *pane.Sheet, e *trace.Event) {
			text := "up  "
			if e != nil && e.Kind == trace.MemberDown {
				text = "down"
			}
			thing(s, 4, 4, "it", text, theme.Text)
		}}
	}
	for tempo, want := range map[time.Duration]string{
		400 * time.Millisecond: "at 80x24: what changes in its ring stands for 400ms, and then it is as before",
		600 * time.Millisecond: "",
	} {
		beat := lessons.BeatLook{Show: "sketch", Spots: []string{"sketch:it"}, Start: h.At(from - 1), From: from, At: h.Len(), Stopped: true, Version: 1, Tempo: tempo, Quiet: time.Second}
		look := lessons.Look{Active: true, ID: "L50", Title: "A lesson", Kind: lessons.See, Beat: &beat}
		got := ""
		if _, err := stage.NewProof([]pane.Maker{flash}).Prove(look, h); err != nil {
			got = err.Error()
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("at a tempo of %s: %q; want %q", tempo, got, want)
		}
	}
}

// events is a pane that draws the event at which it stands.
type events struct {
	draw func(s *pane.Sheet, e *trace.Event)
}

func (p events) Info() pane.Info           { return sketch{}.Info() }
func (p events) Note(f *pane.Frame) string { return "" }
func (p events) Do(d string, s pane.Subject, f *pane.Frame) action.Action {
	return sketch{}.Do(d, s, f)
}
func (p events) Draw(s *pane.Sheet, f *pane.Frame) { p.draw(s, f.S.Event) }
