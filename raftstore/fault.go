package raftstore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/member"
)

// Stop ends a member in good order. A leader first hands its leadership to the
// follower that has come furthest, if that can be done at once.
//
// Mirrors etcd server/etcdserver/server.go TryTransferLeadershipOnShutdown.
func (s *Replicated) Stop(id string) error {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	if heir := s.heir(id); heir != "" {
		// Without an heir there is an election.
		_ = s.TransferLeadership(heir)
	}
	return m.Stop("stopped")
}

// heir is the follower that should lead after id, "" if id does not lead or
// cannot hand over now.
func (s *Replicated) heir(id string) string {
	if s.Leader() != id || !s.Healthy() || s.order.clock.stopped() {
		return ""
	}
	heir, match := "", uint64(0)
	g, list := s.membership.group(), s.Members()
	for _, m := range list {
		for to, f := range m.Followers {
			i := g.index(to)
			if m.ID == id && i >= 0 && !g.learner[i] && g.members[i].Up() && (f.Match > match || f.Match == match && to < heir) {
				heir, match = to, f.Match
			}
		}
	}
	return heir
}

// Crash ends a member as a power cut does: what was not yet synced is lost.
func (s *Replicated) Crash(id string) error {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	return m.Crash("its machine lost power")
}

// Restart starts a member again, from its disk; one that runs is stopped first.
func (s *Replicated) Restart(id string) error {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	if _, err = s.order.current(); err != nil {
		return err
	}
	if m.Up() {
		// It may have gone down by itself meanwhile, which is just as well.
		_ = m.Stop("restarted")
	}
	if err = s.membership.start(m, false, "restarted"); errors.Is(err, member.ErrUp) {
		return nil // it has just come back by itself
	}
	return err
}

// Cut stops every message from one member to another, one way, until [Replicated.Heal].
func (s *Replicated) Cut(from, to string) error {
	return s.onLink(from, to, member.Fault{What: "cut", On: true}, func() { s.network.Cut(from, to, true) })
}

// Isolate cuts the members off from all others, both ways; they still reach
// one another.
func (s *Replicated) Isolate(ids ...string) error {
	for _, id := range ids {
		if _, err := s.membership.member(id); err != nil {
			return err
		}
	}
	for _, in := range ids {
		for _, out := range s.IDs() {
			if slices.Contains(ids, out) {
				continue
			}
			if err := s.Cut(in, out); err != nil {
				return err
			}
			if err := s.Cut(out, in); err != nil {
				return err
			}
		}
	}
	return nil
}

// Heal takes every fault of the links away.
func (s *Replicated) Heal() {
	s.network.Heal()
	for _, m := range s.membership.group().members {
		m.ReportFault(member.Fault{What: "links", Detail: "healed"})
	}
}

// HealMember takes every fault of one member's links away, both ways, and
// makes its disk sound again. A member that went down stays down.
func (s *Replicated) HealMember(id string) error {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	for _, peer := range s.IDs() {
		if peer != id {
			s.network.HealLink(id, peer)
			s.network.HealLink(peer, id)
		}
	}
	m.SlowDisk(0)
	m.FillDisk(false)
	m.ReportFault(member.Fault{What: "links", Detail: "healed"})
	return nil
}

// HealLink takes every fault of the link between two members away, both ways.
func (s *Replicated) HealLink(a, b string) error {
	heal := func(from, to string) error {
		return s.onLink(from, to, member.Fault{What: "link", Detail: "healed"}, func() { s.network.HealLink(from, to) })
	}
	return errors.Join(heal(a, b), heal(b, a))
}

// Delay adds d to the way of every message from one member to another; 0 takes
// the delay away. A delay both ways of half an election timeout or more ends
// the leadership, and no election ends.
func (s *Replicated) Delay(from, to string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("raftstore: a delay of %v; it cannot be negative", d)
	}
	return s.onLink(from, to, member.Fault{What: "delay", On: d > 0, Detail: d.String()}, func() { s.network.Delay(from, to, d) })
}

