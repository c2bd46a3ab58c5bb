package store

import (
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/motion"
	"kviz/tui/pane"
	"kviz/tui/scene"
	"kviz/tui/theme"
)

// ring is the raft picture while it is drawn: where the members stand, and the boxes and
// lines that the state gives them.
type ring struct {
	*scene.Scene
	scene.Picture
	s       *pane.Sheet
	f       *pane.Frame
	members []*view.Member
	sides   [][]*view.Member // that reach one another
}

// Fills implements [pane.Filler]: the picture takes the whole window.
func (p *Store) Fills(w, rows int) bool {
	form := scene.FormOf(w, rows)
	return p.View().Name == "picture" && (form == scene.Full || form == scene.Small)
}

// drawPicture draws the members in their places, what each knows and believes, and what
// crosses between them; where there is no room for that, or there are no members, the logs.
func (p *Store) drawPicture(s *pane.Sheet, f *pane.Frame) {
	members := f.S.Store.Members()
	if !p.Fills(s.W(), f.Rows) || len(members) == 0 {
		p.drawLogs(s, f)
		return
	}
	r := newRing(s, f)
	r.Scene = p.sceneFor(r.shape(), s.W(), f.Rows)
	r.Picture = r.Blank()
	for _, m := range members {
		r.member(m)
	}
	r.links()
	r.messages()
	r.lights()
	p.painter.Paint(s.Rows(0, f.Rows), r.Scene, r.Picture)
	for _, at := range r.Places {
		s.Mark(at.Rect, at.ID)
	}
	r.hots()
	p.lights = p.lights[:0]
	for _, l := range r.Lines {
		p.lights = append(p.lights, l.Light)
	}
	p.drawFoot(r)
}

// newRing is the picture of a state before it is laid out.
func newRing(s *pane.Sheet, f *pane.Frame) *ring {
	return &ring{s: s, f: f, members: f.S.Store.Members(), sides: f.S.Sides()}
}

// sceneFor is the scene of some members in a size: the last one, as long as both are the
// same.
func (p *Store) sceneFor(of scene.Ring, w, h int) *scene.Scene {
	key := fmt.Sprintf("%v %d %d", of, w, h)
	if p.scene == nil || p.sceneOf != key {
		p.scene, p.sceneOf = scene.RingOf(of, w, h), key
	}
	return p.scene
}

// shape is who is to be laid out.
func (r *ring) shape() scene.Ring {
	of := scene.Ring{Foot: 5 + len(r.members), Hub: r.hub()} // three rows of words, the tabs, the logs with their head
	for _, m := range r.members {
		if m.Learner {
			of.Learners = append(of.Learners, m.Name)
			continue
		}
		of.Voters = append(of.Voters, m.Name)
	}
	return of
}

// hub is the member that stands above where a ring would be too small for all: who leads;
// while nobody does who stands for election, in the newest term, and until somebody does
// whom the others still believe to lead.
func (r *ring) hub() string {
	var leading, standing, believed, first *view.Member
	for _, m := range r.members {
		if m.Learner {
			continue
		}
		if first == nil {
			first = m
		}
		if m.Name == r.f.S.Store.Leader {
			leading = m
		}
		if stands(m) && (standing == nil || m.Term > standing.Term) {
			standing = m
		}
		if o := r.f.S.Store.Member(m.Leader); believed == nil && m.Up && o != nil && !o.Learner && !o.Left {
			believed = o
		}
	}
	for _, m := range []*view.Member{leading, standing, believed, first} {
		if m != nil {
			return m.Name
		}
	}
	return ""
}

// spoke reports whether a member is one from which links are drawn at rest: who leads, or
// stands for election.
func spoke(m *view.Member) bool { return m.Up && (m.Role == "leader" || m.Role == "candidate") }

// pulses are what moves between members, and what is about to.
func (r *ring) pulses(each func(q motion.Pulse, m *trace.RaftMessage)) {
	if r.f.Motion == nil {
		return
	}
	for _, list := range [][]motion.Pulse{r.f.Motion.Pulses, r.f.Motion.Waiting} {
		for _, q := range list {
			if m, ok := q.Event.Payload.(*trace.RaftMessage); ok {
				each(q, m)
			}
		}
	}
}

// voting reports whether the votes that elected the leader are still seen to cross. Those of pre-votes are not
// meant: a member that is cut off asks for them again and again.
func (r *ring) voting() bool {
	crossing := false
	r.pulses(func(q motion.Pulse, x *trace.RaftMessage) {
		if q.Class != motion.Ballots || q.Whole || x.RPC != "RequestVote" {
			return
		}
		for _, m := range r.members {
			if leads(m) && x.Term == m.Term && (x.From == m.Name || x.To == m.Name) {
				crossing = true
			}
		}
	})
	return crossing
}

// leads reports whether a member leads.
func leads(m *view.Member) bool { return m.Up && m.Role == "leader" }

// stands reports whether a member stands for election.
func stands(m *view.Member) bool { return m.Up && m.Role == "candidate" }

