package lessons_test

import (
	"testing"
	"time"

	"kviz/assets"
	"kviz/lessons"
	"kviz/tui/panes"
)

// TestWhyALessonIsNext says of each lesson that is not done what speaks for it, or what is missing.
func TestWhyALessonIsNext(t *testing.T) {
	all, err := lessons.Read(assets.Lessons())
	if err != nil {
		t.Fatal(err)
	}
	p := lessons.NewProgress(time.Now)
	why := func(id string) string {
		for _, x := range lessons.List(all, p) {
			if x.ID == id {
				return x.Why
			}
		}
		t.Fatalf("there is no %s", id)
		return ""
	}
	expect := func(id, want string) {
		t.Helper()
		if got := why(id); got != want {
			t.Errorf("%s: %q; want %q", id, got, want)
		}
	}
	expect("L01", "it needs no other lesson; it opens L02")
	expect("L02", "it needs L01 first; it opens L03, L03b, L03c, and 4 more")
	p.Lessons["L01"] = lessons.Mark{Done: true}
	expect("L01", "")
	expect("L02", "you have done what it needs: L01; it opens L03, L03b, L03c, and 4 more")
	p.Recall = []lessons.Due{{Lesson: "L02", Beat: "order", On: "1999-01-01"}}
	expect("L02", "you have done what it needs: L01; it opens L03, L03b, L03c, and 4 more; a question of it is due")
}

// TestAPlanIsNotFarOff refuses minutes that are one and a half times too many, or too few.
func TestAPlanIsNotFarOff(t *testing.T) {
	all, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if err := l.Paced(); err != nil {
			t.Error(err)
		}
		takes := int(l.Takes().Minutes())
		for _, minutes := range []int{2 * (takes + 1), takes / 2} {
			wrong := *l
			if wrong.Minutes = minutes; wrong.Paced() == nil {
				t.Errorf("%s takes %s, and may be planned for %d minutes", l.ID, l.Takes(), minutes)
			}
		}
	}
}
