package raftstore

import (
	"os"
	"slices"
	"testing"

	"kviz/raftstore/member"
	"kviz/raftstore/steady"
)

// meanwhile is a leader that begins to remove a member between two questions.
type meanwhile struct {
	leadership
	asked  int
	leaves string
}

func (l *meanwhile) Settled() bool {
	l.asked++
	return l.asked == 1 && l.leadership.Settled()
}

func (l *meanwhile) Servers() []member.Server {
	l.asked++
	list := l.leadership.Servers()
	if l.asked == 1 {
		return list
	}
	return slices.DeleteFunc(list, func(sv member.Server) bool { return sv.ID == l.leaves })
}

// Nobody's disk is deleted for a removal that is only in the leader's log.
func TestARemovalIsTakenOverWhenItIsCommitted(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s, err := Open(Config{NoSync: true, Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		ended(t, s, putK("1"))
		leader, err := s.order.someLeader()
		if err != nil {
			t.Fatal(err)
		}
		leaves := s.IDs()[0]
		if err := s.membership.adopt(&meanwhile{leadership: leader, leaves: leaves}); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.membership.dirOf(leaves)); err != nil || len(s.IDs()) != 3 {
			t.Errorf("the members are %v; the folder of %s: %v", s.IDs(), leaves, err)
		}
	})
}
