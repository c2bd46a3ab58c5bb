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

// Known is the quorum as far as it is known where a trace begins: members that run.start tells of and that have not done anything
// yet are not up, and before it, while members come up one after another, nobody knows of how many they are.
func Known(s *view.State) view.Quorum {
	q := s.Reach()
	all, _ := s.Store.Size()
	switch {
	case s.Run.Members > all:
		q.Total += s.Run.Members - all
		q.Need = q.Total/2 + 1
	case s.Run.Members == 0 && s.Store.Term == 0 && s.Last.Seq == 0:
		return view.Quorum{}
	}
	return q
}
