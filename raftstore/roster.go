package raftstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"kviz/raftstore/member"
)

// maxMembers is how many members a group can have. Raft has no limit; etcd
// recommends seven at most.
const maxMembers = 9

// roster is who belongs to the group now. It is replaced whole, never changed, so
// that it is read without a lock.
type roster struct {
	ids     []string // in order of joining
	members []peer
	learner []bool
	urls    [][]string
	// joining are members that were started to join, while raft has not decided.
	joining []peer
	// undecided are those whose membership is unknown, because their leader was lost.
	// The next leader's configuration decides.
	undecided []string
}

// group is who belongs to the group now.
func (ms *membership) group() *roster { return ms.roster.Load() }

// put makes a roster the present one, when the store is opened.
func (ms *membership) put(r *roster) { ms.roster.Store(r) }

// everybody are the members and those that are joining. Whoever is made afterwards sees
// what settle did.
func (ms *membership) everybody(settle func()) []peer {
	ms.rosterMu.Lock()
	defer ms.rosterMu.Unlock()
	settle()
	return ms.group().all()
}

// all are the members and those that are joining.
func (r *roster) all() []peer {
	if len(r.joining) == 0 {
		return r.members
	}
	return slices.Concat(r.members, r.joining)
}

func (r *roster) index(id string) int { return slices.Index(r.ids, id) }

// find is the member of that name, one that is joining too; nil if there is none.
func (r *roster) find(id string) peer {
	if i := r.index(id); i >= 0 {
		return r.members[i]
	}
	for _, m := range r.joining {
		if m.ID() == id {
			return m
		}
	}
	return nil
}

// voters and learners are the names of those that vote, and of those that do not.
func (r *roster) voters() []string   { return r.names(false) }
func (r *roster) learners() []string { return r.names(true) }

func (r *roster) names(learner bool) (list []string) {
	for i, id := range r.ids {
		if r.learner[i] == learner {
			list = append(list, id)
		}
	}
	return list
}

// with is the roster for a configuration of raft's; who was joining and is in it
// has joined. newPeer gives a member that was not known.
func (r *roster) with(servers []member.Server, newPeer func(id string) peer) *roster {
	servers = slices.SortedFunc(slices.Values(servers), func(a, b member.Server) int { return byName(a.ID, b.ID) })
	n := &roster{}
	for _, sv := range servers {
		m := r.find(sv.ID)
		if m == nil {
			m = newPeer(sv.ID)
		}
		n.ids, n.members = append(n.ids, sv.ID), append(n.members, m)
		n.learner, n.urls = append(n.learner, sv.Learner), append(n.urls, urlsOf(sv))
	}
	for _, m := range r.joining {
		if n.index(m.ID()) < 0 {
			n.joining = append(n.joining, m)
		}
	}
	for _, id := range r.undecided {
		if n.index(id) < 0 {
			n.undecided = append(n.undecided, id)
		}
	}
	return n
}

// urlsOf is what etcd shows as a member's peer URLs. In one process there is no port,
// so the name is used instead.
func urlsOf(sv member.Server) []string {
	if sv.Address == sv.ID {
		return []string{"http://" + sv.ID + ":2380"}
	}
	return strings.Split(sv.Address, ",")
}

// memberName is the n-th name, from 0: a to z, then aa, ab, …
func memberName(n int) string {
	name := ""
	for n++; n > 0; n = (n - 1) / 26 {
		name = string(rune('a'+(n-1)%26)) + name
	}
	return name
}

// memberNumber is the inverse of memberName, -1 for what is no name.
func memberNumber(name string) int {
	n := 0
	for _, c := range name {
		if c < 'a' || c > 'z' || n > 1<<20 {
			return -1
		}
		n = 26*n + int(c-'a') + 1
	}
	return n - 1
}

// byName puts names in order of joining.
func byName(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func (ms *membership) member(id string) (peer, error) {
	g := ms.group()
	if m := g.find(id); m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("raftstore: no member %q; the members are %v", id, g.ids)
}

// OnMembers adds a function to call, from any goroutine, after members came, went or
// were promoted. fn must not block and must not change members itself.
func (ms *membership) OnMembers(fn func()) {
	ms.rosterMu.Lock()
	defer ms.rosterMu.Unlock()
	ms.onMembers = append(ms.onMembers, fn)
}

func (ms *membership) membersChanged() {
	ms.rosterMu.Lock()
	told := ms.onMembers[:len(ms.onMembers):len(ms.onMembers)]
	ms.rosterMu.Unlock()
	for _, fn := range told {
		fn()
	}
}

// adopt makes the leader's configuration the group. Who is in it no more is stopped,
// and what is on its disk deleted: a name is never used again.
func (ms *membership) adopt(leader leadership) error {
	ms.adopting.Lock()
	defer ms.adopting.Unlock()
	if leader.Term() < ms.adopted {
		return nil // a later leader has told already
	}
	// In this order: what was the latest before is committed if nothing newer is pending
	// afterwards. Asked the other way round, a change that begins in between would be
	// taken over before anybody knows whether it will be.
	servers := leader.Servers()
	if len(servers) == 0 {
		return member.ErrNotLeader // it cannot tell any more
	}
	if !leader.Settled() {
		return nil // whatever it is, it is taken over when it is committed
	}
	ms.adopted = leader.Term()
	ms.meet(servers)
	ms.rosterMu.Lock()
	old := ms.group()
	now := old.with(servers, ms.newPeer)
	ms.roster.Store(now)
	ms.rosterMu.Unlock()
	changed := false
	for _, c := range compare(old, now) {
		changed = true
		c.who.ReportMembership(c.Membership)
		if c.What == "updated" && ms.processes != nil {
			ms.processes.Move(c.who.ID(), strings.TrimPrefix(c.PeerURLs[0], scheme))
		}
	}
	var err error
	for i, id := range old.ids {
		if now.index(id) < 0 {
			err = errors.Join(err, ms.retire(old.members[i], "it was removed from the group"))
		}
	}
	if changed {
		ms.membersChanged()
	}
	return err
}

// change is one member's part in a change of the group.
type change struct {
	member.Membership
	who peer
}

// compare tells what is different.
func compare(old, now *roster) (list []change) {
	add := func(what string, who peer, learner bool, urls []string) {
		list = append(list, change{member.Membership{
			What: what, Learner: learner, Voters: now.voters(), Learners: now.learners(), PeerURLs: urls,
		}, who})
	}
	for i, id := range now.ids {
		was := old.index(id)
		switch {
		case was < 0:
			add("joined", now.members[i], now.learner[i], now.urls[i])
		case old.learner[was] && !now.learner[i]:
			add("promoted", now.members[i], true, now.urls[i])
		case !slices.Equal(old.urls[was], now.urls[i]):
			add("updated", now.members[i], now.learner[i], now.urls[i])
		}
	}
	for i, id := range old.ids {
		if now.index(id) < 0 {
			add("left", old.members[i], old.learner[i], old.urls[i])
		}
	}
	return list
}
