package lessons_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"kviz/assets"
	"kviz/lessons"
	"kviz/tui/panes"
)

// What the explorer reads without compiling is what Load has proven: the same lessons,
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
	bad := fstest.MapFS{}
	bad["L99/solution.sh"] = &fstest.MapFile{Data: []byte("true\n")}
	bad["L99/lesson.md"] = &fstest.MapFile{Data: []byte("---\nformat: 1\nid: L99\ntitle: Bad\npart: Tests\nteaches: [nothing]\nminutes: 1\nview: [map]\n---\n" +
		"## One {#one} do\n\nText.\n\n```goal\nid: g\nsay: it is so\nlevel: store.nosuch == 1\nhints:\n  - text: look\n```\n")}
	if _, err := lessons.Read(bad); err != nil {
		t.Errorf("Read compiles: %v", err)
	}
	if _, err := lessons.Load(bad, panes.Names()); err == nil || !strings.Contains(err.Error(), "lesson.md:") || !strings.Contains(err.Error(), "nosuch") {
		t.Errorf("Load does not report a bad expression with its place: %v", err)
	}
}
