package lessons_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"kviz/assets"
	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/raftstore/steady"
	"kviz/tui/handout"
	"kviz/tui/handout/handouttest"
	"kviz/tui/panes"
	"kviz/tui/stage"
)

// Every proof of every lesson, each in a bubble: whatever the members of the store wait for takes
// no time, and they elect when the lesson has them elect, not when the machine is busy. A proof
// that runs etcdctl or etcdutl, which are processes, needs the real machine; of these only the
// lessons' own ways are here. `kviz lesson check` makes all proofs in real time.
func TestLessonsHold(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		t.Run(l.ID, func(t *testing.T) {
			for i, trial := range l.Trials() {
				switch {
				case !trial.Tools:
					t.Run(trial.Name, func(t *testing.T) {
						t.Parallel()
						steady.Bubble(t, func(t *testing.T) {
							ctx, cancel := context.WithCancel(t.Context())
							defer cancel()
							marking := &lessons.Marking{Screen: stage.NewProof(panes.All)}
							if err := trial.Try(ctx, booting(ctx, l), marking); err != nil {
								t.Error(err)
							} else if i == 0 {
								takenHome(t, l, marking)
							}
						})
					})
				case i == 0:
					t.Run(trial.Name, func(t *testing.T) {
						steady.RealTime(t, "etcdctl and etcdutl are processes")
						trials := lessons.NewTrials(1)
						trials.Fast = true
						marking := &lessons.Marking{Screen: stage.NewProof(panes.All)}
						if err := trials.Check(t.Context(), l, booting(t.Context(), l), marking); err != nil {
							t.Error(err)
						} else {
							takenHome(t, l, marking)
						}
					})
				}
			}
		})
	}
}

// takenHome makes a handout of the way that a lesson was proven by: a page that is whole, on which each beat has its
// picture and every question its answer, folded.
func takenHome(t *testing.T, l *lessons.Lesson, m *lessons.Marking) {
	t.Helper()
	var events []*trace.Event
	for at, end := uint64(0), m.Stream.Len(); at < end; {
		some, next, lost := m.Stream.Read(at, 4096)
		if lost > 0 {
			t.Fatalf("%d events have left memory", lost)
		}
		events, at = append(events, some...), next
	}
	stills := stage.NewStills(panes.All, 80, 24)
	sheets, err := l.Sheets(events, &m.Marks, stills)
	if err != nil {
		t.Fatal(err)
	}
	h := &handout.Handout{Lesson: l, Notes: true}
	for _, s := range sheets {
		h.Beats = append(h.Beats, handout.Beat{Sheet: s, Picture: stills.Of(s.ID)})
	}
	var out bytes.Buffer
	if err := h.HTML(&out); err != nil {
		t.Fatal(err)
	}
	page, err := handouttest.Read(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Beats) != len(l.Steps) {
		t.Fatalf("the page has %d beats, the lesson %d", len(page.Beats), len(l.Steps))
	}
	for i, b := range page.Beats {
		s := sheets[i]
		if b.ID != l.Steps[i].ID || b.Drawings != 1 || b.Texts != 1 {
			t.Errorf("the page has %q with %d drawings where beat %q is", b.ID, b.Drawings, l.Steps[i].ID)
		}
		if b.Asks != (l.Steps[i].Question != nil) {
			t.Errorf("beat %q: asks %v", s.ID, b.Asks)
		}
		if s.Asks != nil && !strings.Contains(b.Folded, "✓") {
			t.Errorf("beat %q: no answer is right:\n%s", s.ID, b.Folded)
		}
	}
}

// What lessons say is true for somebody who takes ten seconds for each command, too: these have requests that wait, elections
// and deletions. lesson check --slow is for the others.
func TestLessonsAreTrueAtALearnersSpeed(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	slow := map[string]bool{"L01": true, "L09": true, "L29": true}
	for _, l := range all {
		if !slow[l.ID] {
			continue
		}
		delete(slow, l.ID)
		t.Run(l.ID, func(t *testing.T) {
			t.Parallel()
			steady.Bubble(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if err := l.Unhurried().Try(ctx, booting(ctx, l), stage.NewProof(panes.All)); err != nil {
					t.Error(err)
				}
			})
		})
	}
	if len(slow) > 0 {
		t.Errorf("there are no lessons %v", slow)
	}
}

// booting boots clusters for a lesson.
func booting(ctx context.Context, l *lessons.Lesson) lessons.Boot {
	return func() (lessons.Cluster, io.Closer, error) {
		c, err := cluster.Boot(ctx, cluster.Config{Seed: 1, NoSync: true, Members: l.Scene.Members, Nodes: l.Scene.Nodes})
		if err != nil {
			return nil, nil, err
		}
		if err := c.WaitReady(ctx); err != nil {
			c.Close()
			return nil, nil, err
		}
		return c, c, nil
	}
}
