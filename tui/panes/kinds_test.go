package panes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// What a pane can point at, it lists: by that the check of lessons refuses a ring around what there is not.
func TestPanesListWhatTheyPointAt(t *testing.T) {
	for _, make := range All {
		info := make().Info()
		for _, tape := range []*tuitest.Tape{tuitest.Story(), tuitest.StoreStory(), tuitest.QuorumLost(time.Minute), tuitest.NodeLost(), tuitest.Split()} {
			for _, name := range pointedAt(make, tape) {
				kind, _, _ := strings.Cut(name, "#")
				kind, path, _ := strings.Cut(kind, "/")
				object := strings.Contains(path, "/") || slices.Contains([]string{"node", "deployment", "lease"}, strings.TrimSuffix(kind, "s"))
				if !slices.Contains(info.Kinds, kind) && !object && info.Name != "events" { // whose rows are numbered
					t.Errorf("pane %s has %q to point at, and does not list %q among its kinds", info.Name, name, kind)
				}
			}
		}
	}
}

// pointedAt are the names on all views of a pane, beside the stage and on it.
func pointedAt(make pane.Maker, tape *tuitest.Tape) (all []string) {
	h := tape.History()
	views := []string{""}
	for _, v := range make().Info().Views {
		views = append(views, v.Name)
	}
	const w, rows = 118, 200
	for _, view := range views {
		for _, staged := range []bool{false, true} {
			host := pane.NewHost(make(), "")
			host.ShowView(view)
			host.Draw(grid.New(w, rows), grid.Rect{W: w, H: rows}, pane.Frame{S: h.Latest(), H: h, Stage: staged})
			all = append(all, host.Things()...)
		}
	}
	return all
}
