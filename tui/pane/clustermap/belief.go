package clustermap

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/view"
	"kviz/tui/belief"
	"kviz/tui/grid"
	"kviz/tui/scene"
	"kviz/tui/theme"
	"kviz/tui/words"
)

// standing is how a node is said to be and how it is: the API server has only what somebody
// wrote down, and its own processes do what they do.
type standing struct {
	said, is  scene.Claim
	cut       bool          // its network is: it is well, and nobody hears of it
	since     time.Duration // it is off
	silent    time.Duration // how long nobody has heard of it
	overdue   bool          // longer than the grace period, and nobody could write it down
	evicted   time.Duration // when its pods are evicted; 0 where nobody will
	evictions time.Duration // until then
}

// standingOf looks at both sides of a node, apart from what goes on without any event.
func standingOf(s *view.State, name string) standing {
	sides := belief.OfNode(s, name)
	st := standing{said: sides.Said, is: sides.Is, cut: sides.Cut, since: sides.Since}
	n := s.Node(name)
	if n != nil && st.said == scene.Unheard && slices.Contains(n.Taints, unreachable) {
		st.evicted = n.ReportedAt + tolerated
	}
	return st
}

// at is how it stands in a state: how long nothing was heard, and what is still to come.
func (st standing) at(s *view.State, lease time.Duration) standing {
	if lease >= 0 {
		st.silent = s.At - lease
		st.overdue = st.said == scene.Works && st.silent >= view.NodeGrace
	}
	if st.evicted > 0 {
		st.evictions = st.evicted - s.At
	}
	return st
}

// What the node lifecycle controller does with a node that nobody hears of, and how long a pod
// stays there: what admission gives every pod that says nothing else (DefaultTolerationSeconds).
const (
	unreachable = corev1.TaintNodeUnreachable + ":NoExecute"
	tolerated   = 300 * time.Second
)

// differs reports whether both sides are to be drawn.
func (st standing) differs() bool { return scene.Differs(st.said, st.is) }

// mark is how a node is marked where there is room for one mark only: as it is said to be,
// unless it is off, which nobody may know yet.
func (st standing) mark() (rune, grid.Style) {
	switch {
	case st.is == scene.Off && st.said == scene.Works, st.said == scene.Ails:
		return '✗', theme.Bad
	case st.said == scene.Unheard:
		return '?', theme.Warn
	case st.overdue || st.is == scene.Ails && st.said == scene.Works:
		return '◑', theme.Warn
	case st.said == scene.Unsaid:
		return '?', theme.Muted
	}
	return '●', theme.Good
}

// word stands beside a node's name where the mark says that something is wrong.
func (st standing) word() string {
	switch {
	case st.said == scene.Ails:
		return " NotReady"
	case st.is == scene.Off:
		return " off"
	case st.said == scene.Unheard || st.overdue || st.cut:
		return " " + words.Dur(st.silent.Truncate(time.Second))
	}
	return ""
}

// sides are the rows of a node of which something else is said than it is: what the API server
// has written down, then what the node does.
func (p *picture) sides(st standing, name string, w, room int) [][]grid.Span {
	said := row(span("said ", theme.Muted), span("● Ready", theme.Good), span(", reported "+words.Dur(st.silent.Truncate(time.Second))+" ago", theme.Muted))
	if st.said == scene.Unheard {
		said = row(span("said ", theme.Muted), span("? Unknown", theme.Warn|grid.Bold), span(": silent "+words.Dur(st.silent.Truncate(time.Second)), theme.Warn))
	}
	pods := slices.DeleteFunc(slices.Clone(p.pods.byNode[name]), func(c cell) bool { return c.ghost })
	rows := [][]grid.Span{said}
	if room < 5 { // the pods behind what they are said to be, and what they are
		rows[0] = row(span("said ", theme.Muted), said[2])
		rows[0] = append(rows[0], p.saidPods(st, pods, w-grid.Width(said[2].Text)-8)...)
	} else {
		rows = append(rows, append(row(span("    ", theme.Muted)), p.saidPods(st, pods, w-6)...))
	}
	is := row(span("is   ", theme.Muted))
	if st.is == scene.Off {
		clock, _, _ := strings.Cut(words.Clock(st.since), ".")
		is = append(is, span("✗ off", theme.Bad|grid.Bold), span(" since "+clock, theme.Bad))
	} else if room < 5 {
		is = append(is, span("● runs", theme.Good))
		is = append(is, p.isPods(st, pods, w-14)...)
	} else {
		is = append(is, p.processes(name, w-6)[1:]...)
	}
	evicted := row(span("     evicted in "+words.Dur(st.evictions.Truncate(time.Second)), theme.Warn))
	switch {
	case st.evictions <= 0 || len(pods) == 0:
		rows = append(rows, is)
	case room < 5:
		rows = append(rows, is, evicted)
	default:
		rows = append(rows, evicted, is)
	}
	if room >= 5 && st.is != scene.Off {
		rows = append(rows, append(row(span("    ", theme.Muted)), p.isPods(st, pods, w-6)...))
	}
	return rows[:min(len(rows), room)]
}

// saidPods are a node's pods as the API server has them.
func (p *picture) saidPods(st standing, pods []cell, w int) []grid.Span {
	if len(pods) == 0 {
		return []grid.Span{span(" no pods", theme.Muted)}
	}
	note := ""
	if st.said == scene.Unheard {
		note = " out of the Service"
	}
	return podsOf(pods, w, note, func(c cell) (rune, grid.Style) {
		if st.said == scene.Unheard {
			return '?', theme.Warn
		}
		return c.mark.Glyph, c.mark.Style
	})
}

// isPods are a node's pods as its kubelet has them.
func (p *picture) isPods(st standing, pods []cell, w int) []grid.Span {
	note := ""
	if st.cut {
		note = " runs, not asked"
		if len(pods) > 1 {
			note = " run, not asked"
		}
	}
	return podsOf(pods, w, note, func(c cell) (rune, grid.Style) {
		if pod := p.f.S.NodePod(c.obj.Ref.Key()); pod != nil && runs(pod) {
			return '●', theme.Good
		}
		return '◌', theme.Muted
	})
}

// runs reports whether all containers of a pod run, as its kubelet sees it.
func runs(pod *view.NodePod) bool {
	for _, c := range pod.Containers() {
		if !strings.EqualFold(c.State, "running") {
			return false
		}
	}
	return len(pod.Containers()) > 0
}

// podsOf are pods in a row, each with its letter and a mark; a single one with its name, and a
// note behind them, where there is room.
func podsOf(pods []cell, w int, note string, mark func(cell) (rune, grid.Style)) []grid.Span {
	var r []grid.Span
	for i, c := range pods {
		if (i+1)*3 > w {
			break
		}
		glyph, st := mark(c)
		r = append(r, span(" "+string(c.letter)+string(glyph), st|grid.Bold))
	}
	used := 3 * len(r)
	if len(pods) == 1 && w-used >= grid.Width(note)+7 {
		name := " " + grid.CutLeft(pods[0].obj.Name(), 6)
		r = append(r, span(name, theme.Text))
		used += grid.Width(name)
	}
	if w-used >= grid.Width(note) {
		r = append(r, span(note, theme.Muted))
	}
	return r
}
