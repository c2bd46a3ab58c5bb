package cluster_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kviz/cluster/simulated"
)

const simulatedPage = "../assets/docs/simulated.md"

// The page of kviz help simulated says what the code says now.
func TestThePageOfWhatIsSimulated(t *testing.T) {
	want := simulated.Page()
	if os.Getenv("KVIZ_REWRITE") != "" {
		if err := os.WriteFile(simulatedPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(simulatedPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Errorf("%s is stale: KVIZ_REWRITE=1 go test ./cluster -run Simulated writes it", simulatedPage)
	}
}

// A statement is a sentence of its own, about a package that there is.
func TestWhatIsSimulatedIsWhole(t *testing.T) {
	for _, s := range simulated.All() {
		if s.What == "" || strings.HasSuffix(s.What, ".") {
			t.Errorf("%s: %q", s.In, s.What)
		}
		if info, err := os.Stat(filepath.Join("..", s.In)); err != nil || !info.IsDir() {
			t.Errorf("%q is said in %q, which is no package", s.What, s.In)
		}
	}
}

// claims is what a package comment says that takes a short way.
var claims = regexp.MustCompile(`(?i)\bsimplified\b|\bsimulated\b|\bnot modelled\b|\bstands in for\b`)

// denies is how a package says that it takes none.
var denies = regexp.MustCompile(`(?i)\bnothing (?:in it|here) is simulated\b`)

// No package comment claims a simplification that the page does not have.
func TestWhatPackagesClaimIsSaid(t *testing.T) {
	saying := map[string]bool{}
	for _, s := range simulated.All() {
		saying[s.In] = true
	}
	found := 0
	for _, root := range []string{"cluster", "raftstore"} {
		err := filepath.WalkDir(filepath.Join("..", root), func(file string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "testdata" || d.Name() == "proof" || d.Name() == "clients") { // the others are modules of their own
				return fs.SkipDir
			}
			if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil || f.Doc == nil {
				return err
			}
			says := denies.ReplaceAllString(f.Doc.Text(), "")
			if !claims.MatchString(says) {
				return nil
			}
			found++
			pkg, err := filepath.Rel("..", filepath.Dir(file))
			if err == nil && pkg != "cluster/simulated" && !saying[filepath.ToSlash(pkg)] {
				t.Errorf("the comment of %s says %q, and nothing of it is on the page: simulated.Say", pkg, claims.FindString(says))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 20 {
		t.Errorf("only %d package comments claim anything", found)
	}
}
