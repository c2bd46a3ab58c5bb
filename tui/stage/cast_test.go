package stage_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"

	"kviz/lessons"
	"kviz/tui/panes"
	"kviz/tui/stage"
	"kviz/tui/theme"
)

// A cast shows a beat as the stage does: what a terminal has at its end is what frames prints of the beat,
// before that there were the beat's changes, and between two beats nothing else is written.
func TestACast(t *testing.T) {
	p := begin(t, aWrite("a"))
	var want bytes.Buffer
	frames := stage.NewFrames(panes.All, 80, 24, &want)
	whole, part := stage.NewCast(panes.All, 80, 24, theme.Named("none"), "", "guess"), stage.NewCast(panes.All, 80, 24, theme.Named("none"), "on-disk", "on-disk")
	for _, beat := range []string{"members", "on-disk", "guess", "committed"} {
		p.runs()
		look := p.look()
		if look.Beat.ID != beat {
			t.Fatalf("the beat is %q, want %q", look.Beat.ID, beat)
		}
		want.Reset()
		for _, screen := range []lessons.Screen{frames, whole, part} {
			if _, err := screen.Prove(look, p.history); err != nil {
				t.Fatal(err)
			}
		}
		if beat == "guess" {
			screens, lasts := played(t, whole)
			if end := screens[len(screens)-1]; !strings.Contains(want.String(), end) {
				t.Errorf("it ends with\n%s\nwant\n%s", end, want.String())
			}
			if lasts < 5*time.Second {
				t.Errorf("three beats take %s: nobody reads so fast", lasts)
			}
		}
		for _, does := range map[string][]string{"members": {"next"}, "on-disk": {"next"}, "guess": {"answer 1", "next"}}[beat] {
			if err := p.player.Do(does); err != nil {
				t.Fatal(err)
			}
		}
	}
	screens, _ := played(t, part)
	sameInBoth(t, part)
	all := strings.Join(screens, "\n")
	if strings.Contains(all, "beat 1 of") || strings.Contains(all, "beat 3 of") || !strings.Contains(all, "beat 2 of") {
		t.Errorf("on-disk alone was asked for:\n%s", all)
	}
	if changes := strings.Count(all, "↻ shows"); changes < 2 {
		t.Errorf("its changes are seen %d times:\n%s", changes, all)
	}
	if err := stage.NewCast(panes.All, 80, 24, theme.Named("none"), "", "").Write(&want, stage.CastV2); err == nil {
		t.Error("a cast of nothing is written")
	}
}

// played are the screens of a terminal that plays a cast, and how long that takes.
func played(t *testing.T, c *stage.Cast) (screens []string, lasts time.Duration) {
	t.Helper()
	var out bytes.Buffer
	if err := c.Write(&out, stage.CastV2); err != nil {
		t.Fatal(err)
	}
	terminal := vt.NewEmulator(80, 24)
	for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if i == 0 {
			if !strings.Contains(line, `"version":2,"width":80,"height":24,"title":"L50 A write"`) {
				t.Errorf("it begins with %s", line)
			}
			continue
		}
		var e [3]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		at := time.Duration(e[0].(float64) * float64(time.Second))
		if at < lasts {
			t.Errorf("time goes back from %s to %s", lasts, at)
		}
		lasts = at
		if e[1] != "o" { // a marker
			continue
		}
		if _, err := terminal.WriteString(e[2].(string)); err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, row := range strings.Split(terminal.String(), "\n") {
			rows = append(rows, strings.TrimRight(row, " "))
		}
		screens = append(screens, strings.Join(rows, "\n"))
	}
	return screens, lasts
}

// sameInBoth reads a cast in both formats by what asciinema publishes of them: a head, then events in three parts, in the
// second format with the time since the beginning, in the third with that since the event before, and the exit status at the end.
func sameInBoth(t *testing.T, c *stage.Cast) {
	t.Helper()
	read := func(format string) (head map[string]any, events [][3]any) {
		var out bytes.Buffer
		if err := c.Write(&out, format); err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			var e [3]any
			var into any = &e
			if i == 0 {
				into = &head
			}
			if err := json.Unmarshal([]byte(line), into); err != nil {
				t.Fatalf("%s: %v: %s", format, err, line)
			}
			if i > 0 {
				events = append(events, e)
			}
		}
		return head, events
	}
	head2, events2 := read(stage.CastV2)
	head3, events3 := read(stage.CastV3)
	term, _ := head3["term"].(map[string]any)
	if head2["version"] != 2.0 || head3["version"] != 3.0 || term["cols"] != head2["width"] || term["rows"] != head2["height"] || head3["width"] != nil || head3["title"] != head2["title"] {
		t.Errorf("the heads are %v and %v", head2, head3)
	}
	if end := events3[len(events3)-1]; end[1] != "x" || end[2] != "0" || len(events3) != len(events2)+1 {
		t.Fatalf("%d events, then %v; the second format has %d", len(events3), end, len(events2))
	}
	at, markers := 0.0, 0
	for i, e := range events2 {
		at += events3[i][0].(float64)
		if e[1] != events3[i][1] || e[2] != events3[i][2] || math.Abs(at-e[0].(float64)) > 1e-6 {
			t.Errorf("event %d is %v, and %v at %.3f", i, e, events3[i], at)
		}
		if e[1] == "m" {
			markers++
		}
	}
	if markers != 1 {
		t.Errorf("%d markers for one beat", markers)
	}
}
