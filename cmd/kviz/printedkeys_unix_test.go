//go:build unix

package main

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"kviz/raftstore/steady"
)

// The way from the start screen to a lost quorum and back, as testdata/walks/to-a-lost-quorum.txt tells it: a person who only presses
// what stands on the screen gets there, and reads on the way what happens.
func TestALostQuorumByPrintedKeys(t *testing.T) {
	steady.RealTime(t, aTerminal)
	story, err := os.ReadFile("testdata/walks/to-a-lost-quorum.txt")
	if err != nil {
		t.Fatal(err)
	}
	w := &reader{terminal: begin(t, t.TempDir(), 80, 24), names: map[string]string{}}
	w.listen()
	for line := range strings.Lines(string(story)) {
		does, what, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || does == "#" {
			continue
		}
		if what = w.named(what); t.Failed() {
			return
		}
		member, isMember := strings.CutPrefix(what, "choose the member ")
		label, isChoice := strings.CutPrefix(what, "choose ")
		switch {
		case does == "=":
			w.tells(what)
		case does == "~":
			w.sees(what)
		case isMember:
			w.chooseMember(member)
		case isChoice:
			w.choose(label)
		default:
			key, text, _ := strings.Cut(what, ": ")
			w.sees(text).press(key)
		}
	}
}

// toldRow is the row of the sentence below the picture, on a screen of 24 rows.
const toldRow = 20

// reader is a terminal on which somebody reads along.
type reader struct {
	*terminal
	names map[string]string // members by their part in the story

	mu   sync.Mutex
	told []string // what was told below the picture
	read int      // so much of it was waited for
}

// listen looks at the row of sentences until the test ends.
func (w *reader) listen() {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			rows := strings.Split(w.text(), "\n")
			if len(rows) <= toldRow {
				continue
			}
			row := strings.TrimSpace(rows[toldRow])
			w.mu.Lock()
			if n := len(w.told); !w.t.Failed() && row != "" && (n == 0 || w.told[n-1] != row) {
				w.told = append(w.told, row)
			}
			w.mu.Unlock()
		}
	}()
	w.t.Cleanup(func() {
		close(stop)
		<-stopped
		w.t.Logf("told on the way:\n%s", strings.Join(w.told, "\n"))
	})
}

// tells waits until something is told, after what was waited for before. The end of a long sentence may be cut.
func (w *reader) tells(what string) {
	w.t.Helper()
	w.until("it was never told", func(string) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for i, row := range w.told[min(w.read, len(w.told)):] {
			whole, isCut := strings.CutSuffix(row, "…")
			_, begun, hasID := strings.Cut(whole, " ")
			if strings.Contains(row, what) || isCut && hasID && len(begun) > 30 && strings.HasPrefix(what, begun) {
				w.read += i
				return true
			}
		}
		return false
	}, []string{what})
}

// named puts names into a line. A member gets its part in the story as it is first spoken of.
func (w *reader) named(line string) string {
	w.t.Helper()
	for _, part := range []string{"first", "second", "third"} {
		if !strings.Contains(line, "{"+part+"}") {
			continue
		}
		if w.names[part] == "" {
			w.names[part] = w.member(part)
		}
		line = strings.ReplaceAll(line, "{"+part+"}", w.names[part])
	}
	return line
}

func (w *reader) member(part string) (name string) {
	w.t.Helper()
	if part == "third" {
		return strings.Trim("abc", w.names["first"]+w.names["second"])
	}
	w.until("no other member leads", func(text string) bool {
		if m := leads.FindStringSubmatch(text); m != nil {
			name = m[1]
		}
		return name != "" && name != w.names["first"]
	}, []string{leads.String()})
	return name
}

// choose goes down in a menu to a line and chooses it.
func (w *reader) choose(label string) {
	w.t.Helper()
	before := ""
	for range 60 {
		w.until("the menu does not move from", func(text string) bool {
			row := underCursor(text)
			return row != "" && row != before
		}, []string{before})
		if before = underCursor(w.text()); strings.Contains(before, label) {
			w.sees("⏎ choose").press("enter")
			return
		}
		w.sees("↑↓ move").press("down")
	}
	w.t.Fatalf("the menu has no %q:\n%s", label, w.text())
}

// underCursor is the line of a menu that the cursor is on. The screen is read while it is written, so the cursor may stand on
// two lines or on none for a moment: then it is "".
func underCursor(text string) (line string) {
	for row := range strings.Lines(text) {
		_, rest, ok := strings.Cut(row, "│▸ ")
		switch {
		case !ok:
		case line != "":
			return ""
		default:
			line = rest
		}
	}
	return line
}

// chooseMember makes the menu of faults that of a member: it is that of what is under the cursor.
func (w *reader) chooseMember(name string) {
	w.t.Helper()
	w.sees("Break or mend")
	if strings.Contains(w.text(), "Break or mend member "+name) {
		return
	}
	if !strings.Contains(w.text(), "Break or mend what?") {
		w.choose("omething else")
		w.sees("Break or mend what?")
	}
	w.choose("member " + name)
	w.sees("Break or mend member " + name)
}
