package lessons

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"kviz/assets"
	"kviz/tui/panes"
)

// FuzzParse: a lesson's text is a lesson or an error that says the line.
func FuzzParse(f *testing.F) {
	err := fs.WalkDir(assets.Lessons(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".md" {
			b, err := fs.ReadFile(assets.Lessons(), name)
			if err != nil {
				return err
			}
			f.Add(b)
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("---\nformat: 2\n---\n## see: a\n```goal\n```\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := Parse("lesson.md", text, panes.Names())
		switch {
		case err != nil && !strings.HasPrefix(err.Error(), "lesson.md"):
			t.Errorf("the error does not say where: %v", err)
		case err == nil && (l == nil || l.ID == "" || len(l.Steps) == 0):
			t.Errorf("taken for a lesson: %+v", l)
		}
	})
}

// A goal has one condition. Blanks are none, and the same text twice is two.
func TestAGoalHasOneCondition(t *testing.T) {
	for _, g := range []goalText{{}, {Level: " "}, {Edge: "\n", Never: "\t"}, {Edge: "true", Level: "true"}} {
		if goal, err := g.read(reader{}); err == nil {
			t.Errorf("%+v is the goal %+v", g, goal)
		}
	}
	for _, g := range []goalText{{Level: "true"}, {Level: "true", Edge: " "}} {
		if goal, err := g.read(reader{}); err != nil || goal.level == nil || goal.edge != nil {
			t.Errorf("%+v is %+v, %v", g, goal, err)
		}
	}
}
