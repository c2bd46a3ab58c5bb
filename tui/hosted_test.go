package tui

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"kviz/cluster/view"
	"kviz/tui/tuitest"
)

// An explorer on somebody else's terminal is told its size and what there is to say, and the person goes back with one key
// when they are called; what they were typing stands there when they come again.
func TestAnExplorerThatIsCalledBack(t *testing.T) {
	c := tuitest.NewCluster(tuitest.Story(), 300)
	h := view.NewHistory(c.Trace())
	draft := ""
	visit := func(keys ...any) error {
		term := newTerminal(120, 40)
		from, done := make(chan tea.Msg), make(chan error, 1)
		var m *Explorer
		wide := 80
		go func() {
			done <- Run(t.Context(), Config{
				Cluster: c, History: h, Theme: "dark", Remote: true, Leaves: "back to the class", Input: term.in, Output: term,
				Environ: plainTerminal, Size: [2]int{80, 24}, Messages: from, Typed: &draft, done: func(e *Explorer) { m = e },
			})
		}()
		term.await(t, "PAUSED")
		for _, k := range keys {
			switch k := k.(type) {
			case tea.WindowSizeMsg:
				wide = k.Width
				from <- k
			case tea.Msg:
				if text, is := k.(string); is {
					if text, is = strings.CutPrefix(text, "see:"); is {
						term.await(t, text)
						continue
					}
					if _, err := term.typ.Write([]byte(text)); err != nil {
						t.Fatal(err)
					}
					continue
				}
				from <- k
			}
		}
		err := <-done
		if m == nil {
			t.Fatal("no explorer")
		}
		if m.frame.Width() != wide {
			t.Errorf("the explorer has %d columns, the terminal %d", m.frame.Width(), wide)
		}
		return err
	}
	err := visit(tea.WindowSizeMsg{Width: 120, Height: 40}, Told{"the hall says something"}, "see:the hall says something",
		":echo what is mine", "see:echo what is mine", Called{By: "Ada", Text: "Your run stays for ten minutes."}, "see:Ada calls everybody back", "\r")
	if !errors.Is(err, ErrCalled) {
		t.Fatalf("called back, and it ends with %v", err)
	}
	if draft != "echo what is mine" {
		t.Errorf("what was typed is %q", draft)
	}
	if err := visit("see:echo what is mine", "\x03", "\x03", "\x03"); err != nil {
		t.Fatal(err)
	}
}

// A terminal of another machine has the colours that its environment names, 256 at most: that its output is no terminal here
// says nothing of it.
func TestARemoteTerminalHasItsColours(t *testing.T) {
	for term, want := range map[string]colorprofile.Profile{"xterm-256color": colorprofile.ANSI256, "dumb": colorprofile.NoTTY} {
		if got, ok := profile(Config{Remote: true, Environ: []string{"TERM=" + term}}, false); !ok || got != want {
			t.Errorf("TERM=%s: %v, want %v", term, got, want)
		}
	}
	if got, _ := profile(Config{Remote: true, Environ: []string{"TERM=xterm", "COLORTERM=truecolor"}}, false); got != colorprofile.ANSI256 {
		t.Errorf("of 16 million colours %v are written", got)
	}
}
