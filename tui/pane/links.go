package pane

import (
	"slices"
	"strings"

	"kviz/cluster/view"
)

// Link is how the way from one member of the store to another is.
type Link uint8

// The links.
const (
	Sound   Link = iota
	Slow         // messages are late, doubled, overtaken, or some are lost
	Severed      // nothing arrives
)

// LinkOf is how the way from one member to another is: one direction may be cut without
// the other.
func LinkOf(s *view.State, from, to string) Link {
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
func Sides(s *view.State) [][]*view.Member {
	var up []*view.Member
	for _, m := range s.Store.Members() {
		if m.Up {
			up = append(up, m)
		}
	}
	var all [][]*view.Member
	seen := map[string]bool{}
	for _, m := range up {
		if seen[m.Name] {
			continue
		}
		seen[m.Name] = true
		side := []*view.Member{m}
		for i := 0; i < len(side); i++ {
			for _, o := range up {
				if !seen[o.Name] && LinkOf(s, side[i].Name, o.Name) != Severed && LinkOf(s, o.Name, side[i].Name) != Severed {
					seen[o.Name] = true
					side = append(side, o)
				}
			}
		}
		slices.SortFunc(side, func(a, b *view.Member) int { return strings.Compare(a.Name, b.Name) })
		all = append(all, side)
	}
	return all
}
