package store

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/grid"
	"kviz/tui/motion"
	"kviz/tui/scene"
	"kviz/tui/theme"
)

// chipCells is how long a link must be for what goes along it to be a chip.
const chipCells = 12

// moving reports whether messages are seen to move: then they are not drawn where they
// stand.
func (r *ring) moving() bool {
	any := false
	r.pulses(func(q motion.Pulse, _ *trace.RaftMessage) { any = any || !q.Whole })
	return any
}

// messages draws what is between members now: sent, in the middle of the link; delivered,
// at whom it went to; answered, back at who asked; into a cut, at the stub's end.
func (r *ring) messages() {
	moving := r.moving()
	for _, m := range r.f.S.Store.InFlight() {
		i, _, ok := r.Way(scene.MemberID(m.From), scene.MemberID(m.To))
		if !ok || m.Request == nil {
			continue
		}
		hangs := r.f.S.Link(m.From, m.To) == view.Severed || !r.up(m.To)
		if moving && !hangs {
			continue
		}
		share := 0.5
		if m.Phase == "delivered" {
			share = 1
		}
		r.chip(i, trace.RaftSend, m.Request, share)
	}
	for _, m := range r.f.S.Store.EndedMessages() {
		if m.Ended != r.f.S.Last || m.Answer == nil || moving {
			continue
		}
		i, _, ok := r.Way(scene.MemberID(m.From), scene.MemberID(m.To))
		switch {
		case !ok:
		case m.Phase == "lost":
			r.lost(i, m)
		default:
			r.chip(i, trace.RaftReply, m.Answer, 1)
		}
	}
}

// up reports whether a member runs.
func (r *ring) up(name string) bool {
	m := r.f.S.Store.Member(name)
	return m != nil && m.Up
}

// chip puts a message, or the answer to one, on a link.
func (r *ring) chip(edge int, kind trace.Kind, m *trace.RaftMessage, share float64) {
	light, ok := motion.Of(&trace.Event{Kind: kind, Payload: m}, r.f.S)
	if !ok {
		return
	}
	h := r.head(edge, light)
	h.Share = share
	l := &r.Lines[edge]
	if l.Light == scene.Sound || l.Light == scene.Hidden {
		l.Light, l.Role = scene.Faint, light.Role
	}
	l.Heads = append(l.Heads, h)
}

// chips reports whether what goes along a link is a chip: where it is long, and wherever
// there is much room.
func (r *ring) chips(edge int) bool {
	return len(r.Edges[edge].Cells) >= chipCells || r.Form == scene.Full && len(r.Edges[edge].Cells) > 3
}

// lost marks where a message that has just been lost came to.
func (r *ring) lost(edge int, m *view.Message) {
	_, back, _ := r.Way(scene.MemberID(m.From), scene.MemberID(m.To))
	r.Lines[edge].Heads = append(r.Lines[edge].Heads, scene.Head{Share: 0.5, Back: back, Glyph: '✗', Style: theme.Bad, Chip: r.chips(edge)})
}

// head is how a light looks on a link: a chip where there is room.
func (r *ring) head(edge int, of motion.Light) scene.Head {
	h := scene.Head{Glyph: of.Glyph, Style: of.Role, Back: r.Edges[edge].From != of.From}
	h.Chip = of.Chip && r.chips(edge)
	h.Long = of.Glyph == '▓' // a snapshot
	return h
}

// lights draws what moves on the picture at rest.
func (r *ring) lights() {
	shot := r.f.Motion
	if shot == nil {
		return
	}
	for _, g := range shot.Glows {
		if i, _, ok := r.Way(g.From, g.To); ok {
			l := &r.Lines[i]
			l.Role = g.Role
			if l.Light = scene.Faint; g.Level > 1 {
				l.Light = scene.Lit
			}
		}
	}
	voting := r.voting()
	for _, q := range shot.Pulses {
		if voting && q.Class != motion.Ballots { // one thing at a time
			continue
		}
		if i, _, ok := r.Way(q.From, q.To); ok {
			r.pulse(i, q, q.Event == shot.Event)
		}
	}
	if m := r.named(shot.Place); m != nil && m.Up {
		b := r.box(shot.Place)
		b.Standing, b.Role = scene.Emphasised, theme.Term(m.Term)
	}
	for _, q := range shot.Lamps {
		if m := r.named(q.From); m != nil {
			r.lamp(q)
		}
	}
}

