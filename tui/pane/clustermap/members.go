package clustermap

import (
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/theme"
)

func (p *picture) store() {
	b, st := p.box(scene.Store), &p.f.S.Store
	q := pane.Known(p.f.S)
	on := pane.Subject{ID: scene.Store, Target: "store", Copy: "store", Words: fmt.Sprintf("The store at revision %d, %s.", st.Revision, pane.Quorum(q))}
	members := st.Members()
	lost := p.floors.Store
	if lost {
		b.Standing = scene.Down
	}
	quorum := span(fmt.Sprintf("%s %d of %d, %d make a quorum", dotsOf(q), q.Have, q.Total, q.Need), theme.Good)
	if lost {
		quorum = span(fmt.Sprintf("%s %d of %d: NO QUORUM", dotsOf(q), q.Have, q.Total), theme.Bad|grid.Bold)
	}
	if split := p.split(); split != "" {
		on.Words += " Its members do not all reach one another: " + split + "."
		if !lost {
			quorum = span(fmt.Sprintf("%s %s: %d of %d write", dotsOf(q), split, q.Have, q.Total), theme.Warn)
		}
	}
	if q.Total == 0 {
		quorum = span("one process, without members", theme.Muted)
		on.Words = fmt.Sprintf("The store is one process, at revision %d.", st.Revision)
	}
	at, _ := p.At(scene.Store)
	if p.Form == scene.Full {
		b.Title = []grid.Span{span("store", theme.Title)}
		if q.Total > 0 {
			b.Title = append(b.Title, span(" · term ", theme.Muted), span(fmt.Sprint(st.Term), theme.Term(st.Term)))
		}
		b.Title = append(b.Title, span(" · rev ", theme.Muted), span(fmt.Sprint(st.Revision), theme.Number))
		b.Rows = make([][]grid.Span, 11)
		b.Rows = append(b.Rows, row(span(" ", theme.Text), quorum))
	} else if p.Form == scene.Small {
		b.Title = []grid.Span{span("store", theme.Title), span(fmt.Sprintf(" t%d", st.Term), theme.Term(st.Term)), span(fmt.Sprintf(" rev %d", st.Revision), theme.Number)}
		if q.Total == 0 {
			b.Title = slices.Delete(b.Title, 1, 2)
		}
		if at.Rect.H >= 7 {
			short := span(pane.Quorum(q), quorum.Style)
			if split := p.split(); split != "" && !lost {
				short.Text = fmt.Sprintf("%s %s %d/%d", dotsOf(q), split, q.Have, q.Total)
			}
			if q.Total == 0 {
				short = span("one process", theme.Muted)
			}
			b.Rows = append(make([][]grid.Span, 4), row(short))
		} else if lost {
			b.Title = []grid.Span{span("store", theme.Title), span(" NO QUORUM", theme.Bad|grid.Bold)}
		}
	} else if q.Total == 0 {
		b.Rows = [][]grid.Span{nil, {span("store ", theme.Title), span(fmt.Sprintf("rev %d", st.Revision), theme.Number)}}
	}
	if p.Form != scene.Strip || q.Total == 0 {
		p.hot(scene.Store, on)
	}
	for _, m := range members {
		p.member(m)
	}
	p.links(members)
}

