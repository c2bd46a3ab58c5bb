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
	Event  *trace.Event // the one that the person looks at; nil for none
	Means  string       // what follows from it as things stand; "" for nothing
	Words  string       // the sentence about it, or about the cluster where there is no event; "": what [view.Explain] says
	Notice string       // what the explorer has to say, until the next news or key
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
		a.Fit(1, 0, a.W()-2, e.Words, theme.Text)
		return
	}
	x := a.Text(1, 0, "#"+e.Event.ID.String()+" ", theme.Event|grid.Bold)
	words := e.Words
	if words == "" {
		words = view.Explain(e.Event)
	}
	if !names(words, e.Event.Lane) {
		x = a.Text(x, 0, e.Event.Lane.String()+" ", theme.Name)
	}
	a.Fit(x, 0, a.W()-x-1, with(words, e.Means, a.W()-x-1), theme.Text)
}

// with is a sentence with what it means. Where there is no room for both, what it means is cut at its first clause, and
// the sentence before it.
func with(words, means string, w int) string {
	if means == "" {
		return words
	}
	all := words + "; " + means
	if grid.Width(all) <= w {
		return all
	}
	means, _, _ = strings.Cut(means, ":")
	return grid.Cut(words, max(w-grid.Width("; "+means), 0)) + "; " + means
}

// names reports whether a sentence says itself whose it is.
func names(words string, lane trace.Lane) bool {
	switch lane.Component {
	case trace.CompSimulation, trace.CompConsole: // kviz itself, and the person
		return true
	case trace.CompAPIServer:
		if strings.Contains(words, "API server") {
			return true
		}
	}
	for _, name := range []string{lane.Instance, lane.Component, strings.TrimSuffix(lane.Component, "-controller")} {
		if name != "" && hasWord(words, name) {
			return true
		}
	}
	return false
}

// hasWord reports whether a word stands in a sentence by itself.
func hasWord(sentence, word string) bool {
	for from := 0; ; {
		at := strings.Index(sentence[from:], word)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(word)
		if (at == 0 || !inWord(sentence[at-1])) && (end == len(sentence) || !inWord(sentence[end])) {
			return true
		}
		from = end
	}
}

func inWord(c byte) bool {
	return c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
