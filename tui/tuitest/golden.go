package tuitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Golden compares got with testdata/name.golden; KVIZ_REWRITE=1 rewrites it.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	goldenIn(t, "testdata", name, got)
}

// goldenIn is Golden with the golden files in a folder.
func goldenIn(t *testing.T, dir, name, got string) {
	t.Helper()
	path := filepath.Join(dir, name+".golden")
	if os.Getenv("KVIZ_REWRITE") == "1" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (KVIZ_REWRITE=1 writes it)", err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := 0; i < max(len(g), len(w)); i++ {
		a, b := "", ""
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("%s differs in line %d (KVIZ_REWRITE=1 rewrites it)\n got: %s\nwant: %s", path, i+1, a, b)
		}
	}
}

// Planes is a grid as a golden file shows it: its text, then its styles.
func Planes(g *grid.Grid) string {
	return g.Plane() + "---- styles: " + theme.Legend + "\n" + g.StylePlane(theme.Letter)
}

// When is the state right after the n-th event of a kind; the newest state for
// n of 0.
func When(h *view.History, kind trace.Kind, n int) *view.State {
	stream := h.Stream()
	for pos := stream.First(); n > 0 && pos < stream.Len(); pos++ {
		if e := stream.Get(pos); e.Kind == kind {
			if n--; n == 0 {
				return h.At(pos)
			}
		}
	}
	return h.Latest()
}
