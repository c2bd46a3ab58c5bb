package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"testing"
	"time"

	"kviz/assets"
	"kviz/cluster"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/raftstore/steady"
	"kviz/tui"
	"kviz/tui/panes"
)

// Every lesson goes to its end in lines of text, as somebody with a screen reader takes it: read, answer, run what is
// offered, go on as soon as the beat is over. All that is typed in a beat is typed at once, as it comes from a pipe.
// Each is played in a bubble, where members wait in no time; one that runs etcdctl or etcdutl, which are processes, on
// the real machine.
func TestLessonsInPlainText(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	signals := make(chan os.Signal, 1) // kubectl asks for signals; who does so first must not be in a bubble
	signal.Notify(signals, os.Interrupt)
	signal.Stop(signals)
	for _, l := range all {
		t.Run(l.ID, func(t *testing.T) {
			if l.Trials()[0].Tools {
				steady.RealTime(t, aProcess)
				playInPlainText(t, l)
				return
			}
			t.Parallel()
			steady.Bubble(t, func(t *testing.T) { playInBubble(t, l) })
		})
	}
}

// playInPlainText goes through a lesson by typing lines to kviz.
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
	out.types(typing, l)
	if err := kviz.Wait(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, out.all())
	}
}

// playInBubble goes through a lesson by typing lines, in this process.
func playInBubble(t *testing.T, l *lessons.Lesson) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, err := cluster.Boot(ctx, cluster.Config{Seed: 1, NoSync: true, Members: l.Scene.Members, Nodes: l.Scene.Nodes, Servers: l.Scene.APIServers})
	if err == nil {
		err = c.WaitReady(ctx)
	}
	if err == nil {
		err = c.Speed(10)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	player := lessons.NewPlayer(inBubble{c}, []*lessons.Lesson{l}, lessons.NewProgress(time.Now))
	defer player.Close()
	out := &heard{t: t, changed: make(chan struct{}, 1)}
	input, typing := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- tui.Run(ctx, tui.Config{
			Plain: true, Lesson: l.ID, Lessons: player, Cluster: inBubble{c}, History: view.NewHistory(c.Trace()), Input: input, Output: out,
		})
	}()
	out.types(typing, l)
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v:\n%s", err, out.all())
	}
}

// inBubble is a cluster that never goes as fast as it can: in a bubble no time would pass for its members.
type inBubble struct{ *cluster.Cluster }

func (c inBubble) Speed(x float64) error {
	if x == 0 {
		x = 40
	}
	return c.Cluster.Speed(x)
}

// types types what takes a lesson to its end, step by step.
func (h *heard) types(typing io.WriteCloser, l *lessons.Lesson) {
	say := func(format string, args ...any) { fmt.Fprintf(typing, format+"\n", args...) }
	for i, step := range l.Steps {
		h.waits(fmt.Sprintf("Beat %d of %d (%s)", i+1, len(l.Steps), step.Kind))
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
