package stage_test

import (
	"os"
	"slices"
	"strconv"
	"testing"

	"kviz/lessons"
)

// smallLesson is the lesson that is played here.
func smallLesson(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/lesson.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// asLearner is the progress of somebody whose answers are laid out by a seed.
func asLearner(seed uint64) *lessons.Progress {
	p := lessons.NewProgress(aDay)
	p.Seed = seed
	return p
}

// answers chooses what begins with a text, wherever it stands.
func (p *play) answers(text string) {
	p.t.Helper()
	n := slices.IndexFunc(p.look().Choices, func(c lessons.ChoiceLook) bool { return c.Text == text })
	if n < 0 {
		p.t.Fatalf("%q is not among %v", text, p.look().Choices)
	}
	p.press(strconv.Itoa(n + 1))
}

// goesTo goes on until a beat, doing what is offered and answering nothing.
func (p *play) goesTo(beat string) {
	p.t.Helper()
	for range 20 {
		p.runs()
		if p.look().Beat.ID == beat {
			return
		}
		p.press(" ")
	}
	p.t.Fatalf("it never comes to %s, but to %s", beat, p.look().Beat.ID)
}

// TestAnswersAreTakenAsTheyStand chooses by the key that stands before an answer: learners see them in either
// order, and each is judged by what they chose.
func TestAnswersAreTakenAsTheyStand(t *testing.T) {
	const right, wrong = "It is committed, though one member lacks it", "It waits for the last member"
	first := map[string]bool{}
	for seed := range uint64(6) {
		p := beginOf(t, aWrite("a"), smallLesson(t), asLearner(seed))
		p.goesTo("guess")
		first[p.look().Choices[0].Text] = true
		p.answers(wrong)
		p.press("3")
		p.goesTo("committed")
		told := p.look().Beat.Told
		if told == nil || told.Right || told.Said != wrong {
			t.Fatalf("learner %d chose %q and is judged %+v", seed, wrong, told)
		}
		for _, c := range told.Choices {
			if c.Right != (c.Text == right) || c.Chosen != (c.Text == wrong) {
				t.Errorf("learner %d: %+v", seed, c)
			}
		}
	}
	if len(first) != 2 {
		t.Errorf("all six learners see the same answer first: %v", first)
	}
}
