package clustermap

import (
	"fmt"

	"kviz/cluster/trace"
	"kviz/tui/grid"
	"kviz/tui/motion"
	"kviz/tui/scene"
	"kviz/tui/theme"
)

// told is the event that the picture emphasises, nil at rest.
func (p *picture) told() *trace.Event {
	if p.f.Motion == nil {
		return nil
	}
	return p.f.Motion.Event
}

// chipCells is how long a way must be for what goes along it to be a chip.
const chipCells = 12

// lights draws what moves, and what has just moved, on the picture at rest.
func (p *picture) lights() {
	shot := p.f.Motion
	if shot == nil {
		return
	}
	for _, g := range shot.Glows {
		p.glow(g)
	}
	for _, q := range shot.Pulses {
		p.pulse(q, q.Event == shot.Event)
	}
	for _, q := range shot.Lamps {
		p.lamp(q)
	}
	if b := p.box(shot.Place); shot.Place != "" && b.Standing != scene.Down {
		b.Standing = scene.Emphasised
		if member, ok := p.memberOf(shot.Place); ok {
			b.Role = theme.Term(member)
		}
	}
}

// memberOf is the term of the member that stands at a place.
func (p *picture) memberOf(id string) (term uint64, ok bool) {
	for _, m := range p.f.S.Store.Members() {
		if "member/"+m.Name == id {
			return m.Term, true
		}
	}
	return 0, false
}

func (p *picture) glow(g motion.Glow) {
	i, _, ok := p.Way(g.From, g.To)
	if !ok {
		return
	}
	l := &p.Lines[i]
	l.Role = g.Role
	if l.Light = scene.Faint; g.Level > 1 {
		l.Light = scene.Lit
	}
	switch g.Level {
	case 2:
		l.Role |= grid.Faint
	case 4:
		l.Role |= grid.Bold
	}
	if g.Count > 0 && l.Label == "" {
		l.Label, l.Note = fmt.Sprintf("×%d/s", g.Count), g.Role
	}
}

// pulse draws one thing on its way. The one that is told lights its whole way and has a
// white head and a label; the others are heads without a trail.
func (p *picture) pulse(q motion.Pulse, told bool) {
	i, back, ok := p.Way(q.From, q.To)
	if !ok { // one of both has no place in this form: the other lights up
		if q.From = p.standsFor(q.From, q.To); q.From != "" {
			p.lamp(q)
		}
		return
	}
	l := &p.Lines[i]
	h := scene.Head{Share: q.Share, Back: back, Glyph: q.Glyph, Style: q.Role}
	if q.Chip && len(p.Edges[i].Cells) >= chipCells {
		h.Chip = true
	}
	if l.Light == scene.Hidden {
		l.Light = scene.Sound
	}
	if q.Count > 1 {
		h.Count = fmt.Sprintf("×%d", q.Count)
	}
	if told {
		l.Role = q.Role
		if l.Light = scene.Lit; !h.Chip && !q.Gone {
			h.Style = theme.Title
		}
		if q.Label != "" && l.Label == "" {
			l.Label, l.Note = q.Label, q.Role
		}
	}
	if q.Gone {
		h.Style = theme.Bad
	}
	if q.Whole && told && !q.Lost && !h.Chip {
		h.Glyph = 0 // an arrow at its end
	}
	l.Heads = append(l.Heads, h)
}

// standsFor is the one of two places that there is, "" where there are both or none.
func (p *picture) standsFor(a, b string) string {
	switch i, j := p.Index(a), p.Index(b); {
	case i >= 0 && j < 0:
		return a
	case j >= 0 && i < 0:
		return b
	}
	return ""
}

// flash is what is seen from the back of a room when something is broken or mended: the whole
// border, or the whole line, in reverse.
func flash(b *scene.Box, role grid.Style) {
	b.Standing, b.Role = scene.Emphasised, role|grid.Reverse
	if len(b.Title) == 0 {
		for y, r := range b.Rows[:min(len(b.Rows), 1)] {
			b.Rows[y] = nil
			for _, x := range r {
				b.Rows[y] = append(b.Rows[y], span(x.Text, role|grid.Reverse|grid.Bold))
			}
		}
	}
}

// lamp lights a place up: the mark of what it does at the end of its title or line.
func (p *picture) lamp(q motion.Pulse) {
	at, ok := p.At(q.From)
	if !ok {
		return
	}
	b := p.box(q.From)
	if len(at.Names) > 0 { // a cell of nodes flashes when one of them has something new
		for i := range b.Rows {
			b.Rows[i] = []grid.Span{span(b.Rows[i][0].Text, q.Role|grid.Reverse)}
		}
		return
	}
	if q.Class == motion.Undecided {
		flash(b, q.Role)
		return
	}
	mark := []grid.Span{span(" "+string(q.Glyph), q.Role|grid.Bold)}
	if q.Count > 1 {
		mark = append(mark, span(fmt.Sprintf("×%d", q.Count), q.Role))
	}
	if at.Framed && q.Label != "" && at.Rect.W > 24 {
		mark = append(mark, span(" "+q.Label, q.Role))
	}
	b.Mark(mark...)
	if q.Bright { // twice, however it stands
		flash(b, q.Role)
	}
}
