package console_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kviz/cluster/console"
)

// The tools print what the real programs printed when testdata/real was recorded, and end with their
// exit statuses.
func TestToolsAreTheRealOnes(t *testing.T) {
	transcripts, err := filepath.Glob("testdata/real/*.txt")
	if err != nil || len(transcripts) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	b := newBench(t, console.Config{})
	for _, path := range transcripts {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS("testdata/real/files")); err != nil {
				t.Fatal(err)
			}
			b.Stand(dir)
			var got strings.Builder
			for line := range strings.Lines(string(text)) {
				line, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "$ ")
				if !is {
					continue
				}
				if os.Getenv("KVIZ_RECORD") == "1" {
					got.WriteString(ofTheMachine(t, dir, line))
				} else {
					got.WriteString(b.run(t, line))
				}
			}
			if os.Getenv("KVIZ_RECORD") == "1" {
				if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			same(t, path, string(text), got.String())
		})
	}
}

// ofTheMachine runs a line in the machine's bash.
func ofTheMachine(t *testing.T, dir, line string) string {
	cmd := exec.CommandContext(t.Context(), "bash", "-c", line)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C.UTF-8", "COLUMNS=80")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	exit := 0
	var failed *exec.ExitError
	if err := cmd.Run(); errors.As(err, &failed) {
		exit = failed.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("$ %s\n", line)
	for l := range strings.Lines(out.String()) { // without what each program adds about its --help
		if !strings.Contains(l, "--help' for more information") {
			text += strings.NewReplacer("‘", "'", "’", "'").Replace(l)
		}
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if exit != 0 {
		text += fmt.Sprintf("(exit %d)\n", exit)
	}
	return text
}
