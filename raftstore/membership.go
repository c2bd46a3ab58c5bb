package raftstore

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/lock"
	"kviz/raftstore/member"
	"kviz/raftstore/remote"
)

// membership is who belongs to the group (roster.go), what is written down of it beside
// the members' logs (group.go), and how it changes: one member at a time, by an entry in the log that counts
// from when it is appended (raft dissertation §4.1). The store makes one change at a
// time and takes over what raft's configuration says when that is committed
// ([membership.adopt]). If the leader is lost meanwhile the next one is asked again:
// a change that is made twice is one change.
type membership struct {
	order     *order // the leader, which is asked
	network   network
	processes *remote.Group // nil if the members are of this process
	newPeer   func(id string) peer
	spawn     func(name string, fn func())
	dir       string // with the group's file and the members' folders
	sync      bool   // what is written there must outlive a power cut

	roster    atomic.Pointer[roster]
	rosterMu  sync.Mutex // guards onMembers and the replacing of roster
	onMembers []func()

	changing  lock.Lock    // held during a change of the group; guards facts
	facts     groupFacts   // what is in the group's file
	adopting  lock.Lock    // keeps the order in which configurations are taken over
	adopted   uint64       // the term of the leader whose configuration was taken over last
	underWay  atomic.Int64 // changes that leaders were asked for and that have not ended
	starting  lock.Lock    // read-locked while a member starts; locked while none may
	clusterID atomic.Uint64
}

func newMembership(o *order, newPeer func(id string) peer, spawn func(string, func())) *membership {
	ms := &membership{order: o, newPeer: newPeer, spawn: spawn}
	ms.roster.Store(&roster{})
	return ms
}

// AddMember starts an empty member and adds it to the group: as a learner, which gets
// the log but does not vote, or as a voter, which counts at once but is of no use
// until it has caught up. It returns the new member's name.
//
// Refused as by etcd's strict reconfiguration check (server/etcdserver/server.go
// mayAddMember), except that a member must be connected now, not for five seconds.
func (ms *membership) AddMember(learner bool) (id string, err error) {
	ms.changing.Lock()
	defer ms.changing.Unlock()
	return ms.add(learner, "", nil)
}

// AddMemberAt is AddMember with the peer URLs of the new member. In one process they
// are only shown; else a process that belongs to no group must listen at the first.
func (ms *membership) AddMemberAt(learner bool, peerURLs []string) (id string, err error) {
	ms.changing.Lock()
	defer ms.changing.Unlock()
	if ms.processes == nil {
		if err := ms.mayHave(peerURLs, ""); err != nil {
			return "", err
		}
		return ms.add(learner, "", peerURLs)
	}
	if len(peerURLs) != 1 || !strings.HasPrefix(peerURLs[0], scheme) {
		return "", rpctypes.ErrGRPCMemberBadURLs // a member listens at one address, with TLS
	}
	name, err := ms.processes.Invite(strings.TrimPrefix(peerURLs[0], scheme))
	if err != nil {
		return "", fmt.Errorf("raftstore: %w", err)
	}
	return ms.add(learner, name, nil)
}

// add adds a member; invited is the one whose process waits, "" for any. Members in one
// process may have peer URLs.
func (ms *membership) add(learner bool, invited string, peerURLs []string) (id string, err error) {
	if err := ms.mayAdd(learner); err != nil {
		return "", err
	}
	if id, err = ms.nextName(invited); err != nil {
		return "", err
	}
	m := ms.join(id)
	if err := ms.start(m, true, "it joins the group"); err != nil {
		return "", errors.Join(err, ms.unjoin(m))
	}
	err = ms.change(func(leader leadership) error {
		address := ms.addressFor(id)
		if len(peerURLs) > 0 {
			address = addressOf(id, peerURLs)
		}
		return leader.Set(member.Server{ID: id, Learner: learner, Address: address})
	})
	if err != nil {
		ms.update(func(r *roster) { r.undecided = append(slices.Clone(r.undecided), id) })
		return "", err
	}
	return id, nil
}

