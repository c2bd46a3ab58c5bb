package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// secondlook is the program as .ci/run builds it.
func secondlook(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secondlook")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

func TestWhatFailsIsLookedAtAgain(t *testing.T) {
	look := secondlook(t)
	const (
		header = "package some\n\nimport (\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\nvar _ = os.Args\n\nvar _ = time.Now\n\n"
		passes = "func TestPasses(t *testing.T) {}\n"
		fails  = "func TestFails(t *testing.T) { t.Fatal(\"it always does\") }\n"
		second = `func TestEverySecondTime(t *testing.T) {
	if os.Remove("passes") != nil {
		os.WriteFile("passes", nil, 0o600)
		t.Fatal("only this time")
	}
}
`
		races = `func TestRaces(t *testing.T) {
	n, done := 0, make(chan bool)
	go func() { n++; close(done) }()
	n++
	<-done
	if os.Remove("passes") != nil {
		os.WriteFile("passes", nil, 0o600)
		t.Error(n)
	}
}
`
		panics = `func TestPanics(t *testing.T) {
	if os.Remove("passes") != nil {
		os.WriteFile("passes", nil, 0o600)
		panic("once")
	}
}
`
		six = `func TestSix(t *testing.T) {
	first := os.Remove("passes") != nil
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		t.Run(name, func(t *testing.T) {
			if first {
				os.WriteFile("passes", nil, 0o600)
				t.Error("only this time")
			}
		})
	}
}
`
	)
	for _, c := range []struct {
		what, tests string
		flags       []string
		goesOn      bool
		unsteady    string // what the notes have to say
	}{
		{"passes", passes, nil, true, ""},
		{"fails", passes + fails, nil, false, ""},
		{"fails every second time", passes + second, nil, true, "some.TestEverySecondTime failed"},
		{"one of two fails each time", second + fails, nil, false, ""},
		{"races", races, []string{"-race"}, false, ""},
		{"panics", panics, nil, false, ""},
		{"more than five fail", six, nil, false, ""},
		{"does not compile", passes + "func (", nil, false, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"go.mod": "module some\n\ngo 1.26\n", "some_test.go": header + c.tests} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			notes := filepath.Join(t.TempDir(), "notes")
			run := exec.Command(look, append([]string{"test", "-notes", notes, "./...", "--", "-count=1"}, c.flags...)...)
			run.Dir = dir
			out, err := run.CombinedOutput()
			if (err == nil) != c.goesOn {
				t.Errorf("it ended with %v\n%s", err, out)
			}
			text, _ := os.ReadFile(notes)
			if got := string(text); c.unsteady == "" && got != "" || !strings.Contains(got, c.unsteady) {
				t.Errorf("noted: %q, want %q", got, c.unsteady)
			}
			if c.unsteady != "" && !strings.Contains(string(text), "only this time") {
				t.Errorf("the notes lack how it failed: %s", text)
			}
		})
	}
}

func TestAKnownFaultHasTwoWeeks(t *testing.T) {
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"# nothing\n\n": "",
		"2026-03-10 kviz/tui.TestX loses a key\n":     "",
		"2026-03-01 kviz/tui.TestX/a/b loses a key\n": "kviz/tui.TestX/a/b has been unsteady for more than two weeks",
		"2026-03-10 kviz/tui.TestX\n":                 "an entry is",
		"2026-13-10 kviz/tui.TestX loses a key\n":     "month out of range",
	} {
		path := filepath.Join(t.TempDir(), "unsteady")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err := run([]string{"list", path}, now, &out)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
