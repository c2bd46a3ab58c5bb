package clustermap

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// heat counts what is not well among many nodes.
type heat struct {
	silent, down, late []string
	notReady           []string
	believed           int // pods of nodes that are not as they are said to be
	oldest             standing
}

// feels takes in how one of many nodes stands.
func (h *heat) feels(name string, how standing, pods int) {
	switch mark, _ := how.mark(); mark {
	case '✗':
		if how.is != scene.Off { // it says so itself: it has just registered, or it ails
			h.notReady = append(h.notReady, name)
			return
		}
		h.down = append(h.down, name)
	case '?':
		if how.said == scene.Unsaid { // it has not come yet
			return
		}
		h.silent = append(h.silent, name)
	case '◑':
		h.late = append(h.late, name)
	default:
		return
	}
	if how.differs() || how.said == scene.Unheard {
		h.believed += pods
	}
	if how.silent > h.oldest.silent {
		h.oldest = how
	}
}

// drawHeat says below many nodes what their marks mean here, and which of them are not well.
func (p *picture) drawHeat(s *pane.Sheet, y, w int) {
	var row []grid.Span
	if p.Grain == scene.Cells {
		text := "a cell: " + p.cellOf() + ", CPU   "
		if w >= 110 {
			text = "a cell: " + p.cellOf() + ", height: CPU requested   "
		}
		row = append(row, span(text, theme.Muted))
	}
	say := func(mark, what string, st grid.Style, names []string) {
		switch n := len(names); {
		case n == 1:
			row = append(row, span(mark+" "+what+" "+names[0]+"   ", st|grid.Bold))
		case n > 1:
			row = append(row, span(fmt.Sprintf("%s %s %d", mark, what, n), st|grid.Bold), span(": "+names[0]+" … "+names[n-1]+"   ", st))
		}
	}
	say("✗", "off", theme.Bad, p.heat.down)
	say("✗", "NotReady", theme.Bad, p.heat.notReady)
	say("?", "silent", theme.Warn, p.heat.silent)
	say("◑", "late", theme.Warn, p.heat.late)
	if p.heat.believed > 0 && p.Grain == scene.Cells && w < 110 {
		row = append(row, span(words.Count(p.heat.believed, "pod")+" believed", theme.Warn))
	} else if p.heat.believed > 0 {
		row = append(row, span(fmt.Sprintf("for %s: %s believed, not known", words.Dur(p.heat.oldest.silent.Truncate(time.Second)), words.Count(p.heat.believed, "pod")), theme.Warn))
	}
	if len(row) == 0 || p.Grain == scene.Cells && len(row) == 1 {
		row = append(row, span(fmt.Sprintf("● %s are well", words.Count(len(p.pods.names), "node")), theme.Good))
	}
	s.Row(y).Sub(0, 0, w, 1).Spans(0, 0, row...)
}

// paceSeconds is how many seconds stand in the row of how fast things go among many nodes.
const paceSeconds = 14

// drawPace says below many nodes how much goes on there: how many Leases are renewed, how many
// nodes the node lifecycle controller has still to look at, and how many pods get a node.
func (p *picture) drawPace(s *pane.Sheet, y, w int) {
	spark := func(n []int) string {
		most := max(slices.Max(n), 8)
		line := strings.Builder{}
		for _, x := range n {
			line.WriteRune(grid.Level(x, most))
		}
		return line.String()
	}
	renewed, bound := p.f.S.Renewed(paceSeconds), p.f.S.Bound(1)[0]
	leases, queue, gap := "Leases renewed a second  ", "queue ", "     "
	if w < 110 {
		leases, queue, gap, renewed = "Leases/s ", "", "   ", renewed[paceSeconds/2:]
	}
	row := []grid.Span{
		span(leases, theme.Muted), span(spark(renewed), theme.Good), span(fmt.Sprintf("  %d", renewed[len(renewed)-1]), theme.Number),
	}
	if q := p.f.S.Queue("node_lifecycle_controller"); q != nil {
		row = append(row, span(gap+queue+"node_lifecycle ", theme.Muted), span(spark(q.ReadyIn(paceSeconds/2, p.f.S.At)), theme.Busy), span(fmt.Sprintf(" %d", q.Ready), theme.Number))
	}
	row = append(row, span(gap+"scheduler ", theme.Muted), span(fmt.Sprint(bound), theme.Number), span(" pods/s", theme.Muted))
	s.Row(y).Sub(0, 0, w, 1).Spans(0, 0, row...)
}

// cellOf is what a cell stands for.
func (p *picture) cellOf() string {
	for _, at := range p.Places {
		if n := len(at.Names); n > 1 {
			return words.Count(n, "node")
		}
	}
	return "1 node"
}

// numbers stand before each row of cells: which node it begins with.
func (p *picture) numbers() {
	if p.Grain != scene.Cells {
		return
	}
	row := -1
	for _, at := range p.Places {
		if len(at.Names) == 0 || at.Rect.Y == row {
			continue
		}
		row = at.Rect.Y
		label := strings.TrimPrefix(at.Names[0], "node-")
		p.s.Row(row).Right(at.Rect.X-1, 0, grid.CutLeft(label, at.Rect.X-2), theme.Muted)
	}
}
