package handout_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/tui/class/result"
	"kviz/tui/grid"
	"kviz/tui/handout"
	"kviz/tui/handout/handouttest"
	"kviz/tui/theme"
)

// small is a handout of two beats, in which every kind of text is.
func small() *handout.Handout {
	g := grid.New(30, 6)
	in := g.Area().Frame([]grid.Span{{Text: "store · logs", Style: theme.Title}}, theme.Line)
	in.Text(2, 0, "┏━━━━━━━━━┓", theme.Accent)
	in.Text(2, 1, "┃", theme.Accent)
	in.Text(3, 1, "★ a  t2", theme.Good|grid.Bold)
	in.Text(12, 1, "┃", theme.Accent)
	in.Text(14, 1, "[2] :2: 世 <b>", theme.Term2)
	in.Text(2, 2, "┗━━━━━━━━━┛", theme.Accent)
	in.Text(14, 2, "▓░ sel", theme.Text|grid.Selected)
	return &handout.Handout{
		Kviz: "v1", Seed: 7,
		Lesson: &lessons.Lesson{ID: "L50", Version: 3, Title: "A write", Minutes: 3, Teaches: []string{"say what `term` means"}, Explain: []string{"term", "pod", "no such word"}},
		Beats: []handout.Beat{
			{Picture: g, Sheet: lessons.Sheet{
				ID: "guess", Kind: lessons.Predict, Title: "What now?", Chapter: "One write", Says: []string{"a has **3** entries.", "b has none."},
				Stands: trace.ID{Seq: 12}, Notes: "Ask the class.", Planned: 90 * time.Second,
				Asks: &lessons.SheetQuestion{
					Ask: "How many answer?", Form: lessons.OneOf, Choices: []string{"two", "three"}, By: trace.ID{Seq: 14, Sub: 2},
					Answers: []lessons.SheetAnswer{{Text: "two", Right: true, Why: "c is down."}, {Text: "three", Why: "One of them is down."}},
				},
			}},
			{Picture: g, Sheet: lessons.Sheet{
				ID: "crash", Kind: lessons.Do, Title: "Crash a", Chapter: "One write", Says: []string{"Crash it."},
				Commands: []lessons.SheetCommand{{Line: "kviz fault crash member/a"}, {Line: "kubectl get pods -n demo", Exit: 1}},
				Goals:    []lessons.SheetGoal{{Say: "a has crashed"}, {Say: "c too", Optional: true}},
			}},
		},
		Class: &result.Class{Lesson: "L50@3", Students: 27, Polls: []result.Poll{
			{Beat: "guess", Question: "How many answer?", Answers: []result.Answer{{Text: "two", Count: 18, Right: true}, {Text: "three", Count: 9}}},
			{Beat: "gone", Question: "And now?", Answers: []result.Answer{{Text: "yes", Count: 1}}},
		}},
	}
}

// formats are what a handout is written as.
func formats(h *handout.Handout) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{"html": h.HTML, "md": h.Markdown, "txt": h.Text}
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	h := small()
	for format, write := range formats(h) {
		got := written(t, write)
		golden := filepath.Join("testdata", "small."+format)
		if os.Getenv("KVIZ_REWRITE") == "1" {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs; KVIZ_REWRITE=1 writes it anew:\n%s", golden, got)
		}
	}
}

