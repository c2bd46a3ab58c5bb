package pane

import (
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

// leastName is how much of a name is left at least where a row is too short.
const leastName = 16

// Chain draws what a claim hangs together with, one below the other: claim, volume, where it is attached, and the pods
// that use it.
func (s *Sheet) Chain(y int, f *Frame, links []view.ClaimLink) int {
	for i, l := range links {
		lead := ""
		if l.Deep > 0 {
			lead = strings.Repeat("   ", l.Deep-1) + "└─ "
			if i+1 < len(links) && links[i+1].Deep == l.Deep {
				lead = strings.Repeat("   ", l.Deep-1) + "├─ "
			}
		}
		on, rest := onLink(l), grid.Width(lead)+2+grid.Width(l.Detail)
		if over := spanned(linkSpans(f, l)) + rest - s.W(); over > 0 { // names that a provisioner gives are long, and say little
			l.Name = grid.Cut(l.Name, max(grid.Width(l.Name)-over, leastName))
		}
		spans := append([]grid.Span{{Text: lead, Style: theme.Line}}, linkSpans(f, l)...)
		s.Line(y, on, append(spans, grid.Span{Text: "  " + l.Detail, Style: theme.Muted})...)
		y++
	}
	return y
}

// ChainRow draws the same in one row: in words where there is room, or else with kubectl's short names of the kinds, and
// of what is well only the mark.
func (s *Sheet) ChainRow(y int, f *Frame, links []view.ClaimLink) int {
	row := rowOf(f, links)
	for _, most := range []int{253, 24, 16, 12, 8} {
		if wide(row) <= s.W() {
			break
		}
		short := make([]view.ClaimLink, len(links))
		for i, l := range links {
			short[i] = abridged(l, most)
		}
		row = rowOf(f, short)
	}
	x := 0
	for i, spans := range row {
		if i > 0 {
			x = s.Row(y).Text(x, 0, arrow, theme.Line)
		}
		begin := x
		x = s.Row(y).Spans(x, 0, spans...)
		s.Hot(begin, y, min(x, s.W())-begin, onLink(links[i]))
		if x >= s.W() {
			break
		}
	}
	return y + 1
}

const arrow = " → "

func rowOf(f *Frame, links []view.ClaimLink) (row [][]grid.Span) {
	for _, l := range links {
		row = append(row, linkSpans(f, l))
	}
	return row
}

// wide is how many columns a row takes.
func wide(row [][]grid.Span) int {
	w := (len(row) - 1) * grid.Width(arrow)
	for _, spans := range row {
		w += spanned(spans)
	}
	return w
}

func spanned(spans []grid.Span) (w int) {
	for _, x := range spans {
		w += grid.Width(x.Text)
	}
	return w
}

// abridged is a link in fewer words.
func abridged(l view.ClaimLink, most int) view.ClaimLink {
	if short := map[string]string{"claim": "pvc", "volume": "pv", "attachment": "at"}[l.What]; short != "" {
		l.What = short
	}
	l.Name = grid.Cut(l.Name, most)
	if l.Phase, _, _ = strings.Cut(l.Phase, " on "); l.Good && l.Name != "" {
		l.Phase = ""
	}
	return l
}

func linkSpans(f *Frame, l view.ClaimLink) []grid.Span {
	mark, st := "✓ ", theme.Good
	if !l.Good {
		mark, st = "○ ", theme.Warn
	}
	name := theme.Name
	if f.Fresh(l.Event) {
		name |= grid.Fresh
	}
	spans := []grid.Span{{Text: mark, Style: st}, {Text: l.What, Style: theme.Muted}}
	if l.Name != "" {
		spans = append(spans, grid.Span{Text: " " + l.Name, Style: name})
	}
	if l.Phase != "" {
		spans = append(spans, grid.Span{Text: " " + l.Phase, Style: st})
	}
	return spans
}

func onLink(l view.ClaimLink) Subject {
	words := l.What
	if l.Name != "" {
		words += " " + l.Name
	}
	words += ": " + l.Phase
	if l.Detail != "" {
		words += ", " + l.Detail
	}
	return Subject{ID: "link/" + l.What + "/" + l.Name, Ref: l.Ref, Event: l.Event, Kind: trace.StoreCommit, Copy: l.Name, Words: words + "."}
}
