package lessons_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"kviz/assets"
	"kviz/lessons"
	"kviz/tui/panes"
)

// What the explorer reads, first a list and then the lesson that is begun, is what Load
// has proven, without being compiled: the same lessons,
// and a mistake in an expression, which Load reports with its place, does not keep the
// explorer from starting.
func TestReadLeavesExpressionsUncompiled(t *testing.T) {
	all, err := lessons.Read(assets.Lessons())
	if err != nil {
		t.Fatal(err)
	}
	proven, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(proven) {
		t.Fatalf("Read finds %d lessons, Load %d", len(all), len(proven))
	}
	for i, l := range all {
		if len(l.Steps) > 0 {
			t.Errorf("Read has read the beats of %s", l.ID)
		}
		whole, err := l.Whole()
		if err != nil {
			t.Fatal(err)
		}
		if want := proven[i]; len(whole.Steps) != len(want.Steps) || len(whole.Goals()) != len(want.Goals()) || whole.Setup != want.Setup || whole.Words != want.Words || whole.Title != l.Title {
			t.Errorf("the rest of %s, read when it is begun, is not what Load has proven", l.ID)
		}
	}
	bad := fstest.MapFS{}
	bad["L99/lesson.md"] = &fstest.MapFile{Data: []byte("---\nformat: 2\nversion: 1\nid: L99\ntitle: Bad\npart: Tests\nteaches: [nothing]\nminutes: 1\n---\n" +
		"## One\n\n### One {#one} do\n\nText.\n\n```stage\nshow: map\n```\n\n```offer\n- kubectl get pods\n```\n\n```goal\nid: g\nsay: it is so\nlevel: store.nosuch == 1\nhints:\n  - text: look\n```\n")}
	some, err := lessons.Read(bad)
	if err != nil {
		t.Fatalf("Read compiles: %v", err)
	}
	if _, err := some[0].Whole(); err != nil {
		t.Errorf("the rest of a lesson is compiled as it is read: %v", err)
	}
	if _, err := lessons.Load(bad, panes.Names()); err == nil || !strings.Contains(err.Error(), "lesson.md:") || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("Load does not report a bad expression with its place: %v", err)
	}
}
