package lessons_test

import (
	"fmt"
	"strings"
	"testing"

	"kviz/assets"
	"kviz/lessons"
	"kviz/tui/panes"
)

// choices is a question whose right choice is written in a place, from 1.
func choices(right int, of ...string) string {
	var b strings.Builder
	b.WriteString("ask: Which one?\nsource: a book\nchoices:\n")
	for i, text := range of {
		mark := ""
		if i+1 == right {
			mark = "right: true, "
		}
		fmt.Fprintf(&b, "  - {text: %s, %swhy: so}\n", text, mark)
	}
	return b.String()
}

const matching = "ask: Which is which?\nsource: a book\nlabels: [{text: A}, {text: B}]\nmatch:\n  - {text: one, label: A, why: so}\n  - {text: two, label: A, why: so}\n"

// quizzes is a lesson that asks some questions.
func quizzes(questions ...string) string {
	var b strings.Builder
	for i, q := range questions {
		fmt.Fprintf(&b, "### Guess %d {#guess-%d} predict\n\nGuess.\n\n```question\n%s```\n\n", i, i, q)
	}
	return beats("### Crash it {#crash} do\n", b.String()+"### Crash it {#crash} do\n")
}

// TestALessonThatOneKeyPassesIsRefused writes lessons in which the place of an answer gives it away, and ones in which
// it does not.
func TestALessonThatOneKeyPassesIsRefused(t *testing.T) {
	first, second, third := choices(1, "red", "green", "blue"), choices(2, "red", "green", "blue"), choices(3, "red", "green", "blue")
	const oneKey, places = "one key answers every question right", "the right one stands in place"
	for name, c := range map[string]struct {
		asks []string
		want string
	}{
		"one question":                         {[]string{first}, ""},
		"two, the first choice of each":        {[]string{first, first}, oneKey},
		"two, in two places":                   {[]string{first, second}, ""},
		"a choice and labels, all by one key":  {[]string{first, matching}, oneKey},
		"a choice and labels, by two keys":     {[]string{second, matching}, ""},
		"the same place, and a number":         {[]string{first, first, counting}, "of 2 questions with choices the right one stands in place 1 in 2"},
		"two places, and a number":             {[]string{first, second, counting}, ""},
		"three of five in one place":           {[]string{first, third, first, second, first}, places + " 1 in 3"},
		"two of four in one place":             {[]string{third, first, second, third}, ""},
		"three of four in one place, a number": {[]string{third, third, counting, second, third}, places + " 3 in 3"},
	} {
		_, err := lessons.Parse("lesson.md", []byte(quizzes(c.asks...)), panes.Names())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}

// TestNoLearnerPassesALessonByOneKey lays lessons of few questions out for a thousand learners: however chance has it,
// no key is right at all of them.
func TestNoLearnerPassesALessonByOneKey(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	two, err := lessons.Parse("lesson.md", []byte(quizzes(choices(1, "red", "green"), choices(2, "red", "green"))), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	labels, err := lessons.Parse("lesson.md", []byte(quizzes(choices(2, "red", "green"), matching)), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range append(all, two, labels) {
		for seed := range uint64(1000) {
			keys, asked := map[int]bool{}, 0
			for _, step := range l.Steps {
				if step.Question == nil {
					continue
				}
				asked++
				pressed := l.Keys(step, seed)
				if len(pressed) == 0 {
					keys[0] = true // no digit answers it
				}
				for _, key := range pressed {
					keys[key] = true
				}
			}
			if asked > 1 && len(keys) == 1 && !keys[0] {
				t.Errorf("%s: learner %d passes by one key: %v", l.ID, seed, keys)
			}
		}
	}
}
