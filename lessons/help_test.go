package lessons_test

import (
	"maps"
	"testing"
	"testing/fstest"
	"time"

	"kviz/cluster"
	"kviz/lessons"
	"kviz/raftstore/steady"
	"kviz/tui/panes"
)

// TestHelpThatWasTaken is counted by beat: hints, undos, and the goals that kviz met, while the learner is in the beat and after it.
func TestHelpThatWasTaken(t *testing.T) {
	all, err := lessons.Load(fstest.MapFS{
		"L50/lesson.md": {Data: []byte(twoGuesses)}, "L50/cleanup.sh": {Data: []byte("kubectl delete configmap one two --ignore-not-found")},
	}, panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	steady.Bubble(t, func(t *testing.T) {
		c, err := cluster.Boot(t.Context(), cluster.Config{Seed: 1, NoSync: true, Bare: true})
		if err == nil {
			err = c.WaitReady(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		p := &player{t, lessons.NewPlayer(inBubble{c}, all, lessons.NewProgress(time.Now)), c}
		defer p.Close()
		if err := p.Start("L50"); err != nil {
			t.Fatal(err)
		}
		has := func(want map[string]lessons.Help) {
			t.Helper()
			if got := p.Helped(); !maps.Equal(got, want) {
				t.Errorf("help: %+v; want %+v", got, want)
			}
		}
		p.stands("guess")
		p.does("answer 1")
		p.does("sure 3")
		p.does("next")
		has(map[string]lessons.Help{})
		p.does("hint")
		has(map[string]lessons.Help{"one": {Hints: 1}})
		p.does("again")
		p.does("hint")
		has(map[string]lessons.Help{"one": {Hints: 2, Undone: 1}})
		p.does("shown")
		has(map[string]lessons.Help{"one": {Hints: 2, Undone: 1, Shown: 1}})
		p.does("skip")
		p.stands("two")
		has(map[string]lessons.Help{"one": {Hints: 2, Undone: 1, Shown: 1}})
		p.run("kubectl create configmap two")
		p.until("two is done", func(l lessons.Look) bool { return l.CanNext && !l.Beat.Behind })
		p.does("next")
		has(map[string]lessons.Help{"one": {Hints: 2, Undone: 1, Shown: 1}})
	})
}
