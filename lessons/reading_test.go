package lessons_test

import (
	"strings"
	"testing"

	"kviz/assets"
	"kviz/lessons"
	"kviz/tui/panes"
)

// Where there is no run, what the scene pins is said, and a short name stands for every other value.
func TestTextsReadWithoutARun(t *testing.T) {
	l := lessonNamed(t, "L09")
	r := l.Reading()
	for text, want := range map[string]string{
		"{leader} leads term {store.term}":                                  "a leads term ‹term›",
		"{old} came back after {ms(time - at)}":                             "‹old› came back after ‹time›",
		"term {term + 1}, {store.members[old].dbSize / 1024} KiB":           "term ‹term + 1›, ‹dbSize› KiB",
		"all {pods.size()} pods":                                            "all ‹number› pods",
		"stop {store.members.filter(m, m != old)[0]}":                       "stop ‹member›",
		`written {key("/registry/configmaps/demo/settings").version} times`: "written ‹version› times",
		`kubectl patch -p '{"data":{"color":"red"}}'`:                       `kubectl patch -p '{"data":{"color":"red"}}'`,
		"{faults.filter(f, f.target.startsWith('member/')).size()} links":   "‹number› links",
	} {
		if got := r.Of(text); got != want {
			t.Errorf("%s reads %q, want %q", text, got, want)
		}
	}
	names := strings.Join(r.Names(l.Steps[1], "{entry}", "{store.term}"), "\n")
	if want := "‹entry› is store.members[leader].last + 1\n‹term› is store.term"; names != want {
		t.Errorf("the names are\n%s\nwant\n%s", names, want)
	}
}

// No lesson shows an expression to somebody who reads it without a run.
func TestNoTextShowsAnExpression(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		r := l.Reading()
		for _, s := range l.Steps {
			for _, text := range append([]string{s.Title, s.Text}, says(s)...) {
				read := r.Of(text)
				for _, raw := range []string{"{store.", "{event.", "{object", "{key(", "value›"} {
					if strings.Contains(read, raw) {
						t.Errorf("%s#%s reads %q", l.ID, s.ID, read)
					}
				}
			}
		}
	}
}

// says are the lines of a beat's goals and questions.
func says(s *lessons.Step) (all []string) {
	for _, g := range s.Goals {
		all = append(all, g.Say)
	}
	if q := s.Question; q != nil {
		all = append(append(all, q.Ask), q.Lines(true)...)
	}
	return all
}

func lessonNamed(t *testing.T, id string) *lessons.Lesson {
	t.Helper()
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.ID == id {
			return l
		}
	}
	t.Fatalf("there is no lesson %s", id)
	return nil
}
