package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"kviz/cluster/control"
	"kviz/cluster/view"
	"kviz/lessons"
	"kviz/tui/tuitest"
)

// Plain mode tells what the explanation line tells, and the same of a recording: a few sentences of hundreds of events.
func TestPlainTellsWhatMatters(t *testing.T) {
	tape := tuitest.Story()
	var out bytes.Buffer
	if err := Run(context.Background(), Config{History: view.NewHistory(tape.Stream), Plain: true, Recording: "story", Output: &out}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsRune(out.String(), '\x1b') {
		t.Fatal("plain output has escape sequences")
	}
	tuitest.Golden(t, "plain-told", out.String())
	if n := strings.Count(out.String(), "\n"); n > int(tape.Stream.Len())/8 {
		t.Errorf("%d lines for %d events", n, tape.Stream.Len())
	}
}

// shell is a cluster whose console writes down what is run while something else is.
type shell struct {
	Cluster
	mu      sync.Mutex
	running int
	ran     []string
}

func (s *shell) Exec(_ context.Context, line string, io control.Streams) int {
	s.mu.Lock()
	s.running++
	if s.running > 1 {
		line = "not waited for: " + line
	}
	s.ran = append(s.ran, line)
	s.mu.Unlock()
	fmt.Fprintln(io.Out, "this is "+line)
	s.mu.Lock()
	s.running--
	s.mu.Unlock()
	if line == "false" {
		return 1
	}
	return 0
}

// What comes from a pipe is run line by line, each after the one before, once there is a cluster; it ends where the pipe
// does, or with quit.
func TestPlainTakesCommandsFromAPipe(t *testing.T) {
	for name, typed := range map[string]string{
		"to its end": "kubectl get nodes\n\nfalse\n",
		"to quit":    "kubectl get nodes\nfalse\nquit\nkubectl get pods\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := tuitest.NewCluster(tuitest.Story(), -1)
			s := &shell{Cluster: c}
			var out bytes.Buffer
			err := Run(t.Context(), Config{
				History: view.NewHistory(c.Trace()), Plain: true, Input: strings.NewReader(typed), Output: &out,
				Booting: func(context.Context, func(string)) (Cluster, error) { return s, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.ran, "; "); got != "kubectl get nodes; false" {
				t.Errorf("it ran %q", got)
			}
			inOrder(t, out.String(), "$ kubectl get nodes\n", "this is kubectl get nodes\n", "$ false\n", "The command ended with exit status 1.\n")
			inOrder(t, out.String(), "has a majority of the votes and leads")
		})
	}
}

// That the cluster could not start ends it, whatever is still typed.
func TestPlainWithoutACluster(t *testing.T) {
	in, _ := io.Pipe()
	defer in.Close()
	err := Run(t.Context(), Config{
		History: view.NewHistory(tuitest.NewTape().Stream), Plain: true, Input: in, Output: io.Discard,
		Booting: func(context.Context, func(string)) (Cluster, error) { return nil, errors.New("port 6443 is taken") },
	})
	if err == nil || !strings.Contains(err.Error(), "could not start: port 6443 is taken") {
		t.Errorf("it ends with %v", err)
	}
}

// wrongTurn is a lesson in which the first command goes wrong, so that the cluster stands until that is undone.
type wrongTurn struct {
	oneLesson
	mu     sync.Mutex
	begun  bool
	undone chan struct{}
}

func (l *wrongTurn) Look() lessons.Look {
	l.mu.Lock()
	defer l.mu.Unlock()
	look := lessons.Look{Active: true, ID: "L50", Step: 1, Steps: 1, Kind: lessons.Do, Beat: &lessons.BeatLook{Before: "Do it."}}
	select {
	case <-l.undone:
	default:
		if l.begun {
			look.Beat.Mistake = "that was the wrong one"
		}
	}
	return look
}

func (l *wrongTurn) Start(string) error { return nil }

func (l *wrongTurn) Do(action string) error {
	if action == "again" {
		close(l.undone)
	}
	return nil
}

// waiting is a cluster whose console answers nothing before the mistake is undone.
type waiting struct {
	Cluster
	lesson *wrongTurn
}

func (w waiting) Exec(context.Context, string, control.Streams) int {
	w.lesson.mu.Lock()
	w.lesson.begun = true
	w.lesson.mu.Unlock()
	<-w.lesson.undone
	return 1
}

// A line behind a command that waits for a cluster which stands is refused with what helps, and the lines after it are
// heard: nobody hangs there.
func TestPlainLessonSaysThatTheClusterStands(t *testing.T) {
	l := &wrongTurn{undone: make(chan struct{})}
	c := tuitest.NewCluster(tuitest.Story(), -1)
	var out bytes.Buffer
	err := Run(t.Context(), Config{
		History: view.NewHistory(c.Trace()), Plain: true, Lesson: "L50", Lessons: l, Cluster: waiting{c, l}, Output: &out,
		Input: strings.NewReader("kubectl wait pod\nkubectl get pods\nundo\nquit\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	inOrder(t, out.String(), "Not what the beat needs: that was the wrong one", `"undo" or "skip" first. Not done: kubectl get pods`)
}
