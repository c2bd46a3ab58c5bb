package panes

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"kviz/tui/grid"
	"kviz/tui/theme"
	"kviz/tui/tuitest"
)

// bySide are the signs that stand in more than one colour of good, late and bad: what beside them says the same.
var bySide = map[rune]string{
	'▓': "a bar: its length",
	'░': "the rest of a bar: its length",
	'→': "the words behind it",
	'⇒': "the words behind it",
	'⚠': "alarm, or alert",
	'○': "a pod that waits, a learner: what it stands for",
	'◑': "Leases: how old they are, or which",
	'✗': "no node fits: the words behind it",
}

// What is said beside a sign: a meter is as many signs as there are, of how many, and the numbers stand behind
// or before it.
var (
	counted = regexp.MustCompile(`^[●○]+ +([a-z|]+:? )?\d+(/| of )\d+`)
	older   = regexp.MustCompile(`^[●★] [a-z] t\d`) // a member in an old term, which only such a one has written
	counts  = regexp.MustCompile(`[ ┃│]\d+( of |/)\d+[a-z ]*:?[a-z ]*[●○]*$`)
)

// In no pane, view and size is it only a colour that tells a good state from a late or a bad one: each of the
// three has signs of its own, or a word or length beside them says it.
func TestNoStateIsToldByColourAlone(t *testing.T) {
	state := map[grid.Style]string{theme.Good: "good", theme.Warn: "late", theme.Bad: "bad"}
	for name, tape := range map[string]*tuitest.Tape{
		"story": tuitest.Story(), "store": tuitest.StoreStory(), "quorum lost": tuitest.QuorumLost(time.Minute),
		"node lost": tuitest.NodeLost(), "node dead": tuitest.NodeDead(), "partition": tuitest.Split(),
	} {
		h := tape.History()
		for _, make := range All {
			for _, size := range [][2]int{{78, 22}, {118, 36}, {198, 56}} {
				info := make().Info()
				for view := range max(len(info.Views), 1) {
					var moves []string
					for _, k := range info.Keys {
						if slices.Contains(k.Keys(), "v") {
							moves = slices.Repeat([]string{"do " + k.Action}, view)
						}
					}
					g := tuitest.Pane(make(), h, h.Latest(), size[0], size[1], moves...)
					signs := map[rune]map[string]string{}
					lines := strings.Split(g.Plane(), "\n")
					for y := range size[1] {
						row := []rune(lines[y])
						if y+1 < len(lines) && strings.Contains(lines[y+1], "cut off from") { // said below
							continue
						}
						for x := range size[0] {
							c := g.At(x, y)
							said, isState := state[grid.Style(c.S.Role())]
							if !isState || c.R < 0x2190 || unicode.IsLetter(c.R) || drawn(c.R) || bySide[c.R] != "" {
								continue
							}
							rest := strings.TrimSpace(string(row[min(x, len(row)):]))
							if counted.MatchString(rest) || older.MatchString(rest) || counts.MatchString(string(row[:min(x, len(row))])) {
								continue
							}
							if signs[c.R] == nil {
								signs[c.R] = map[string]string{}
							}
							signs[c.R][said] = rest
						}
					}
					for r, in := range signs {
						if len(in) > 1 {
							t.Errorf("%s, %s, view %d, %v: %c is told by its colour alone: %v", name, info.Name, view, size, r, fmt.Sprint(in))
						}
					}
				}
			}
		}
	}
}

// drawn reports whether a sign is part of a line or a curve, whose shape says it.
func drawn(r rune) bool { return r >= 0x2500 && r < 0x2590 || r >= 0x2800 && r < 0x2900 }
