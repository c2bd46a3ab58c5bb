package store

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"kviz/tui/grid"
)

// Every index that stands above the logs is whole, and stands apart from the next; the
// committed one is among them.
func TestIndexesAreWhole(t *testing.T) {
	for _, c := range []struct{ w, cell int }{{60, 4}, {118, 4}, {77, 5}} {
		for _, first := range []uint64{1, 95, 990, 4899, 99_990} {
			for commit := first; commit < first+uint64((c.w-9)/c.cell); commit++ {
				last := first + uint64((c.w-9-c.cell)/c.cell) - 1
				if commit > last {
					continue
				}
				g := grid.New(c.w, 1)
				drawIndexes(g.Area(), 9, c.cell, first, last, commit)
				row := strings.TrimRight(g.Plane(), "\n")
				if !strings.Contains(" "+row+" ", fmt.Sprintf(" ▾%d ", commit)) {
					t.Fatalf("commit %d of %d to %d is not whole, or touches another: %q", commit, first, last, row)
				}
				for _, word := range strings.Fields(row) {
					n, err := strconv.ParseUint(strings.TrimPrefix(word, "▾"), 10, 64)
					if err != nil || n < first || n > last {
						t.Fatalf("%q is no index from %d to %d: %q", word, first, last, row)
					}
				}
			}
		}
	}
}
