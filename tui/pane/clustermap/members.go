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
	f, st := p.face(scene.Store), &p.f.S.Store
	q := st.Quorum()
	on := pane.Subject{ID: scene.Store, Target: "store", Copy: "store", Words: fmt.Sprintf("The store at revision %d, %s.", st.Revision, pane.Quorum(q))}
	members := st.Members()
	lost := q.Total > 0 && !q.OK()
	if lost {
		f.Standing = scene.Down
	}
	quorum := span(fmt.Sprintf("%s%s %d of %d, %d make a quorum", strings.Repeat("●", q.Have), strings.Repeat("○", max(q.Total-q.Have, 0)), q.Have, q.Total, q.Need), theme.Good)
	if lost {
		quorum = span(fmt.Sprintf("%s%s %d of %d: NO QUORUM", strings.Repeat("●", q.Have), strings.Repeat("○", max(q.Total-q.Have, 0)), q.Have, q.Total), theme.Bad|grid.Bold)
	}
	if q.Total == 0 {
		quorum = span("one process, without members", theme.Muted)
		on.Words = fmt.Sprintf("The store is one process, at revision %d.", st.Revision)
	}
	at, _ := p.At(scene.Store)
	if p.Form == scene.Full {
		f.Title = []grid.Span{span("store", theme.Title)}
		if q.Total > 0 {
			f.Title = append(f.Title, span(" · term ", theme.Muted), span(fmt.Sprint(st.Term), theme.Term(st.Term)))
		}
		f.Title = append(f.Title, span(" · rev ", theme.Muted), span(fmt.Sprint(st.Revision), theme.Number))
		f.Rows = make([][]grid.Span, 11)
		f.Rows = append(f.Rows, row(span(" ", theme.Text), quorum))
	} else if p.Form == scene.Small {
		f.Title = []grid.Span{span("store", theme.Title), span(fmt.Sprintf(" t%d", st.Term), theme.Term(st.Term)), span(fmt.Sprintf(" rev %d", st.Revision), theme.Number)}
		if q.Total == 0 {
			f.Title = slices.Delete(f.Title, 1, 2)
		}
		if at.Rect.H >= 7 {
			short := span(pane.Quorum(q), quorum.Style)
			if q.Total == 0 {
				short = span("one process", theme.Muted)
			}
			f.Rows = append(make([][]grid.Span, 4), row(short))
		} else if lost {
			f.Title = []grid.Span{span("store", theme.Title), span(" NO QUORUM", theme.Bad|grid.Bold)}
		}
	} else if q.Total == 0 {
		f.Rows = [][]grid.Span{nil, {span("store ", theme.Title), span(fmt.Sprintf("rev %d", st.Revision), theme.Number)}}
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
	f := p.face(id)
	glyph, st := pane.Member(m)
	if m.Role == "leader" && m.Up || m.Role == "candidate" && m.Up {
		st = theme.Term(m.Term) | grid.Bold
	}
	at, _ := p.At(id)
	if len(p.f.S.FaultsOn(id)) > 0 && m.Up {
		f.Standing = scene.Degraded
	}
	if !m.Up {
		f.Standing = scene.Down
	}
	last := fmt.Sprint(m.Last)
	if at.Framed {
		f.Title = []grid.Span{span(m.Name+" ", st), span(string(glyph), st)}
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
		f.Rows = [][]grid.Span{append(cells, span(" "+last, theme.Number))}
	} else {
		text := string(glyph) + " " + m.Name + " "
		if at.Rect.W < 7 {
			text = string(glyph) + m.Name
			last = ""
		}
		number := theme.Number
		if !m.Up {
			number = theme.Muted
		}
		f.Rows = [][]grid.Span{{span(text, st), span(last, number)}}
	}
	p.hot(id, pane.Subject{ID: id, Target: id, Event: m.Event, Words: memberWords(m), Copy: m.Name})
}

// links are the lines to and between members: to whoever leads, and between all of three,
// else from who leads or stands for election. Where a fault has cut one, its ends are left.
func (p *picture) links(members []*view.Member) {
	leads := map[string]bool{}
	hub := p.f.S.Store.Leader
	for _, m := range members {
		leads["member/"+m.Name] = m.Up && (m.Role == "leader" || m.Role == "candidate")
	}
	for i, e := range p.Edges {
		l := &p.Lines[i]
		switch e.Class {
		case scene.Writes:
			l.Light = scene.Hidden
			if e.To == "member/"+hub || e.To == scene.Store && (hub == "" || p.Form != scene.Full || p.Index("member/"+hub) < 0 || len(members) > 5) {
				l.Light = scene.Sound
			}
			if q := p.f.S.Store.Quorum(); q.Total > 0 && !q.OK() && l.Light == scene.Sound {
				l.Label, l.Note = "put ✗", theme.Bad
				if p.Form == scene.Small {
					l.Label = "✗"
				}
			}
		case scene.Raft:
			if len(members) > 3 && !leads[e.From] && !leads[e.To] {
				l.Light = scene.Hidden
			}
			l.Cut = p.cut(e.From, e.To)
		}
	}
}

// cut reports whether a fault has cut two members off from one another.
func (p *picture) cut(a, b string) bool {
	_, nameA, _ := strings.Cut(a, "/")
	_, nameB, _ := strings.Cut(b, "/")
	between := func(on, other string) bool {
		for _, f := range p.f.S.FaultsOn(on) {
			if f.Fault.Fault != "cut" {
				continue
			}
			if f.Detail == "" || slices.Contains(strings.FieldsFunc(f.Detail, func(r rune) bool { return r == ',' || r == ' ' }), other) {
				return true
			}
		}
		return false
	}
	if between(a, nameB) || between(b, nameA) {
		return true
	}
	for _, f := range p.f.S.FaultsOn("store") {
		if f.Fault.Fault == "partition" && apart(f.Detail, nameA, nameB) {
			return true
		}
	}
	return false
}

// apart reports whether two members are on different sides of a partition, "a,b" or
// "a,b c,d,e": who is named nowhere is on the other side of the first.
func apart(sides, a, b string) bool {
	side := func(name string) int {
		for i, s := range strings.Fields(sides) {
			if slices.Contains(strings.Split(s, ","), name) {
				return i
			}
		}
		return 1
	}
	return side(a) != side(b)
}
