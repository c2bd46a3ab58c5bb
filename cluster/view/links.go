package view

import (
	"slices"
	"strings"
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
			named := strings.FieldsFunc(f.Detail, func(r rune) bool { return r == ',' || r == ' ' })
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
		if f.Fault.Fault == "partition" && apart(f.Detail, from, to) {
			return Severed
		}
	}
	return link
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
