package lessons_test

import (
	"context"
	"io"
	"testing"

	"kviz/assets"
	"kviz/cluster"
	"kviz/lessons"
	"kviz/raftstore/steady"
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
							if err := trial.Try(ctx, booting(ctx, l), stage.NewProof(panes.All)); err != nil {
								t.Error(err)
							}
						})
					})
				case i == 0:
					t.Run(trial.Name, func(t *testing.T) {
						steady.RealTime(t, "etcdctl and etcdutl are processes")
						trials := lessons.NewTrials(1)
						trials.Fast = true
						if err := trials.Check(t.Context(), l, booting(t.Context(), l), stage.NewProof(panes.All)); err != nil {
							t.Error(err)
						}
					})
				}
			}
		})
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