func (ms *membership) mayAdd(learner bool) error {
	leader, err := ms.order.someLeader()
	if err != nil {
		return err
	}
	g := ms.group()
	voters := len(g.voters())
	switch {
	case len(g.ids) >= maxMembers:
		return fmt.Errorf("raftstore: the group has %d members; more than %d it cannot have", len(g.ids), maxMembers)
	case learner && len(g.learners()) > 0:
		return rpctypes.ErrGRPCTooManyLearners // etcd's --max-learners is 1
	case voters > 1 && !ms.connects(leader, (voters+1)/2+1):
		return rpctypes.ErrGRPCUnhealthy
	}
	return nil
}

// connects waits for a moment until the leader has heard from n voters since now,
// itself among them. That somebody was there a moment ago is not enough for a change
// that takes a quorum of those who remain.
func (ms *membership) connects(leader leadership, n int) bool {
	start := time.Now()
	for ms.heardSince(leader, start) < n {
		if time.Since(start) > 4*member.ElectionTimeout {
			return false
		}
		select {
		case <-ms.order.closing:
			return false
		default:
		}
		ms.order.sleep(5 * time.Millisecond)
	}
	return true
}

// heardSince is how many voters have answered what the leader sent since then.
func (ms *membership) heardSince(leader leadership, start time.Time) (n int) {
	for _, id := range ms.group().voters() {
		if ms.heardFrom(leader, id, start) {
			n++
		}
	}
	return n
}

func (ms *membership) heardFrom(leader leadership, id string, start time.Time) bool {
	return id == leader.Member() || ms.network.Contact(leader.Member(), id, leader.Term()).After(start)
}

// inContact says whether the leader has heard from a voter within twice the time after
// which followers miss their leader at the earliest.
func (ms *membership) inContact(leader leadership, id string) bool {
	return ms.heardFrom(leader, id, time.Now().Add(-2*member.ElectionTimeout))
}

// readyShare is how much of the leader's log a learner must have to become a voter:
// etcd's readyPercentThreshold.
const readyShare = 0.9

// PromoteMember makes a learner a voter, if it has nearly caught up.
//
// Mirrors etcd server/etcdserver/server.go promoteMember, isLearnerReady.
func (ms *membership) PromoteMember(id string) error {
	ms.changing.Lock()
	defer ms.changing.Unlock()
	return ms.promote(id)
}

func (ms *membership) promote(id string) error {
	g := ms.group()
	i := g.index(id)
	if i < 0 {
		return rpctypes.ErrGRPCMemberNotFound
	}
	if !g.learner[i] {
		return rpctypes.ErrGRPCMemberNotLearner
	}
	leader, err := ms.order.someLeader()
	if err != nil {
		return err
	}
	match := ms.network.Progress(leader.Member(), id, leader.Term()).Match
	if float64(match) < readyShare*float64(leader.Last()) {
		return rpctypes.ErrGRPCLearnerNotReady
	}
	return ms.change(func(leader leadership) error {
		return leader.Set(member.Server{ID: id, Address: addressOf(id, g.urls[i])})
	})
}

// RemoveMember takes a member out of the group, stops it and deletes what is on its
// disk. A leader can be removed too: it steps down when that is committed.
//
// Mirrors etcd server/etcdserver/server.go mayRemoveMember.
func (ms *membership) RemoveMember(id string) error {
	ms.changing.Lock()
	defer ms.changing.Unlock()
	return ms.remove(id)
}

func (ms *membership) remove(id string) error {
	if err := ms.mayRemove(id); err != nil {
		return err
	}
	return ms.change(func(leader leadership) error { return leader.Remove(id) })
}

