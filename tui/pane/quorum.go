package pane

import (
	"fmt"
	"strings"

	"kviz/cluster/view"
)

// Quorum draws how many voting members are up and whether they are a quorum; it is ""
// while there are none.
func Quorum(q view.Quorum) string {
	if q.Total == 0 {
		return ""
	}
	word := "quorum"
	if !q.OK() {
		word = "NO quorum"
	}
	return strings.Repeat("●", q.Have) + strings.Repeat("○", q.Total-q.Have) + fmt.Sprintf(" %d/%d %s", q.Have, q.Total, word)
}

// Reach is the quorum among the members that reach one another: in the largest side, where a
// fault keeps some from the others. All that are up are no quorum if half of them hear nothing
// of the rest.
func Reach(s *view.State) view.Quorum {
	q := s.Store.Quorum()
	sides := Sides(s)
	if len(sides) < 2 {
		return q
	}
	q.Have = 0
	for _, side := range sides {
		q.Have = max(q.Have, voters(side))
	}
	return q
}

// voters counts those of some members who vote.
func voters(members []*view.Member) int {
	n := 0
	for _, m := range members {
		if !m.Learner {
			n++
		}
	}
	return n
}
