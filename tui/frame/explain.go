package frame

import (
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// Explain says in plain words what is going on, beside what is under the cursor.
type Explain struct {
	Event  *trace.Event // the one that the person looks at
	Means  string       // what follows from it as things stand; "" for nothing
	Notice string       // what the explorer has to say, until the next key
	Path   string       // what a step follows; "" for nothing
}

// draw draws two rows, or the more important one where there is one row only: words tell
// what is under the cursor, and first says that they matter more than the event, since
// the last key moved the cursor.
func (e Explain) draw(a grid.Area, words string, first bool) {
	a.Clear()
	under := func(y int) { a.Fit(1, y, a.W()-2, "▸ "+words, theme.Number) }
	switch {
	case e.Notice != "" && a.H() == 1:
		a.Fit(1, 0, a.W()-2, e.Notice, theme.Warn)
		return
	case a.H() == 1 && first && words != "":
		under(0)
		return
	}
	e.drawEvent(a)
	switch {
	case e.Notice != "":
		a.Fit(1, 1, a.W()-2, e.Notice, theme.Warn)
	case e.Path != "" && a.H() > 1 && !first:
		a.Fit(1, 1, a.W()-2, "▸ "+e.Path, theme.Muted)
	case a.H() > 1 && words != "":
		under(1)
	}
}

func (e Explain) drawEvent(a grid.Area) {
	if e.Event == nil {
		a.Text(1, 0, "waiting for the first event", theme.Muted)
		return
	}
	x := a.Text(1, 0, "#"+e.Event.ID.String()+" ", theme.Event|grid.Bold)
	words := view.Explain(e.Event)
	if !strings.HasPrefix(words, e.Event.Lane.Component+" ") { // else it says itself who did it
		x = a.Text(x, 0, e.Event.Lane.String()+" ", theme.Name)
	}
	if e.Means != "" {
		words += "; " + e.Means
	}
	a.Fit(x, 0, a.W()-x-1, words, theme.Text)
}
