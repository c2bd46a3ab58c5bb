package grid

import (
	"strings"
	"testing"
)

func TestOneSequenceARun(t *testing.T) {
	g := New(12, 2)
	a := g.Area()
	a.Text(0, 0, "ab", 1)
	a.Text(2, 0, "cd", 2)
	a.Text(0, 1, "x", 0)
	got := g.Render(func(s Style) string {
		if s == 0 {
			return ""
		}
		return "<" + string(rune('0'+s)) + ">"
	})
	if want := "<1>ab\x1b[m<2>cd\x1b[m\nx"; got != want {
		t.Fatalf("got  %q\nwant %q", got, want)
	}
}

func TestWideRunesAreNeverHalved(t *testing.T) {
	g := New(6, 1)
	a := g.Area()
	a.Text(0, 0, "世界", 0)
	a.Text(1, 0, "x", 0) // over the right half of the first
	if got := g.Plane(); got != " x界\n" {
		t.Fatalf("%q", got)
	}
	a.Clear()
	a.Text(0, 0, "abcde世", 0)
	if got := g.Plane(); got != "abcde…\n" {
		t.Fatalf("a wide rune in the last column: %q", got)
	}
}

// What does not fit is never lost without a mark.
func TestCutsAreMarked(t *testing.T) {
	for _, c := range []struct {
		spans []string
		want  string
	}{
		{[]string{"abcdef"}, "abcdef"},
		{[]string{"abcdefg"}, "abcde…"},
		{[]string{"abc", "defg"}, "abcde…"},
		{[]string{"abcdef", "g"}, "abcde…"},
		{[]string{"abcdef", " "}, "abcdef"},
		{[]string{"abcdef "}, "abcdef"},
	} {
		g := New(6, 1)
		var spans []Span
		for _, s := range c.spans {
			spans = append(spans, Span{Text: s})
		}
		g.Area().Spans(0, 0, spans...)
		if got := strings.TrimRight(g.Plane(), "\n"); got != c.want {
			t.Errorf("%q are drawn %q, want %q", c.spans, got, c.want)
		}
	}
}

func TestAreasClip(t *testing.T) {
	g := New(10, 3)
	sub := g.Area().Sub(2, 1, 4, 1)
	sub.Text(-1, 0, "abcdefgh", 0)
	sub.Text(0, 1, "below", 0)
	sub.Sub(3, 0, 9, 9).Fill('#', 0)
	if got := strings.Split(g.Plane(), "\n")[1]; got != "  bcd#" {
		t.Fatalf("%q", got)
	}
}

func TestNoEmojiNoControl(t *testing.T) {
	if got := Clean("a\x1b[31mb\r\n😀\u200d✔️\u202ez"); strings.ContainsAny(got, "\x1b\r\n\u200d\ufe0f\u202e😀") {
		t.Fatalf("%q", got)
	}
	if Width("⏎▸●◐○◌✗✓★◇▾─╭▓░┊") != 16 {
		t.Fatal("a glyph of ours is not one column wide")
	}
}

func TestLines(t *testing.T) {
	got := Lines("the quick brown fox averyverylongword", 10)
	if strings.Join(got, "|") != "the quick|brown fox|averyveryl|ongword" {
		t.Fatalf("%q", got)
	}
}