// Drop loses messages from one member to another with the probability; 0
// takes the fault away.
func (s *Replicated) Drop(from, to string, probability float64) error {
	if !(probability >= 0 && probability <= 1) {
		return fmt.Errorf("raftstore: a probability of %v; it goes from 0 to 1", probability)
	}
	f := member.Fault{What: "drop", On: probability > 0, Detail: fmt.Sprintf("%.0f%%", 100*probability)}
	return s.onLink(from, to, f, func() { s.network.Drop(from, to, probability) })
}

// Duplicate delivers requests from one member to another twice with the
// probability; 0 takes the fault away.
func (s *Replicated) Duplicate(from, to string, probability float64) error {
	if !(probability >= 0 && probability <= 1) {
		return fmt.Errorf("raftstore: a probability of %v; it goes from 0 to 1", probability)
	}
	f := member.Fault{What: "duplicate", On: probability > 0, Detail: fmt.Sprintf("%.0f%%", 100*probability)}
	return s.onLink(from, to, f, func() { s.network.Duplicate(from, to, probability) })
}

// Reorder makes messages from one member to another overtake one another with the
// probability; 0 takes the fault away. What is overtaken is a request that its
// sender has given up and sent again: the old one arrives after the new one, and
// nobody waits for its answer. Entries cannot overtake entries on their first
// way, for at most one append to a follower is under way.
func (s *Replicated) Reorder(from, to string, probability float64) error {
	if !(probability >= 0 && probability <= 1) {
		return fmt.Errorf("raftstore: a probability of %v; it goes from 0 to 1", probability)
	}
	f := member.Fault{What: "reorder", On: probability > 0, Detail: fmt.Sprintf("%.0f%%", 100*probability)}
	return s.onLink(from, to, f, func() { s.network.Reorder(from, to, probability) })
}

func (s *Replicated) onLink(from, to string, f member.Fault, set func()) error {
	m, err := s.membership.member(from)
	if err != nil {
		return err
	}
	if _, err := s.membership.member(to); err != nil {
		return err
	}
	if from == to {
		return fmt.Errorf("raftstore: member %s has no link to itself", from)
	}
	f.From, f.To = from, to
	m.ReportFault(f)
	set()
	return nil
}

// SlowDisk adds d to every write of a member's disk; 0 takes the fault away.
func (s *Replicated) SlowDisk(id string, d time.Duration) error {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	if d < 0 {
		return fmt.Errorf("raftstore: a slowness of %v; it cannot be negative", d)
	}
	m.ReportFault(member.Fault{What: "slow disk", On: d > 0, Detail: d.String()})
	m.SlowDisk(d)
	return nil
}

// FillDisk makes a member's disk refuse every write. A leader steps down; a
// member that must write down a term or a vote goes down.
func (s *Replicated) FillDisk(id string) error { return s.fill(id, true) }

// FreeDisk makes room on a member's disk again. If the member went down for want of it,
// it comes back by itself.
func (s *Replicated) FreeDisk(id string) error { return s.fill(id, false) }

func (s *Replicated) fill(id string, full bool) error {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	m.ReportFault(member.Fault{What: "full disk", On: full})
	m.FillDisk(full)
	return nil
}

// Snapshot makes a member write a snapshot of its state and shorten its log.
func (s *Replicated) Snapshot(id string) error {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	return m.Snapshot()
}

// TransferLeadership makes a member the leader and waits until it is. A leader
// gives a transfer up after an election timeout, which its own slow disk can
// take; so it is asked three times at most, a second apart.
func (s *Replicated) TransferLeadership(to string) error {
	m, err := s.membership.member(to)
	if err != nil {
		return err
	}
	for range 3 {
		leader, epoch := s.order.leads()
		switch {
		case leader == nil || epoch == 0:
			return rpctypes.ErrGRPCNoLeader
		case leader.Member() == to:
			return nil
		case !slices.Contains(s.membership.group().voters(), to):
			return rpctypes.ErrGRPCBadLeaderTransferee // a learner cannot lead
		case !m.Up():
			return fmt.Errorf("raftstore: leadership cannot go to member %s: %w", to, member.ErrDown)
		}
		leader.Transfer(to)
		for range 200 {
			if s.Leader() == to {
				return nil
			}
			s.order.sleep(5 * time.Millisecond)
		}
		// Raft refused proposals meanwhile.
		s.order.again(epoch)
	}
	return fmt.Errorf("raftstore: member %s did not become leader within three seconds; %q leads", to, s.Leader())
}
