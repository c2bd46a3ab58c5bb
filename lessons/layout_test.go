package lessons_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"kviz/assets"
	"kviz/lessons"
	"kviz/tui/panes"
)

// TestNoKeyKnowsTheAnswer presses the same key at every question of every lesson, as a hundred learners: each
// key is right as often as chance has it, and makes nobody a perfect pupil.
func TestNoKeyKnowsTheAnswer(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	const learners = 100
	for key := 1; key <= 2; key++ {
		asked, right, chance := 0, 0, 0.0
		for seed := range uint64(learners) {
			wrong := 0
			for _, l := range all {
				for _, step := range l.Steps {
					if q := step.Question; q == nil || q.Form() != lessons.OneOf {
						continue
					}
					asked++
					chance += 1 / float64(len(step.Question.Choices))
					if l.Keys(step, seed)[0] == key {
						right++
					} else {
						wrong++
					}
				}
			}
			if wrong == 0 {
				t.Errorf("key %d is right everywhere for learner %d", key, seed)
			}
		}
		if off := float64(right) / chance; off < 0.9 || off > 1.1 {
			t.Errorf("key %d is right at %d of %d questions; chance makes %.0f", key, right, asked, chance)
		}
	}
}

// TestCardsNeverLieInTheRightOrder looks at every question of order as a hundred learners see it.
func TestCardsNeverLieInTheRightOrder(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		for _, step := range l.Steps {
			if step.Question == nil || step.Question.Form() != lessons.Order {
				continue
			}
			ways := map[string]bool{}
			for seed := range uint64(100) {
				keys := fmt.Sprint(l.Keys(step, seed))
				if ways[keys] = true; keys == "[1 2 3 4]" || keys == "[1 2 3 4 5]" || keys == "[1 2 3 4 5 6]" {
					t.Errorf("%s, %s: 1, 2, 3 … is right for learner %d", l.ID, step.ID, seed)
				}
			}
			if len(ways) < 5 {
				t.Errorf("%s, %s: a hundred learners see %d orders", l.ID, step.ID, len(ways))
			}
		}
	}
}

// TestTheOrderOfAnswersIsKept begins kviz twice: what a learner sees in one place stands there the next time.
func TestTheOrderOfAnswersIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "progress.json")
	p, err := lessons.LoadProgress(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := lessons.Shuffles(p); err != nil || p.Seed == 0 {
		t.Fatalf("the seed is %d: %v", p.Seed, err)
	}
	q, err := lessons.LoadProgress(path)
	if err == nil {
		err = lessons.Shuffles(q)
	}
	if err != nil || q.Seed != p.Seed {
		t.Errorf("the seed was %d and is %d: %v", p.Seed, q.Seed, err)
	}
}
