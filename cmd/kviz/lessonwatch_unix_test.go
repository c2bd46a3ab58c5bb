//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kviz/raftstore/steady"
)

// An author sees each save on the stage: a mistake in the strip, while all goes on as it was, and what is
// right at the beat where the lesson stood. An editor that puts a new file in the place of the old one saves too.
func TestALessonIsWatched(t *testing.T) {
	steady.RealTime(t, aTerminal)
	home := t.TempDir()
	dir := filepath.Join(home, "L50-my-topic")
	if out, err := exec.Command("kviz", "lesson", "new", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	name := filepath.Join(dir, "lesson.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	save := func(old, new string) {
		t.Helper()
		if !strings.Contains(string(text), old) {
			t.Fatalf("the lesson does not say %q", old)
		}
		beside := filepath.Join(home, "new.md")
		if err := os.WriteFile(beside, []byte(strings.Replace(string(text), old, new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(beside, name); err != nil {
			t.Fatal(err)
		}
	}
	s := begin(t, home, 80, 24, "lesson", "watch", "L50-my-topic#delete", "--speed", "10")
	s.sees("beat 3 of 5", "Enter runs it")
	save("say: all pods of web", "sya: all pods of web")
	s.sees("beat 3 of 5", "✗ ", "lesson.md", `unknown field "sya"`)
	save("### Delete it ", "### Delete this one ")
	s.sees("beat 3 of 5", "Delete this one", "Enter runs it").misses("✗")
	s.press("\r").sees("All of it is done").press(" ").sees("beat 4 of 5")
	save("It created {created}", "What it created is {created}")
	s.sees("beat 4 of 5", "What it created is demo/web-")
	s.press("q").sees("Leave kviz?").press("q").ends(0)
	if _, err := os.Stat(filepath.Join(home, "kviz", "progress.json")); err == nil {
		t.Error("what an author does is written down as the progress of a learner")
	}

	out, err := exec.Command("kviz", "lesson", "watch", home).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "there is no lesson in "+home) {
		t.Errorf("a folder without a lesson: %v, %s", err, out)
	}
}
