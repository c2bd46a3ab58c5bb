package raftstore

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"kviz/raftstore/member"
	"kviz/raftstore/wire"
)

// boot starts the group that the folder holds, or makes one.
func (s *Replicated) boot() error {
	if s.cfg.Remote != nil {
		return s.bootRemote()
	}
	if !s.cfg.NoSync {
		moreProcessors(s.cfg.Members)
	}
	facts, folders, fresh, err := s.membership.readGroup()
	if err != nil {
		return err
	}
	id, err := facts.id()
	if err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	s.membership.clusterID.Store(id)
	s.wire = wire.New(wire.Options{Observe: s.observe, Heartbeats: s.cfg.Heartbeats, Seed: s.cfg.Seed, Go: s.spawn})
	s.network = s.wire
	s.membership.network = s.wire
	if fresh {
		err = s.found(facts)
	} else {
		err = s.reopen(facts, folders)
	}
	if err != nil {
		return err
	}
	best := s.best()
	for _, m := range s.membership.group().members {
		s.bootTerm = max(s.bootTerm, m.BootTerm())
		s.recent.reach(m.Status().Revision)
	}
	s.order.goOn((s.bootTerm+1)<<32, int64(s.bootTerm)<<32, 0)
	s.order.serve()
	if best != nil && !s.cfg.NoCampaign {
		s.spawn("campaign", best.Campaign)
	}
	return nil
}

// found makes a new group.
func (s *Replicated) found(facts groupFacts) error {
	facts.Named, facts.Born = s.cfg.Members, false
	if err := s.membership.writeGroup(facts); err != nil {
		return err
	}
	var servers []member.Server
	for i := range s.cfg.Members {
		servers = append(servers, member.Server{ID: memberName(i), Address: memberName(i)})
	}
	s.membership.put((&roster{}).with(servers, func(id string) peer { return s.makeMember(id, servers) }))
	if err := errors.Join(s.startAll(s.membership.group().members, true)...); err != nil {
		return err
	}
	facts.Born = true
	s.membership.facts = facts
	return s.membership.writeGroup(facts)
}

// reopen starts the members that have a log. The best of the logs says who belongs to
// the group. A member whose disk is lost or damaged stays down and says why; the
// others wait for a quorum, as etcd's do.
func (s *Replicated) reopen(facts groupFacts, folders []string) error {
	first := make([]member.Server, len(folders))
	for i, id := range folders {
		first[i] = member.Server{ID: id, Address: id}
	}
	s.membership.put((&roster{}).with(first, s.newMember))
	if facts.Survivor != "" {
		m, err := s.membership.member(facts.Survivor)
		if err == nil {
			err = s.recoverDisk(m, facts, 0)
		}
		if err != nil {
			return err
		}
		facts = s.membership.facts
	}
	errs := s.startAll(s.membership.group().members, false)
	var damaged *member.DiskError
	for _, err := range errs {
		if err != nil && !errors.As(err, &damaged) {
			return errors.Join(errs...)
		}
	}
	best := s.best()
	if best == nil {
		return errors.Join(errs...)
	}
	servers := best.Servers()
	for _, sv := range servers {
		facts.Named = max(facts.Named, memberNumber(sv.ID)+1)
	}
	if len(servers) == 0 {
		return fmt.Errorf("raftstore: none of the logs in %s says who belongs to the group", s.cfg.Dir)
	}
	old := s.membership.group()
	now := old.with(servers, s.newMember)
	s.membership.put(now)
	for i, id := range old.ids {
		if now.index(id) >= 0 {
			continue
		}
		if old.members[i].Up() {
			// Down by itself meanwhile is just as well.
			_ = old.members[i].Stop("it is not in the group any more")
		}
		old.members[i].ReportFault(member.Fault{What: "not a member", Detail: s.membership.dirOf(id) + " is ignored: the group has no such member any more"})
	}
	s.tellWhoIsMissing()
	if s.best() == nil && len(errs) > 0 {
		return errors.Join(errs...) // only who is no member any more could start
	}
	s.membership.facts = facts
	return s.membership.writeGroup(facts)
}

// tellWhoIsMissing has each member that was never started say why.
func (s *Replicated) tellWhoIsMissing() {
	for _, m := range s.membership.group().members {
		if !m.Up() && m.Why() == member.NotStarted {
			// What is wrong is the member's reason for being down.
			_ = m.Start(false, "")
		}
	}
}

// best is the running member with the best log; nil if none runs.
func (s *Replicated) best() (best peer) {
	var bestTerm, bestIndex uint64
	for _, m := range s.membership.group().members {
		term, index := m.Tail()
		if m.Up() && (best == nil || term > bestTerm || term == bestTerm && index > bestIndex) {
			best, bestTerm, bestIndex = m, term, index
		}
	}
	return best
}

// newMember is a member that finds out from its log, or from a leader, who
// belongs to the group.
func (s *Replicated) newMember(id string) peer { return s.makeMember(id, nil) }

// makeMember is the one place where members are made.
func (s *Replicated) makeMember(id string, peers []member.Server) peer {
	if s.processes != nil {
		return remoteMember{s.processes.Member(id)}
	}
	m := local{member.New(s.memberConfig(id, peers))}
	m.Hold(s.held.Load())
	m.SlowElections(s.slowness())
	return m
}

func (s *Replicated) memberConfig(id string, peers []member.Server) member.Config {
	return member.Config{
		ID: id, Peers: peers, Dir: s.membership.dirOf(id),
		Network: s.wire, NoSync: s.cfg.NoSync,
		SnapshotEvery: s.cfg.SnapshotEvery, SnapshotTrailing: s.cfg.SnapshotTrailing,
		Emit: s.cfg.Events, Applied: s.applied, Changed: s.leadershipChanged,
		Requests: &s.requests, ComeBack: s.comeBack, Closing: s.order.closing, Go: s.spawn, Limits: s.cfg.limits(),
	}
}

// startAll starts members at the same time.
func (s *Replicated) startAll(members []peer, fresh bool) []error {
	errs := make([]error, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Add(1)
		s.spawn("start of "+m.ID(), func() {
			defer wg.Done()
			errs[i] = m.Start(fresh, "the store was opened")
		})
	}
	wg.Wait()
	return slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}
