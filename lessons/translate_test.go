package lessons_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"kviz/assets"
	"kviz/lessons"
	"kviz/tui/panes"
)

// L01 is there in German, also where a list reads it first and the rest when it is begun.
func TestALessonInGerman(t *testing.T) {
	all, err := lessons.Read(assets.Lessons())
	if err == nil {
		err = lessons.In("de", all)
	}
	if err != nil {
		t.Fatal(err)
	}
	if all[0].ID != "L01" || all[0].Title != "Die Karte" || all[1].Title != "From apply to running, one trace" {
		t.Errorf("the list begins with %s %s, %s", all[0].ID, all[0].Title, all[1].Title)
	}
	l, err := all[0].Whole()
	if err != nil {
		t.Fatal(err)
	}
	if tr := l.Translated; tr.Of < 75 || len(tr.Missing) > tr.Of/5 { // a text that was changed lately may wait for who speaks German
		t.Errorf("of %d texts there are missing %q, and stale %q", tr.Of, tr.Missing, tr.Stale)
	}
	i := slices.IndexFunc(l.Steps, func(s *lessons.Step) bool { return s.ID == "bound" })
	if s := l.Steps[i]; s.Caption[1].Source() != "Er hat seine Wahl, {node}, dem API-Server geschickt. Der Pod steht jetzt dort auf der Karte, aber noch läuft nichts." || !strings.Contains(s.Text, "seine Wahl, {node}") {
		t.Errorf("the beat says %s", s.Text)
	}
	if err := lessons.In("Deutsch", all); err == nil || !strings.Contains(err.Error(), "want de") {
		t.Errorf("a language that is none: %v", err)
	}
}

// What is not translated is shown as it was written, and counted; what a text does not say any more is told;
// and a translation with other values than its text is refused.
func TestHalfATranslation(t *testing.T) {
	for _, x := range []struct{ name, po, wrong string }{
		{"half", "msgctxt \"members/text\"\nmsgid \"Each member keeps its own copy of one log.\"\nmsgstr \"Jedes Mitglied hat sein eigenes Exemplar eines Logs.\"\n\n" +
			"msgctxt \"members/title\"\nmsgid \"Three\"\nmsgstr \"Drei\"\n", ""},
		{
			"values", "msgctxt \"members/text\"\nmsgid \"{leader} is the leader of term {store.term}. Every write goes through it.\"\nmsgstr \"{leader} führt.\"\n",
			"it has the values {leader} where the lesson has {leader}, {store.term}",
		},
		{"no file", "{}", "L50/i18n/de.po: gettext"},
		{"cut", "msgctxt \"members/text\"\nmsgid \"Each", "L50/i18n/de.po: gettext"},
	} {
		t.Run(x.name, func(t *testing.T) {
			text, err := os.ReadFile("../tui/stage/testdata/lesson.md")
			if err != nil {
				t.Fatal(err)
			}
			all, err := lessons.Load(fstest.MapFS{"L50/lesson.md": {Data: text}, "L50/i18n/de.po": {Data: []byte(x.po)}}, panes.Names())
			if err != nil {
				t.Fatal(err)
			}
			err = lessons.In("de", all)
			if x.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), x.wrong) {
					t.Errorf("it says %v, want %q", err, x.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			l := all[0]
			if got := l.Steps[0].Caption; got[0].Source() != "Jedes Mitglied hat sein eigenes Exemplar eines Logs." || !strings.HasPrefix(got[1].Source(), "{leader} is the leader") {
				t.Errorf("it says %q, %q", got[0].Source(), got[1].Source())
			}
			if tr := l.Translated; len(tr.Missing) != tr.Of-1 || !slices.Equal(tr.Stale, []string{"members/title: Three"}) {
				t.Errorf("of %d texts %d are missing; stale are %q", tr.Of, len(tr.Missing), tr.Stale)
			}
			again, err := l.Template("de")
			if err != nil || !strings.Contains(again, "msgctxt \"members/title\"\nmsgid \"Three members\"\nmsgstr \"\"\n") {
				t.Errorf("what is left to do: %v\n%s", err, again)
			}
		})
	}
}
