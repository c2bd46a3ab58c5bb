package convert_test

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"kviz/lessons"
	"kviz/lessons/convert"
	"kviz/tui/panes"
)

// A lesson of format 1 becomes a draft that reads as a lesson in beats, and that the check refuses at each place
// where somebody has to decide, and for what such a lesson has not.
func TestADraft(t *testing.T) {
	old := convert.Files{}
	dir := os.DirFS("testdata/L02-one-trace")
	err := fs.WalkDir(dir, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := fs.ReadFile(dir, name)
		old[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	old["accepted/other.sh"], old["near-miss/none.sh"] = "other", "none"
	draft, err := convert.Draft(old)
	if err != nil {
		t.Fatal(err)
	}
	text := draft["lesson.md"]
	for _, want := range []string{
		"format: 2\nversion: 1\nid: L02\n",
		"\n## One list of everything\n\n### A cluster is a handful {#list-1} see\nA cluster is a handful of programs that never call one another.",
		"```stage\nshow: events\n# CONVERT: ",
		"\n### The lane says who did {#list-3} see\nThe **lane** says who did it:", // an item of a list
		"<!-- note: Ask the class to guess how many programs touch a pod",
		"### You are about to apply {#guess-created-1} see\n",
		"### Choose an answer, then go {#guess-created} predict\n",
		"reveal: >-\n  event.kind == \"api.response\"",
		"- 'kubectl apply -f manifests/pod.yaml'\n", // indented in the text
		"# CONVERT: the commands that reach the goals, in order. solution.sh had:\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the draft has not %q", want)
		}
	}
	if strings.Contains(text, "\nview:") || draft["solution.sh"] != "" || draft["setup.sh"] != old["setup.sh"] {
		t.Error("it has what beats have not, or lacks what they have")
	}
	var moved []string
	for name := range draft {
		if strings.Contains(name, "/") {
			moved = append(moved, name)
		}
	}
	if all := strings.Join(moved, " "); !strings.Contains(all, ".other.sh") || !strings.Contains(all, ".none.sh") || len(moved) != 2 {
		t.Errorf("its other scripts are %q", moved)
	}
	_, err = lessons.Parse("lesson.md", []byte(text), panes.Names())
	if err == nil || strings.Count(err.Error(), "to be decided: ") != strings.Count(text, convert.Mark) || strings.Contains(err.Error(), "is no beat") {
		t.Errorf("the check says of the draft: %v", err)
	}

	for _, x := range []struct{ text, says string }{
		{"---\nformat: 2\n---\n## A {#a} see\n", "it has not format: 1"},
		{"---\nformat: 1\n---\n## A\n", "is no step"},
		{"---\nformat: 1\n---\nText.\n", "text before the first step"},
		{"---\nformat: 1\n---\n## A {#a} do\n```goal\n", "no closing line"},
		{"---\nformat: 1\n---\n", "it has no steps"},
		{"format: 1", "front matter"},
	} {
		if _, err := convert.Draft(convert.Files{"lesson.md": x.text}); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%q: %v, want %q", x.text, err, x.says)
		}
	}
}
