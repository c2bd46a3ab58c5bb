package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"kviz/assets"
	"kviz/lessons"
	"kviz/raftstore/steady"
	"kviz/tui/panes"
)

// Lessons go to their end in lines of text, as somebody with a screen reader takes them: read,
// answer, type what the lesson's own solution does next until the step is done. Each of these
// has something that the other lacks: L09 questions of every form, goals that must hold for a
// while and an outage, L30b an API that is away.
func TestLessonsInPlainText(t *testing.T) {
	steady.RealTime(t, aProcess)
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if !slices.Contains([]string{"L09", "L30b"}, l.ID) {
			continue
		}
		t.Run(l.ID, func(t *testing.T) {
			playInPlainText(t, l)
		})
	}
}

// playInPlainText goes through a lesson by typing lines.
func playInPlainText(t *testing.T, l *lessons.Lesson) {
	home := t.TempDir()
	out := &heard{t: t, changed: make(chan struct{}, 1)}
	kviz := exec.CommandContext(t.Context(), "kviz", "lesson", "start", l.ID, "--plain", "--speed", "10")
	kviz.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, "XDG_RUNTIME_DIR="+home, "XDG_STATE_HOME="+home)
	kviz.Stdout, kviz.Stderr = out, out
	typing, err := kviz.StdinPipe()
	if err == nil {
		err = kviz.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	say := func(format string, args ...any) { fmt.Fprintf(typing, format+"\n", args...) }
	for i, step := range l.Steps {
		out.waits(fmt.Sprintf("Step %d of %d (%s)", i+1, len(l.Steps), step.Kind))
		if q := step.Question; q != nil && (q.Form() == lessons.Count || q.Form() == lessons.Point) {
			say("2")
		} else if q != nil {
			for _, n := range l.Keys(step, 0) {
				say("%d", n)
			}
		}
		if step.Acts() && len(step.Goals) > 0 && step.Kind != lessons.Free {
			for range step.Offers {
				say("run")
			}
		}
		if i+1 < len(l.Steps) {
			say("wait")
		}
	}
	typing.Close()
	if err := kviz.Wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, out.all())
	}
}

// heard is what was written so far.
type heard struct {
	t       *testing.T
	mu      sync.Mutex
	text    strings.Builder
	from    int // where the present step begins
	changed chan struct{}
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(b)
	select {
	case h.changed <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (h *heard) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// waits until a text is written.
func (h *heard) waits(text string) {
	h.t.Helper()
	end := time.After(steady.Patience(h.t))
	for {
		all := h.all()
		if i := strings.Index(all[h.from:], text); i >= 0 {
			h.from += i + len(text)
			return
		}
		select {
		case <-h.changed:
		case <-end:
			h.t.Fatalf("never %q; it says:\n%s", text, all)
		}
	}
}