// lamp draws a light behind a member's title, where there is room. A flash is one of the whole border.
func (r *ring) lamp(q motion.Pulse) {
	b := r.box(q.From)
	if q.Bright {
		b.Standing, b.Role = scene.Emphasised, q.Role|grid.Reverse
	}
	if q.Class != motion.Undecided {
		b.Mark(span(" "+string(q.Glyph), q.Role|grid.Bold))
	}
}

// pulse draws one message on its way. The one that is told lights the whole link.
func (r *ring) pulse(edge int, q motion.Pulse, told bool) {
	l := &r.Lines[edge]
	if l.Light == scene.Hidden || l.Light == scene.Sound {
		l.Light, l.Role = scene.Faint, q.Role
	}
	if told {
		l.Light, l.Role = scene.Lit, q.Role
	}
	if q.Whole { // it stands: the message is drawn where it is
		if len(l.Heads) == 0 {
			h := r.head(edge, q.Light)
			h.Share = 1
			l.Heads = append(l.Heads, h)
		}
		return
	}
	h := r.head(edge, q.Light)
	h.Share, h.Trail = q.Share, q.Trail
	if q.Gone {
		h.Glyph, h.Style, h.Long = '✗', theme.Bad, false
	}
	if q.Count > 1 && !h.Chip {
		h.Count = fmt.Sprintf("×%d", q.Count)
	}
	l.Heads = append(l.Heads, h)
}

// under says in a row what is between members: "a ■ entry 109 ▸ c under way".
func (r *ring) under(w int) []grid.Span {
	var row []grid.Span
	width := 0
	add := func(text string, st grid.Style) bool {
		if n := grid.Width(text) + 4; width+n > w {
			return false
		} else if len(row) > 0 {
			row = append(row, span("    ", theme.Text))
			width += n
		} else {
			width += n - 4
		}
		row = append(row, span(text, st))
		return true
	}
	waiting := 0
	for _, m := range r.f.S.Store.InFlight() {
		if m.Request == nil || m.RPC == "RequestVote" || m.RPC == "RequestPreVote" {
			continue
		}
		if m.RPC == "AppendEntries" && len(m.Request.Entries) > 0 {
			waiting++
		}
		where := "under way"
		switch {
		case r.f.S.Link(m.From, m.To) == view.Severed:
			where = "waits at the cut"
		case !r.up(m.To):
			where = "waits: " + m.To + " is down"
		case m.Phase == "delivered":
			where = "is there"
		}
		add(fmt.Sprintf("%s %s ▸ %s %s", m.From, cargo(m.Request), m.To, where), theme.Busy)
	}
	for _, m := range r.f.S.Store.EndedMessages() {
		if m.Ended != r.f.S.Last || m.Answer == nil || m.RPC == "RequestVote" || m.RPC == "RequestPreVote" {
			continue
		}
		switch {
		case m.Phase == "lost":
			add(fmt.Sprintf("%s %s ✗ %s lost", m.From, cargo(m.Request), m.To), theme.Bad)
		case m.Answer.OK:
			add(fmt.Sprintf("%s □ has %d ▸ %s", m.To, m.Answer.Match, m.From), theme.Good)
		default:
			add(fmt.Sprintf("%s ✗ refuses ▸ %s", m.To, m.From), theme.Warn)
		}
	}
	if waiting > 0 {
		missing := "1 answer is missing"
		if waiting > 1 {
			missing = fmt.Sprintf("%d answers are missing", waiting)
		}
		add(missing, theme.Muted)
	}
	return row
}

// cargo is what a message carries, in a few words.
func cargo(m *trace.RaftMessage) string {
	switch {
	case m == nil:
		return "message"
	case m.RPC == "InstallSnapshot":
		return "▓ snapshot"
	case m.RPC == "TimeoutNow":
		return "◆ stand for election"
	case len(m.Entries) == 1:
		return fmt.Sprintf("■ entry %d", m.Entries[0].Index)
	case len(m.Entries) > 1:
		return fmt.Sprintf("■ entries %d to %d", m.Entries[0].Index, m.Entries[len(m.Entries)-1].Index)
	}
	return fmt.Sprintf("· commit %d", m.Commit)
}

// names are those of members.
func names(members []*view.Member) string {
	all := make([]string, len(members))
	for i, m := range members {
		all[i] = m.Name
	}
	return strings.Join(all, " ")
}
