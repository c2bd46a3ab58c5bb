package stage_test

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/action"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/stage"
	"kviz/tui/theme"
)

// sketch is a pane of one thing, and of one beside it, drawn by a test.
type sketch struct {
	draw func(s *pane.Sheet, crashed bool)
}

func (p sketch) Info() pane.Info                                        { return pane.Info{Name: "sketch", Title: "Sketch"} }
func (p sketch) Note(*pane.Frame) string                                { return "" }
func (p sketch) Do(string, pane.Subject, *pane.Frame) (a action.Action) { return a }
func (p sketch) Draw(s *pane.Sheet, f *pane.Frame) {
	p.draw(s, f.S.Event != nil && f.S.Event.Kind == trace.MemberDown)
}

// thing draws a text with a name at a place.
func thing(s *pane.Sheet, x, y int, name, text string, st grid.Style) {
	s.Row(y).Text(x, 0, text, st)
	s.Mark(grid.Rect{X: x, Y: y, W: grid.Width(text), H: 1}, name)
}

// proves is what the proof says of a beat that shows a crash on a pane.
func proves(t *testing.T, beat lessons.BeatLook, draw func(s *pane.Sheet, crashed bool)) string {
	t.Helper()
	tape := aWrite("a")
	h := view.NewHistory(tape.Stream)
	h.CatchUp(0)
	n := h.Len()
	beat.Show, beat.Start, beat.From, beat.At, beat.Stopped, beat.Version = "sketch", h.At(n-3), n-2, n, true, 1
	beat.Tempo, beat.Quiet = time.Second, time.Second
	look := lessons.Look{Active: true, ID: "L50", Title: "A lesson", Kind: lessons.See, Beat: &beat}
	_, err := stage.NewProof([]pane.Maker{func() pane.Pane { return sketch{draw} }}).Prove(look, h)
	if err == nil {
		return ""
	}
	return err.Error()
}

// What changes its colour only changes for nobody who sees none, and a ring that has no room is one of
// colour alone.
func TestWhatOnlyColoursTellIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, want string
		draw       func(s *pane.Sheet, crashed bool)
	}{
		{"a word", "", func(s *pane.Sheet, crashed bool) {
			thing(s, 4, 4, "it", map[bool]string{false: "up  ", true: "down"}[crashed], theme.Text)
		}},
		{"a colour", "at 80x24: without colour nothing in its ring changes", func(s *pane.Sheet, crashed bool) {
			thing(s, 4, 4, "it", "mood", map[bool]grid.Style{false: theme.Good, true: theme.Warn}[crashed])
		}},
		{"a weight", "", func(s *pane.Sheet, crashed bool) {
			thing(s, 4, 4, "it", "mood", map[bool]grid.Style{false: theme.Good, true: theme.Bad}[crashed])
		}},
		{"no room", `spot "sketch:it": its ring lacks a side, as words stand there`, func(s *pane.Sheet, crashed bool) {
			for y := 3; y < 6; y++ {
				s.Row(y).Text(3, 0, "xxxxxx", theme.Text)
			}
			thing(s, 4, 4, "it", map[bool]string{false: "up  ", true: "down"}[crashed], theme.Text)
		}},
	} {
		got := proves(t, lessons.BeatLook{Spots: []string{"sketch:it"}}, c.draw)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q; want %q", c.name, got, c.want)
		}
	}
}

// What a beat hides is nowhere on its screen.
func TestWhatIsHiddenIsNowhereOnTheScreen(t *testing.T) {
	at := func(answer, beside string) func(s *pane.Sheet, crashed bool) {
		return func(s *pane.Sheet, crashed bool) {
			thing(s, 4, 4, "it", map[bool]string{false: "up  ", true: "down"}[crashed], theme.Text)
			thing(s, 20, 4, "answer", answer, theme.Text)
			s.Row(6).Text(4, 0, beside, theme.Text)
		}
	}
	for _, c := range []struct{ answer, beside, says, hide, want string }{
		{"366", "367 and 1366", "It is down.", "answer", ""},
		{"366", "entry 366", "It is down.", "answer", `at 80x24: hide "sketch:answer": "366" is on the screen all the same: │    entry 366 `},
		{"366", "", "It is down, at 366.", "answer", `"366" is on the screen all the same: It is down, at 366.`},
		{"366", "", "It is down.", "answers", `hide "sketch:answers" is not on the screen; did you mean "sketch:answer"?`},
	} {
		beat := lessons.BeatLook{Spots: []string{"sketch:it"}, Hide: []string{"sketch:" + c.hide}, After: c.says}
		if got := proves(t, beat, at(c.answer, c.beside)); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%q beside %q, %q: %q; want %q", c.beside, c.answer, c.says, got, c.want)
		}
	}
}
