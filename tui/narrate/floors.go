package narrate

import (
	"fmt"
	"time"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Floors tells which floors of a cluster fall that has lost its store, and which stand again ([view.Floors]). The zero value
// has told nothing yet.
type Floors struct {
	told view.Floors
	back time.Duration // since then the store has a quorum again
}

// answers is when the store last did what only a quorum can.
func answers(s *view.State) time.Duration {
	if all := s.Store.Commits(); len(all) > 0 {
		return all[len(all)-1].At
	}
	return 0
}

// renewed reports whether a node's Lease is young again.
func renewed(s *view.State) bool {
	for _, node := range s.Nodes() {
		if age, ok := s.LeaseAge(node.Name); ok && age < view.NodeGrace {
			return true
		}
	}
	return false
}

// Tell tells which have fallen since the last call, and which stand again.
func (f *Floors) Tell(s *view.State) []string {
	was, is := f.told, s.Floors()
	if was.Store && !is.Store {
		f.back = s.At
	}
	if !is.Store { // a floor stands again when that is seen, not as soon as it can
		committed := answers(s) > f.back
		is.Writes, is.Reads = was.Writes && !committed, was.Reads && !committed
		if was.Nodes > 0 && !renewed(s) {
			is.Nodes = was.Nodes
		}
	}
	f.told = is
	var all []string
	turned := func(before, now bool, down, up string) {
		switch {
		case now && !before:
			all = append(all, down)
		case before && !now:
			all = append(all, up)
		}
	}
	turned(was.Store, is.Store, lost(is.Quorum, s.Store.Quorum()), fmt.Sprintf("the store has a quorum again: %d of %d members", is.Quorum.Have, is.Quorum.Total))
	turned(was.Writes, is.Writes, "writes fail now: each waits until its time is up", "writes succeed again")
	turned(was.Reads, is.Reads, "reads that need a quorum fail now; watches still have what they knew", "reads that need a quorum succeed again")
	for _, process := range []string{trace.CompScheduler, trace.CompKCM} {
		turned(was.Leases[process], is.Leases[process], "the "+process+" could not renew its Lease and has stopped working", "the "+process+" has its Lease again and works")
	}
	turned(was.Nodes > 0, is.Nodes > 0, "the nodes' Leases are too old, and nothing can be written about that", "the nodes renew their Leases again")
	return all
}

// lost says that there is no quorum: how many members reach one another, and how many are up.
func lost(reach, up view.Quorum) string {
	how := "are up"
	if up.Have > reach.Have {
		how = "reach one another"
	}
	return fmt.Sprintf("the store has no quorum: %d of %d members %s, %d are needed; pods run on, and rules still route", reach.Have, reach.Total, how, reach.Need)
}