func (ms *membership) mayRemove(id string) error {
	g := ms.group()
	i := g.index(id)
	if i < 0 {
		return rpctypes.ErrGRPCMemberNotFound
	}
	leader, err := ms.order.someLeader()
	if err != nil {
		return err
	}
	voters, start := len(g.voters()), time.Now()
	switch {
	case g.learner[i]:
		return nil
	case voters == 1:
		return rpctypes.ErrGRPCMemberNotEnoughStarted
	case ms.connects(leader, 2+(voters-1)/2):
		return nil
	case !ms.heardFrom(leader, id, start):
		return nil // it is no part of the quorum that is there
	}
	return rpctypes.ErrGRPCUnhealthy
}

// UpdateMember changes a member's peer URLs.
func (ms *membership) UpdateMember(id string, peers []string) error {
	ms.changing.Lock()
	defer ms.changing.Unlock()
	return ms.setURLs(id, peers)
}

func (ms *membership) setURLs(id string, peers []string) error {
	g := ms.group()
	i := g.index(id)
	if i < 0 {
		return rpctypes.ErrGRPCMemberNotFound
	}
	if err := ms.mayHave(peers, id); err != nil {
		return err
	}
	return ms.change(func(leader leadership) error {
		return leader.Set(member.Server{ID: id, Learner: g.learner[i], Address: addressOf(id, peers)})
	})
}

// mayHave says whether a member may have peer URLs: they make sense, and no other
// member has them. id is "" for one that is yet to join.
func (ms *membership) mayHave(peerURLs []string, id string) error {
	if len(peerURLs) == 0 {
		return rpctypes.ErrGRPCMemberBadURLs
	}
	g := ms.group()
	for _, p := range peerURLs {
		if u, err := url.Parse(p); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Contains(p, ",") {
			return rpctypes.ErrGRPCMemberBadURLs
		}
		for i, urls := range g.urls {
			if g.ids[i] != id && slices.Contains(urls, p) {
				return rpctypes.ErrGRPCPeerURLExist
			}
		}
	}
	return nil
}

// addressOf is the inverse of urlsOf.
func addressOf(id string, urls []string) string {
	if slices.Equal(urls, urlsOf(member.Server{ID: id, Address: id})) {
		return id
	}
	return strings.Join(urls, ",")
}

// nextName is a name that was never used: of a process that waits, if members have
// one, of the one that was invited, if one was.
func (ms *membership) nextName(invited string) (string, error) {
	if ms.processes != nil {
		return ms.spare(invited)
	}
	facts := ms.facts
	id := memberName(facts.Named)
	facts.Named++
	if err := ms.writeGroup(facts); err != nil {
		return "", err
	}
	ms.facts = facts
	return id, nil
}

// update changes the roster.
func (ms *membership) update(fn func(r *roster)) {
	ms.rosterMu.Lock()
	defer ms.rosterMu.Unlock()
	now := *ms.group()
	fn(&now)
	ms.roster.Store(&now)
}

// join makes a member that raft does not know yet.
func (ms *membership) join(id string) (m peer) {
	ms.update(func(r *roster) {
		m = ms.newPeer(id)
		r.joining = append(slices.Clone(r.joining), m)
	})
	return m
}

// unjoin forgets a member that did not join after all.
func (ms *membership) unjoin(m peer) error {
	ms.update(func(r *roster) {
		r.joining = slices.DeleteFunc(slices.Clone(r.joining), func(o peer) bool { return o == m })
		r.undecided = slices.DeleteFunc(slices.Clone(r.undecided), func(id string) bool { return id == m.ID() })
	})
	return ms.retire(m, "it did not become a member")
}

// retire ends a member for good.
func (ms *membership) retire(m peer, why string) error {
	if m.Up() {
		// Down by itself meanwhile is just as well.
		_ = m.Stop(why)
	}
	ms.network.Forget(m.ID())
	if err := m.Erase(why); err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	return ms.syncDir()
}

// start starts a member, unless the store is closed: Close stops what was
// started before.
func (ms *membership) start(m peer, fresh bool, why string) error {
	ms.starting.RLock()
	defer ms.starting.RUnlock()
	if _, err := ms.order.current(); err != nil {
		return err
	}
	return m.Start(fresh, why)
}
