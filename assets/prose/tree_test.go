package prose_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kviz/assets/prose"
)

// What people read is in plain English: the README, the pages of kviz help, and every text
// in the sources, which is what screens, help and refusals are made of.
func TestWhatPeopleRead(t *testing.T) {
	const repository = "../.."
	check := func(file string, line int, text string) {
		for _, f := range prose.Faults(text) {
			t.Errorf("%s:%d: %v", strings.TrimPrefix(file, repository+"/"), line, f)
		}
	}
	papers, err := filepath.Glob(repository + "/assets/docs/*.md")
	if err != nil || len(papers) == 0 {
		t.Fatal(papers, err)
	}
	for _, file := range append(papers, repository+"/README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		check(file, 1, string(text))
	}
	texts := 0
	for _, folder := range []string{"assets", "cmd", "cluster", "lessons", "raftstore", "tui"} {
		err := filepath.WalkDir(filepath.Join(repository, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				_, nested := os.Stat(filepath.Join(path, "go.mod"))
				if d.Name() == "testdata" || path == filepath.Join(repository, "assets/prose") || nested == nil {
					return fs.SkipDir // a test's, the list itself, and a module of its own
				}
				return nil
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			texts += literals(t, path, check)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if texts < 9_000 {
		t.Errorf("only %d texts in the sources", texts)
	}
}

// literals checks every text of several words in a Go file, and reports how many there are.
func literals(t *testing.T, path string, check func(file string, line int, text string)) (n int) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(node ast.Node) bool {
		lit, ok := node.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(lit.Value); err == nil && strings.Contains(text, " ") {
			n++
			check(path, set.Position(lit.Pos()).Line, text)
		}
		return true
	})
	return n
}