// member draws one member: whether it leads, and how far its log is.
func (p *picture) member(m *view.Member) {
	id := "member/" + m.Name
	b := p.box(id)
	glyph, st := pane.Member(m)
	if m.Role == "leader" && m.Up || m.Role == "candidate" && m.Up {
		st = theme.Term(m.Term) | grid.Bold
	}
	on := pane.Subject{ID: id, Target: id, Event: m.Event, Words: memberWords(m), Copy: m.Name}
	if old := p.outdated(m); old != "" {
		on.Words += fmt.Sprintf(" The others are in term %d: it does not know.", p.f.S.Store.Term)
	}
	at, _ := p.At(id)
	if len(p.f.S.FaultsOn(id)) > 0 && m.Up {
		b.Standing = scene.Degraded
	}
	if !m.Up {
		b.Standing = scene.Down
	}
	last := fmt.Sprint(m.Last)
	if at.Framed {
		b.Title = []grid.Span{span(m.Name+" ", st), span(string(glyph), st)}
		if old := p.outdated(m); old != "" {
			b.Standing, b.Title = scene.Degraded, append(b.Title, span(" "+old, theme.Warn|grid.Bold))
		}
		if bar, ok := timeout(m, 6); ok {
			b.Rows = [][]grid.Span{append(bar, span(" "+last, theme.Number))}
			p.hot(id, on)
			return
		}
		n := min(6, at.Rect.W-4-len(last))
		var cells []grid.Span
		for i := max(int64(m.Last)-int64(n)+1, 1); i <= int64(m.Last); i++ {
			switch state := m.Entry(uint64(i)); {
			case !m.Up:
				cells = append(cells, span("■", theme.Muted))
			case state == view.EntryWritten:
				cells = append(cells, span("□", theme.Busy))
			case state == view.EntryDurable:
				cells = append(cells, span("■", theme.Busy))
			default:
				cells = append(cells, span("■", theme.Good))
			}
		}
		b.Rows = [][]grid.Span{append(cells, span(" "+last, theme.Number))}
	} else {
		text := string(glyph) + " " + m.Name + " "
		switch short := string(glyph) + m.Name + " "; {
		case at.Rect.W >= 7 && grid.Width(text+last) <= at.Rect.W:
		case at.Rect.W >= 7 && grid.Width(short+last) <= at.Rect.W:
			text = short
		default: // an index that is cut would be another one
			text, last = string(glyph)+m.Name, ""
		}
		number := theme.Number
		if !m.Up {
			number = theme.Muted
		}
		b.Rows = [][]grid.Span{{span(text, st), span(last, number)}}
		if bar, ok := timeout(m, 4); ok && last != "" {
			b.Rows = [][]grid.Span{append([]grid.Span{span(text, st)}, bar...)}
		}
		if old := p.outdated(m); old != "" && last != "" {
			b.Rows = [][]grid.Span{{span(text, theme.Warn), span(old, theme.Warn|grid.Bold)}}
		}
	}
	p.hot(id, on)
}

// timeout is the bar of a follower's election timeout while it runs down: what is left is known
// in quarters of the least timeout.
func timeout(m *view.Member, w int) (bar []grid.Span, ok bool) {
	if !m.Up || m.Timeout == nil || m.Role != "follower" {
		return nil, false
	}
	full, st := w*m.Timeout.Left/4, theme.Warn
	if m.Timeout.Left < 2 {
		st = theme.Bad
	}
	return []grid.Span{span(strings.Repeat("▓", full), st|grid.Bold), span(strings.Repeat("░", w-full), st)}, true
}

// outdated is the term that a member still believes in while others are in a newer one; ""
// where it knows what the others know.
func (p *picture) outdated(m *view.Member) string {
	if m.Up && m.Term > 0 && m.Term < p.f.S.Store.Term {
		return fmt.Sprintf("t%d", m.Term)
	}
	return ""
}

// split are the parts of the store that reach one another, where a fault has split it: who
// could write, then who could not.
func (p *picture) split() string {
	var parts []string
	for _, side := range p.f.S.Sides() {
		names := ""
		for _, m := range side {
			names += m.Name
		}
		parts = append(parts, names)
	}
	if len(parts) < 2 {
		return ""
	}
	return strings.Join(parts, "|")
}

// links are the lines to and between members: to whoever leads, and between all of three,
// else from who leads or stands for election. Where a fault has cut one, its ends are left.
func (p *picture) links(members []*view.Member) {
	leads := map[string]bool{}
	hub := p.f.S.Store.Leader
	for _, m := range members {
		leads["member/"+m.Name] = m.Up && (m.Role == "leader" || m.Role == "candidate")
	}
	own := hub != "" && slices.ContainsFunc(p.Edges, func(e scene.Edge) bool { return e.Class == scene.Writes && e.To == "member/"+hub })
	for i, e := range p.Edges {
		l := &p.Lines[i]
		switch e.Class {
		case scene.Writes:
			if l.Light = scene.Hidden; e.To == "member/"+hub || e.To == scene.Store && !own {
				l.Light = scene.Sound
			}
		case scene.Raft:
			if len(members) > 3 && !leads[e.From] && !leads[e.To] {
				l.Light = scene.Hidden
			}
			from, to := strings.TrimPrefix(e.From, "member/"), strings.TrimPrefix(e.To, "member/")
			there, back := p.f.S.Link(from, to), p.f.S.Link(to, from)
			l.Stop, l.Mute = there == view.Severed, back == view.Severed
			l.Cut = l.Stop && l.Mute
			if l.Light == scene.Sound && max(there, back) == view.Slow {
				l.Light = scene.Slow
			}
		}
	}
}
