package pane

import (
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/theme"
)

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
		spans := append([]grid.Span{{Text: lead, Style: theme.Line}}, linkSpans(f, l)...)
		s.Line(y, onLink(l), append(spans, grid.Span{Text: "  " + l.Detail, Style: theme.Muted})...)
		y++
	}
	return y
}

// ChainRow draws the same in one row.
func (s *Sheet) ChainRow(y int, f *Frame, links []view.ClaimLink) int {
	x := 0
	for i, l := range links {
		if i > 0 {
			x = s.Row(y).Text(x, 0, " → ", theme.Line)
		}
		begin := x
		x = s.Row(y).Spans(x, 0, linkSpans(f, l)...)
		s.Hot(begin, y, min(x, s.W())-begin, onLink(l))
		if x >= s.W() {
			break
		}
	}
	return y + 1
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
	spans := []grid.Span{{Text: mark, Style: st}, {Text: l.What + " ", Style: theme.Muted}}
	if l.Name != "" {
		spans = append(spans, grid.Span{Text: l.Name + " ", Style: name})
	}
	return append(spans, grid.Span{Text: l.Phase, Style: st})
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
