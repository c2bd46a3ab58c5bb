package main

import (
	"strings"
	"testing"

	"kviz/assets"
	"kviz/lessons"
	"kviz/tui/panes"
)

// A lesson is printed to be read: names instead of expressions, and with the notes what they stand for.
func TestALessonIsShownWithoutExpressions(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	l, err := oneLesson(all, []string{"L09"})
	if err != nil {
		t.Fatal(err)
	}
	var plain, notes strings.Builder
	showLesson(&plain, l, false)
	showLesson(&notes, l, true)
	for _, want := range []string{"a is the leader of term ‹term›", "\nOne write\n", "○ the leader, ‹old›, has crashed"} {
		if !strings.Contains(plain.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, plain.String())
		}
	}
	if strings.Contains(plain.String(), "{") || strings.Contains(plain.String(), "$ kviz fault") {
		t.Errorf("it shows an expression, or a solution:\n%s", plain.String())
	}
	for _, want := range []string{"‹old› is store.leader", "$ kviz fault crash member/‹old›", "(right: ", "Note: "} {
		if !strings.Contains(notes.String(), want) {
			t.Errorf("with notes it lacks %q:\n%s", want, notes.String())
		}
	}
}
