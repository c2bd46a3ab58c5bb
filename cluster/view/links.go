package view

import (
	"slices"
	"strings"

	"kviz/cluster/trace"
)

// Way is how the way from one member of the store to another is.
type Way uint8

// The ways.
const (
	Sound   Way = iota
	Slow        // messages are late, doubled, overtaken, or some are lost
	Severed     // nothing arrives
)

// Link is how the way from one member to another is: one direction may be cut without
// the other.
func (s *State) Link(from, to string) Way {
	link := Sound
	look := func(on, other string, cutting string) {
		for _, f := range s.FaultsOn("member/" + on) {
			if f.MendedOn(from, to) {
				continue
			}
			named := f.peers()
			switch f.Fault.Fault {
			case "cut", cutting:
				if len(named) == 0 || slices.Contains(named, other) {
					link = Severed
				}
			case "delay", "drop", "duplicate", "reorder":
				if len(named) > 0 && named[0] == other {
					link = max(link, Slow)
				}
			}
		}
	}
	look(from, to, "mute")
	look(to, from, "deafen")
	for _, f := range s.FaultsOn("store") {
		if f.Fault.Fault == "partition" && apart(f.Detail, from, to) && !f.MendedOn(from, to) {
			return Severed
		}
	}
	return link
}

// peers are the members that a fault of a member's links names; none where it is one of all.
func (f *Fault) peers() []string {
	named := strings.FieldsFunc(f.Detail, func(r rune) bool { return r == ',' || r == ' ' })
	for i := range named {
		named[i] = strings.TrimPrefix(named[i], "member/")
	}
	return named
}

// MendedOn reports whether a fault is over on the link of two members.
func (f *Fault) MendedOn(a, b string) bool { return slices.Contains(f.Mended, between(a, b)) }

// between is the name of the link of two members, the same from both ends.
func between(a, b string) string { return min(a, b) + "-" + max(a, b) }

// mendLinks takes out what is over on the links of a member, at whichever end it was done: all of a
// fault, or the part of it that is about these links.
func (b *Builder) mendLinks(p *trace.Fault) {
	if !p.Links {
		return
	}
	of := strings.TrimPrefix(p.Target, "member/")
	mends := func(x, y string) bool {
		return x == of && (len(p.Peers) == 0 || slices.Contains(p.Peers, y)) || y == of && (len(p.Peers) == 0 || slices.Contains(p.Peers, x))
	}
	for key, f := range entries(b.s.faults) {
		var over []string
		left := false
		for _, l := range b.broken(f, p.Undoes) {
			if mends(l[0], l[1]) {
				over = append(over, between(l[0], l[1]))
			} else {
				left = true
			}
		}
		switch {
		case len(over) == 0:
		case !left:
			b.s.faults.delete(key)
		default:
			x := edit(b, b.s.faults, key)
			x.Mended = slices.Concat(x.Mended, over)
		}
	}
}

// broken are the links that a fault still breaks: of a partition, or of a member if it is among these.
func (b *Builder) broken(f *Fault, among []string) (links [][2]string) {
	add := func(x, y string) {
		if x != y && !f.MendedOn(x, y) {
			links = append(links, [2]string{x, y})
		}
	}
	var all []string
	for name, m := range entries(b.s.Store.members) {
		if !m.Left {
			all = append(all, name)
		}
	}
	at, ofMember := strings.CutPrefix(f.Target, "member/")
	switch named := f.peers(); {
	case f.Target == "store" && f.Fault.Fault == "partition":
		for i, x := range all {
			for _, y := range all[i+1:] {
				if apart(f.Detail, x, y) {
					add(x, y)
				}
			}
		}
	case !ofMember || !slices.Contains(among, f.Fault.Fault):
	case f.Fault.Fault == "delay" || f.Fault.Fault == "drop" || f.Fault.Fault == "duplicate" || f.Fault.Fault == "reorder":
		if len(named) > 0 { // then comes how much
			add(at, named[0])
		}
	case f.Fault.Fault == "cut" || f.Fault.Fault == "mute" || f.Fault.Fault == "deafen":
		if len(named) == 0 {
			named = all
		}
		for _, peer := range named {
			add(at, peer)
		}
	}
	return links
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

// Sides are the parts of the store whose members reach one another, of those that are up,
// by name; the largest first.
func (s *State) Sides() [][]*Member {
	var up []*Member
	for _, m := range s.Store.Members() {
		if m.Up {
			up = append(up, m)
		}
	}
	var all [][]*Member
	seen := map[string]bool{}
	for _, m := range up {
		if seen[m.Name] {
			continue
		}
		seen[m.Name] = true
		side := []*Member{m}
		for i := 0; i < len(side); i++ {
			for _, o := range up {
				if !seen[o.Name] && s.Link(side[i].Name, o.Name) != Severed && s.Link(o.Name, side[i].Name) != Severed {
					seen[o.Name] = true
					side = append(side, o)
				}
			}
		}
		slices.SortFunc(side, func(a, b *Member) int { return strings.Compare(a.Name, b.Name) })
		all = append(all, side)
	}
	return all
}

// Reach is the quorum among the members that reach one another: in the largest side, where a
// fault keeps some from the others. All that are up are no quorum if half of them hear nothing
// of the rest.
func (s *State) Reach() Quorum {
	q := s.Store.Quorum()
	sides := s.Sides()
	if len(sides) < 2 {
		return q
	}
	q.Have = 0
	for _, side := range sides {
		q.Have = max(q.Have, Voters(side))
	}
	return q
}

// Voters counts those of some members who vote.
func Voters(members []*Member) int {
	n := 0
	for _, m := range members {
		if !m.Learner {
			n++
		}
	}
	return n
}