// links are the lines between members: all of three, else those of who leads or stands
// for election; what is cut always.
func (r *ring) links() {
	for i, e := range r.Edges {
		l := &r.Lines[i]
		a, b := r.named(e.From), r.named(e.To)
		if a == nil || b == nil {
			continue
		}
		there, back := r.f.S.Link(a.Name, b.Name), r.f.S.Link(b.Name, a.Name)
		shown := len(r.members) <= 3 || spoke(a) || spoke(b)
		if a.Learner || b.Learner {
			shown = spoke(a) || spoke(b)
		}
		switch {
		case !a.Up || !b.Up:
			l.Light = scene.Dead
			continue
		case there == view.Severed && back == view.Severed:
			l.Cut = true
		case there == view.Severed:
			l.Stop = true
		case back == view.Severed:
			l.Mute = true
		case !shown:
			l.Light = scene.Hidden
		case there == view.Slow || back == view.Slow:
			l.Light = scene.Slow
		}
	}
}

func (r *ring) named(id string) *view.Member {
	name, _ := strings.CutPrefix(id, "member/")
	for _, m := range r.members {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// box is how a place looks; one that nobody draws where there is no such place.
func (r *ring) box(id string) *scene.Box {
	if i := r.Index(id); i >= 0 {
		return &r.Boxes[i]
	}
	return &scene.Box{}
}

// hots are the cursor's stops: the members, and the middles of the links.
func (r *ring) hots() {
	for _, m := range r.members {
		at, ok := r.At(scene.MemberID(m.Name))
		if !ok {
			continue
		}
		w := 0
		for _, t := range r.box(at.ID).Title {
			w += grid.Width(t.Text)
		}
		r.s.Hot(at.Rect.X+3, at.Rect.Y, w, pane.Subject{ID: at.ID, Target: at.ID, Event: m.Event, Words: Words(m), Copy: m.Name})
	}
	newest := r.newest()
	for i, e := range r.Edges {
		if n := len(e.Cells); n > 0 && r.Lines[i].Light != scene.Hidden {
			c := e.Cells[n/2]
			on, tell := r.link(e, newest[i], r.Lines[i].Cut)
			r.s.HotTold(c.X, c.Y, 1, on, tell)
		}
	}
}

// newest are the last messages that went over the links, nil where there was none.
func (r *ring) newest() []*view.Message {
	newest := make([]*view.Message, len(r.Edges))
	for _, list := range [][]*view.Message{r.f.S.Store.EndedMessages(), r.f.S.Store.InFlight()} {
		for _, m := range list {
			i, _, ok := r.Way(scene.MemberID(m.From), scene.MemberID(m.To))
			if ok && (newest[i] == nil || m.Serial > newest[i].Serial) {
				newest[i] = m
			}
		}
	}
	return newest
}

// link is the subject of the way between two members, over which a message went last, and what makes its words.
func (r *ring) link(e scene.Edge, newest *view.Message, cut bool) (pane.Subject, func() string) {
	a, b := r.named(e.From), r.named(e.To)
	id := linkID(e)
	on := pane.Subject{ID: id, Target: id, Copy: a.Name + "-" + b.Name}
	if newest != nil {
		on.Event = latest(newest)
	}
	return on, func() string {
		said := fmt.Sprintf("Between %s and %s", a.Name, b.Name)
		switch {
		case cut:
			said += " the network is cut"
		case newest == nil:
			said += ": no message yet"
		}
		if newest != nil {
			said += fmt.Sprintf("; the last message: %s from %s to %s, %s", content(newest, true), newest.From, newest.To, newest.Phase)
		}
		return said + ". Enter goes to it, f breaks this link."
	}
}

// linkID is the ID of the way between two members.
func linkID(e scene.Edge) string {
	return "link/" + strings.TrimPrefix(e.From, "member/") + "-" + strings.TrimPrefix(e.To, "member/")
}

// Touch implements [pane.Toucher]: a click on a link is one on its middle, where the cursor stops.
func (p *Store) Touch(x, y int, _ *pane.Frame) string {
	if p.View().Name != "picture" || p.scene == nil {
		return ""
	}
	for i, e := range p.scene.Edges {
		if i < len(p.lights) && p.lights[i] != scene.Hidden && slices.ContainsFunc(e.Cells, func(c scene.Cell) bool { return c.X == x && c.Y == y }) {
			return linkID(e)
		}
	}
	return ""
}

// latest is the last event of a message.
func latest(m *view.Message) trace.ID {
	switch {
	case !m.Ended.IsZero():
		return m.Ended
	case !m.Delivered.IsZero():
		return m.Delivered
	}
	return m.Sent
}

// span is a piece of text.
func span(text string, st grid.Style) grid.Span { return grid.Span{Text: text, Style: st} }

// line is a row of a box, with a blank before it.
func line(spans ...grid.Span) []grid.Span {
	return append([]grid.Span{span(" ", theme.Text)}, spans...)
}
