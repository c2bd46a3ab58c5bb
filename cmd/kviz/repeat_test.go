package main

import (
	"bytes"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"kviz/assets"
	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/lessons"
	"kviz/tui/panes"
)

// script is a console script that kviz comes with, and the files beside it.
type script struct {
	name, text string
	files      []txtar.File
}

// scripts are those of the command line's tests and of the lessons: of each
// lesson its set-up and its clean-up (with KVIZ_RUNS every other way that it knows between
// them).
func scripts(t *testing.T) []script {
	var all []script
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range archives {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if path.Ext(f.Name) == ".sh" {
				all = append(all, script{strings.TrimSuffix(filepath.Base(name), ".txtar") + "/" + f.Name, string(f.Data), a.Files})
			}
		}
	}
	known, err := lessons.Load(assets.Lessons(), panes.Names())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range known {
		ways := map[string]string{"setup.sh": ""}
		if os.Getenv("KVIZ_RUNS") != "" {
			maps.Copy(ways, l.Accepted)
			maps.Copy(ways, l.Near)
		}
		for _, name := range slices.Sorted(maps.Keys(ways)) {
			all = append(all, script{name: l.ID + "/" + name, text: strings.Join([]string{l.Words, l.Setup, ways[name], l.Cleanup}, "\n")})
		}
	}
	return all
}

// Every script that kviz comes with gives the same trace each time, on one
// processor and on two: the promise that `kviz trace --hash` lets anyone check.
// It is the bare store's; KVIZ_RUNS=20 is the long form, and has the lessons'
// accepted ways and near-misses too.
func TestEveryScriptRepeats(t *testing.T) {
	runs := 2
	if n, err := strconv.Atoi(os.Getenv("KVIZ_RUNS")); err == nil && n > 1 {
		runs = n
	}
	all := scripts(t)
	if len(all) < 15 {
		t.Fatalf("only %d scripts", len(all))
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			first, said, hash := "", "", ""
			for i := range runs {
				before := runtime.GOMAXPROCS(1 + i%2)
				lines, out, h := runOnce(t, s)
				runtime.GOMAXPROCS(before)
				if i == 0 {
					first, said, hash = lines, out, h
					continue
				}
				if h != hash {
					t.Errorf("run %d gives another trace: %s", i, parting(first, lines))
				}
				if out != said {
					t.Errorf("run %d says something else: %s", i, parting(said, out))
				}
			}
		})
	}
}

// runOnce runs a script and gives its trace as text, what it wrote, and the
// trace's hash. What fails in it fails each time: members can only be broken
// where there are some.
func runOnce(t *testing.T, s script) (lines, said, hash string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, f := range s.files {
		if err := os.WriteFile(f.Name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := cluster.Boot(t.Context(), cluster.Config{Seed: 1, Bare: true, Demand: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	_ = c.Console().RunScript(t.Context(), "script.sh", "set +e\n"+s.text, control.Streams{Out: &out, Err: &out})
	var events []*trace.Event
	if err := c.Kernel().Do(func() { events, _, _ = c.Trace().Read(c.Trace().First(), 1<<20) }); err != nil {
		t.Fatal(err)
	}
	inside := events[:0:0]
	for _, e := range events {
		if !e.Outside() {
			inside = append(inside, e)
		}
	}
	if hash, err = trace.Hash(inside); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := trace.Text(&text, inside); err != nil {
		t.Fatal(err)
	}
	return text.String(), took.ReplaceAllString(out.String(), "took …"), hash
}

// took is a time that etcdctl measures by the machine's clock and prints.
var took = regexp.MustCompile(`took [0-9.]+[mµn]?s`)

// parting tells where two texts part.
func parting(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return strings.Join([]string{"", as[max(0, i-1)], "- " + as[i], "+ " + bs[i]}, "\n")
		}
	}
	return strconv.Itoa(len(as)) + " lines against " + strconv.Itoa(len(bs))
}