func TestThePage(t *testing.T) {
	h := small()
	page, err := handouttest.Read([]byte(written(t, h.HTML)))
	if err != nil {
		t.Fatal(err)
	}
	if page.Title != "L50 A write" || len(page.Beats) != 2 {
		t.Fatalf("read as %+v", page)
	}
	for _, b := range page.Beats {
		if b.Drawings != 1 || b.Texts != 1 {
			t.Errorf("beat %s has %d drawings and %d pictures as text; want one of each", b.ID, b.Drawings, b.Texts)
		}
	}
	guess := page.Beats[0]
	for _, want := range []string{"✓ two. c is down.", "✗ three. One of them is down.", "event #14.2", "18 · 67 %", "★ a  t2", "世"} {
		if !strings.Contains(guess.Folded, want) {
			t.Errorf("what is folded lacks %q:\n%s", want, guess.Folded)
		}
	}
	for _, want := range []string{"kviz open L50@3#guess", "kviz fault crash member/a", "ends with exit status 1", "c too (if you like)", "The class was also asked", "27 students took it"} {
		if !strings.Contains(page.Text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if !strings.Contains(page.Text, "pod\n") || strings.Contains(page.Text, "no such word") {
		t.Error("the words of the lesson are not those of the glossary")
	}
	if strings.Contains(page.Text, "Ask the class") || strings.Contains(page.Text, "planned") {
		t.Error("the teacher's notes are in it, though nobody asked for them")
	}
	h.Notes = true
	for format, write := range formats(h) {
		if all := written(t, write); !strings.Contains(all, "Ask the class.") || !strings.Contains(all, "planned 1m30s") {
			t.Errorf("the notes are not in the %s", format)
		}
	}
	h.Class.Lesson = "L50@2"
	for format, write := range formats(h) {
		if all := strings.ReplaceAll(written(t, write), "\\", ""); !strings.Contains(all, "The class took L50@2; this is version 3 of L50.") {
			t.Errorf("the %s does not say that the class took another version", format)
		}
	}
	h.Class = nil
	for format, write := range formats(h) {
		if all := written(t, write); strings.Contains(all, "The class") {
			t.Errorf("the %s speaks of a class that there was not", format)
		}
	}
}

// Whatever a lesson, a run or a class says is read, never obeyed: not by a browser, a terminal or a reader of Markdown.
func TestHostileTexts(t *testing.T) {
	const evil = "</pre></style><script>alert(1)</script><img src=x onerror=alert(1)>\x1b]0;title\x07\x1b[31m\u202egnp\u2066]]>&lt;\x00![x](javascript:alert(1))\n```\n# head"
	h := small()
	h.Notes = true
	l := h.Lesson
	l.Title, l.Teaches = evil, []string{evil}
	h.Beats[0].Picture.Area().Text(1, 1, evil, theme.Bad)
	for i := range h.Beats {
		s := &h.Beats[i].Sheet
		s.Title, s.Chapter, s.Says, s.Notes = evil, evil, []string{evil, "`" + evil + "`", "**" + evil + "**"}, evil
		s.Commands, s.Goals = []lessons.SheetCommand{{Line: evil}}, []lessons.SheetGoal{{Say: evil}}
		s.Asks = &lessons.SheetQuestion{Ask: evil, Form: lessons.Match, Choices: []string{evil}, Items: []string{evil}, Source: evil, Answers: []lessons.SheetAnswer{{Text: evil, Why: evil}}}
	}
	h.Class = &result.Class{Lesson: evil, Polls: []result.Poll{
		{Beat: "guess", Question: evil, Answers: []result.Answer{{Text: evil, Count: 2}}}, {Beat: evil, Question: evil, Answers: []result.Answer{{Text: evil, Right: true}}},
	}}
	for format, write := range formats(h) {
		all := written(t, write)
		if i := strings.IndexFunc(all, func(r rune) bool { return r != '\n' && unicode.IsControl(r) || unicode.In(r, unicode.Cf) }); i >= 0 {
			t.Errorf("the %s has %q", format, all[max(0, i-20):i+5])
		}
		switch format {
		case "html":
			if _, err := handouttest.Read([]byte(all)); err != nil {
				t.Errorf("the page: %v", err)
			}
		case "md":
			fence := ""
			for _, line := range strings.Split(all, "\n") {
				ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
				switch {
				case fence == "" && len(ticks) >= 3:
					fence = ticks
				case fence != "" && line == fence:
					fence = ""
				case fence == "" && (strings.Contains(line, "<script") || strings.Contains(line, "![") || strings.HasPrefix(line, "# h")):
					t.Errorf("Markdown takes a text for more than a text: %s", line)
				}
			}
			if fence != "" {
				t.Errorf("a fence is left open:\n%s", all)
			}
		}
	}
}

// Lines of boxes are drawn, not written: a browser's fonts need not have them, nor let them meet.
func TestDrawing(t *testing.T) {
	page := written(t, small().HTML)
	svg := page[strings.Index(page, "<svg"):strings.Index(page, "</svg>")]
	if strings.ContainsFunc(svg, func(r rune) bool { return r >= 0x2500 && r < 0x25a0 }) {
		t.Errorf("lines are written as letters:\n%s", svg)
	}
	for _, want := range []string{`viewBox="0 0 270 108"`, `class="h r-accent b"`, `class="l r-line"`, `>★</text>`, `textLength="18" lengthAdjust="spacingAndGlyphs">t2</text>`} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing lacks %s:\n%s", want, svg)
		}
	}
}

// A stylesheet has a class for each role that a cell may have.
func TestEveryRoleHasAColour(t *testing.T) {
	page := written(t, small().HTML)
	var none []string
	for role := range theme.Roles {
		g := grid.New(1, 1)
		g.Area().Text(0, 0, "x", role)
		h := small()
		h.Beats[0].Picture = g
		one := written(t, h.HTML)
		class := one[strings.Index(one, `<text class="r-`)+len(`<text class="`):]
		class, _, _ = strings.Cut(class, `"`)
		class, _, _ = strings.Cut(class, " ")
		if strings.Count(page, "."+class+"{") != 1 {
			none = append(none, class)
		}
	}
	if slices.Sort(none); len(none) > 0 {
		t.Errorf("no colour for %v", none)
	}
}
