package door

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// What students call themselves, and what the others see.
func TestClean(t *testing.T) {
	for typed, want := range map[string]string{
		"mira":                          "mira",
		"  Anna  Lena ":                 "Anna-Lena",
		"\x1b[31mred\x1b[0m":            "red",
		"\x1b]0;title\x07bo":            "bo",
		"a\u202eb\u2066c\u200bd\ufeffe": "abcde",
		"ivo\U0001f600":                 "ivo",
		"\U0001f468\u200d\U0001f469\u200d\U0001f467": "",
		"שלום":                              "שלום",
		"张伟张伟张伟张伟":                          "张伟张伟张伟",
		"A!\u0301":                          "\u00c1",
		"ｍｉｒａ":                              "mira",
		"e\u0301ric":                        "éric",
		"z" + strings.Repeat("\u0301", 100): "\u017a\u0301\u0301",
		"\u3164\u115f":                      "",
		"../../etc/passwd":                  "etcpasswd",
		"=cmd|' /C calc'!A0":                "cmd-C-calcA0",
		"<script>x":                         "scriptx",
		"a\x00b\nc\td":                      "ab-c-d",
		"\xff\xfe":                          "",
		"averylongnameindeed":               "averylonname",
		strings.Repeat("\x1b[", 1<<19):      "",
		strings.Repeat("mira ", 1<<18):      "mira-mira-mi",
		"-._x_.-":                           "x",
	} {
		if want == "averylonname" {
			want = "averylongnam"
		}
		if got := Clean(typed); got != want {
			t.Errorf("%.40q becomes %q, not %q", typed, got, want)
		}
	}
}

// safe says what is wrong with a name on somebody's screen.
func unsafe(name string) error {
	if w := ansi.StringWidth(name); w > maxName {
		return fmt.Errorf("it has %d columns", w)
	}
	if !utf8.ValidString(name) || name != ansi.Strip(name) {
		return fmt.Errorf("it is no plain text")
	}
	for _, r := range name {
		if unicode.In(r, unicode.C, unicode.Z, unicode.S, unicode.Other_Default_Ignorable_Code_Point, unicode.Bidi_Control) || unicode.IsPunct(r) && !strings.ContainsRune("-_.", r) {
			return fmt.Errorf("it has %U", r)
		}
	}
	if name != Clean(name) {
		return fmt.Errorf("it would be cleaned to %q", Clean(name))
	}
	return nil
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"mira", "\x1b[31mred", "a\u202eb", "张伟", "e\u0301", "\U0001f600", "-.-", "ﷺ", "İ", "ß", "각"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		if err := unsafe(Clean(typed)); err != nil {
			t.Errorf("%q becomes %q: %v", typed, Clean(typed), err)
		}
		n := newNames([]string{"ada"})
		a, _ := n.take(typed, "", "", &caller{addr: "10.0.0.1"})
		b, _ := n.take(typed, "", "", &caller{addr: "10.0.0.2"})
		if compared(a.name) == compared(b.name) || a.name == "" || b.name == "" {
			t.Errorf("%q makes %q and %q", typed, a.name, b.name)
		}
		for _, name := range []string{a.name, b.name} {
			if err := unsafe(name); err != nil {
				t.Errorf("%q becomes %q: %v", typed, name, err)
			}
		}
	})
}

// Names are remembered, but not without bound; those in use are never forgotten.
func TestNamesAreBounded(t *testing.T) {
	n := newNames(nil)
	in := &caller{addr: "10.0.0.1"}
	first, _ := n.take("mira", "", "", in)
	for i := range 3 * keptNames {
		c := &caller{addr: "10.0.0.2"}
		cl, no := n.take(fmt.Sprint("s", i), "", "", c)
		if no != "" {
			t.Fatal(no)
		}
		cl.leave(c)
	}
	if len(n.claims) != keptNames || len(n.order) != keptNames {
		t.Errorf("%d names are kept, %d in order", len(n.claims), len(n.order))
	}
	if n.claims["mira"] != first {
		t.Error("a name in use was forgotten")
	}
	for i := range 150 {
		if cl, no := n.take("student", "", "", &caller{addr: "10.0.0.3"}); no != "" || i > 0 && cl.name != "student-"+fmt.Sprint(i+1) {
			t.Fatalf("student %d is %v %s", i, cl, no)
		}
	}
}

// Guesses are counted for an address, for a network of IPv6, and without bound on memory.
func TestGuesses(t *testing.T) {
	g := newGuesses()
	for range triesPerMinute {
		if g.try("2001:db8::1") < 0 {
			t.Fatal("too few tries")
		}
	}
	if g.try("2001:db8::2") >= 0 || g.try("2001:db8:0:1::1") < 0 || g.try("10.0.0.1") < 0 {
		t.Error("a network of IPv6 is not one address")
	}
	for i := range 2 * watchedAddresses {
		g.try(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
	}
	if len(g.tried) > watchedAddresses+1 {
		t.Errorf("%d addresses are kept", len(g.tried))
	}
	if g.try("192.0.2.1") >= 0 {
		t.Error("beyond the addresses that are kept apart, guesses are not counted")
	}
	for _, times := range g.tried {
		for i := range times {
			times[i] = times[i].Add(-2 * time.Minute)
		}
	}
	g.swept = time.Time{}
	if g.try("192.0.2.1") < 0 || len(g.tried) > watchedAddresses {
		t.Error("what is old is not forgotten")
	}
}
