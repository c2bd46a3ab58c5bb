package scene_test

import (
	"strings"
	"testing"

	"kviz/tui/scene"
	"kviz/tui/theme"
)

// What is cut and what moves between members leaves whole what others say: no end of a cut link stands on the line from the
// API server to the leader or on a count, and no chip on a member's border, wherever it is.
func TestNothingIsCoveredBetweenMembers(t *testing.T) {
	scenes := []*scene.Scene{scene.Of(shape(5, 3, 0), 118, 33), scene.Of(shape(5, 3, 0), 198, 50)}
	for w := 76; w < 120; w += 3 {
		for h := 14; h < 34; h += 2 {
			scenes = append(scenes, scene.RingOf(scene.Ring{Voters: []string{"a", "b", "c", "d", "e"}, Foot: 4}, w, h))
		}
	}
	for _, s := range scenes {
		calm := drawn(s, s.Blank())
		for share := 0.0; share <= 1; share += 0.05 {
			pic := s.Blank()
			for i, e := range s.Edges {
				if e.Class == scene.Raft {
					pic.Lines[i].Label = "×2/s"
					if pic.Lines[i].Cut = share < 0.5; pic.Lines[i].Cut && share < 0.2 {
						continue
					}
					pic.Lines[i].Heads = []scene.Head{{Share: share, Glyph: '□', Style: theme.Good, Chip: true, Count: "×2"}}
				}
			}
			got := drawn(s, pic)
			for _, l := range strings.Split(got.Plane(), "\n") {
				if strings.Count(l, "×2/s") != strings.Count(l, "2/")+strings.Count(l, "/s")-strings.Count(l, "2/s") {
					t.Fatalf("something stands on a label in %q", l)
				}
			}
			for _, place := range s.Places {
				if !place.Framed || !strings.HasPrefix(place.ID, "member/") {
					continue
				}
				r := place.Rect
				for x := r.X; x < r.X+r.W; x++ {
					for _, y := range []int{r.Y, r.Y + r.H - 1} {
						if a, b := calm.At(x, y), got.At(x, y); a.R != b.R {
							t.Fatalf("%c stands on the border of %s, at %d,%d with a share of %.2f:\n%s", b.R, place.ID, x, y, share, got.Plane())
						}
					}
				}
			}
			for _, e := range s.Edges {
				for _, c := range e.Cells {
					if b := got.At(c.X, c.Y); e.Class == scene.Writes && b.R == '✗' {
						t.Fatalf("✗ stands on the way of writes at %d,%d:\n%s", c.X, c.Y, got.Plane())
					}
				}
			}
		}
	}
}
