package raftstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/apply"
	"kviz/raftstore/member"
)

// Both verbs here take every member down, change what is on the disks, and start
// anew. What they are about to do is written into the group's file first, so that it
// is completed when the folder is opened again after the process died in the middle.

// Damage is what happens to a member's log file; see [member.Damage].
type Damage = member.Damage

// Corrupt damages the log file of a member that is down. Its next start is refused.
func (s *Replicated) Corrupt(id string, what Damage) error {
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	if !slices.Contains(member.Damages, what) {
		return fmt.Errorf("raftstore: no damage %q; it can be one of %v", what, member.Damages)
	}
	if err := m.Corrupt(what); err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	m.ReportFault(member.Fault{What: "damaged", On: true, Detail: string(what)})
	return nil
}

// OnReset adds a function to call, from any goroutine, when what the store has delivered
// is no longer its history: [Replicated.Rebuild] replaced it, or [Replicated.Recover]
// lost its end. The store continues from the revision. fn must not block.
func (s *Replicated) OnReset(fn func(revision int64)) {
	s.front.Lock()
	defer s.front.Unlock()
	s.onReset = append(s.onReset, fn)
}

// reset has the world go on from where the members are now.
func (s *Replicated) reset(index uint64, revision int64, another bool) {
	s.leases.lessor.Forget()
	s.front.Lock()
	s.reported = index
	lost := s.recent.reset(revision, another)
	told := s.onReset[:len(s.onReset):len(s.onReset)]
	s.front.Unlock()
	if !lost {
		return
	}
	s.order.forgetHistory()
	for _, fn := range told {
		fn(revision)
	}
}

// stopAll takes every member down.
func (s *Replicated) stopAll(why string) {
	for _, m := range s.membership.group().all() {
		if m.Up() {
			// Down by itself meanwhile is just as well.
			_ = m.Stop(why)
		}
	}
}

// Recover continues from one member's data when the quorum is lost for good: it
// becomes the only member, and everything in its log counts, committed or not. The
// others are gone, with what only they had; others can join ([Replicated.AddMember]).
//
// Mirrors etcd --force-new-cluster.
func (s *Replicated) Recover(id string) error {
	s.membership.changing.Lock()
	defer s.membership.changing.Unlock()
	m, err := s.membership.member(id)
	if err != nil {
		return err
	}
	if s.membership.group().index(id) < 0 {
		return rpctypes.ErrGRPCMemberNotFound
	}
	_, term := s.reach()
	if m.Up() {
		if err := m.Stop("it goes on alone"); err != nil && !errors.Is(err, member.ErrDown) {
			return err
		}
	}
	facts := s.membership.facts
	facts.Survivor = id
	if err := s.membership.writeGroup(facts); err != nil {
		return err
	}
	m.ReportFault(member.Fault{What: "quorum lost for good", On: true, Detail: id + " goes on alone"})
	old := s.membership.group()
	for _, other := range old.all() {
		if other.ID() != id {
			err = errors.Join(err, s.membership.retire(other, "the group goes on without it"))
		}
	}
	if err != nil {
		return err
	}
	if err := s.recoverDisk(m, facts, term); err != nil {
		return err
	}
	if err := s.membership.start(m, false, "it goes on alone"); err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	s.membership.takeOver(old, []member.Server{{ID: id, Address: s.membership.addressFor(id)}})
	st := m.Status()
	s.reset(st.Last, st.Revision, false)
	m.Campaign()
	return nil
}

func (s *Replicated) recoverDisk(m peer, facts groupFacts, term uint64) error {
	if err := m.Recover(term, s.membership.addressFor(m.ID())); err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	facts.Survivor = ""
	if err := s.membership.writeGroup(facts); err != nil {
		return err
	}
	s.membership.facts = facts
	return nil
}

// takeOver makes a group that no leader told of the present one.
func (ms *membership) takeOver(old *roster, servers []member.Server) {
	ms.adopting.Lock()
	defer ms.adopting.Unlock()
	ms.rosterMu.Lock()
	now := (&roster{ids: old.ids, members: old.members}).with(servers, ms.newPeer)
	ms.roster.Store(now)
	ms.rosterMu.Unlock()
	ms.adopted = 0 // no leader of before can tell any more
	for _, c := range compare(old, now) {
		c.who.ReportMembership(c.Membership)
	}
	ms.membersChanged()
}

// RebuildOptions are etcdutl snapshot restore's --bump-revision and --mark-compacted,
// each of which requires the other.
type RebuildOptions struct {
	BumpRevision  int64
	MarkCompacted bool
}

// Rebuild gives every member a new disk with this state and starts it: what
// etcdutl snapshot restore and the start of a new cluster from it do. Members keep
// their names, the cluster gets another ID. Requests under way end with
// rpctypes.ErrGRPCStopped. The state must not be used afterwards.
//
// Mirrors etcdutl/snapshot/v3_snapshot.go Restore.
func (s *Replicated) Rebuild(state *apply.State, opt RebuildOptions) error {
	if opt.BumpRevision < 0 || (opt.BumpRevision > 0) != opt.MarkCompacted {
		return fmt.Errorf("raftstore: --bump-revision %d and --mark-compacted %v: one wants the other", opt.BumpRevision, opt.MarkCompacted)
	}
	s.membership.changing.Lock()
	defer s.membership.changing.Unlock()
	g := s.membership.group()
	if _, err := s.order.current(); err != nil {
		return err
	}
	if opt.MarkCompacted {
		state.KV.Bump(opt.BumpRevision)
	}
	index, term := s.reach()
	index = max(index, state.KV.AppliedIndex()) + 1
	state.KV.Advance(index)
	seed := member.Seed{State: state.Snapshot(), Index: index, Term: term + 1}
	seed.Cluster = s.ClusterID()*6364136223846793005 + seed.Term
	for i, id := range g.ids {
		seed.Servers = append(seed.Servers, member.Server{ID: id, Learner: g.learner[i], Address: addressOf(id, g.urls[i])})
	}
	decided, err := s.replaceDisks(seed)
	switch {
	case err == nil:
		return s.startAgain("it has a new disk")
	case decided:
		// Who started now might do so from a disk that is about to be replaced.
		s.breakDown(fmt.Errorf("raftstore: the members' disks were not all exchanged; opening the store again finishes that: %w", err))
		return err
	}
	return errors.Join(err, s.startAgain("it keeps its old disk"))
}

// replaceDisks stops every member, gives it the new disk, and has the world go on from
// there. Nobody starts a member meanwhile: it would go on writing to a file that has no
// name any more, and forget its votes.
func (s *Replicated) replaceDisks(seed member.Seed) (decided bool, err error) {
	s.membership.starting.Lock()
	defer s.membership.starting.Unlock()
	s.stopAll("every member gets a new disk")
	if decided, err = s.membership.exchange(seed); err != nil {
		return decided, err
	}
	s.order.abort(rpctypes.ErrGRPCStopped)
	s.reset(seed.Index, seed.State.KV.Revision(), true)
	return true, nil
}

// reach is the last index and term that any member or caller has heard of.
func (s *Replicated) reach() (index, term uint64) {
	s.front.Lock()
	index = s.reported
	s.front.Unlock()
	term = s.bootTerm
	s.membership.adopting.Lock()
	term = max(term, s.membership.adopted)
	s.membership.adopting.Unlock()
	for _, m := range s.membership.group().all() {
		st := m.Status()
		index, term = max(index, st.Last), max(term, st.Term)
	}
	return index, term
}

// exchange puts new disks in the place of the old ones. Once that is decided it will
// be finished, by this process or the next.
func (ms *membership) exchange(seed member.Seed) (decided bool, err error) {
	for _, m := range ms.group().members {
		if err := m.Prepare(seed); err != nil {
			return false, fmt.Errorf("raftstore: %w", err)
		}
	}
	facts := ms.facts
	facts.ClusterID = strconv.FormatUint(seed.Cluster, 16)
	if ms.processes != nil {
		// Each process keeps its own folder, and what is left undone is finished by
		// the next driver (remote.Member.join).
		decided, err := ms.processes.Exchange(ms.group().ids, seed.Cluster)
		if !decided {
			return false, fmt.Errorf("raftstore: %w", err)
		}
		// Who failed has not started either, and says so then.
	} else {
		facts.Exchange = true
		if err := ms.writeGroup(facts); err != nil {
			return true, err // what a power cut now would leave is not known
		}
		if err := ms.finishExchange(&facts); err != nil {
			return true, err
		}
	}
	ms.clusterID.Store(seed.Cluster)
	ms.facts = facts
	return true, nil
}

// finishExchange does what [groupFacts.Exchange] says, from wherever it was left.
func (ms *membership) finishExchange(facts *groupFacts) error {
	entries, err := os.ReadDir(ms.dir)
	if err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	for _, e := range entries {
		id, isNew := nameOfNew(e.Name())
		if !isNew || !ofAMember(filepath.Join(ms.dir, e.Name())) {
			continue
		}
		if err := os.RemoveAll(ms.dirOf(id)); err != nil {
			return fmt.Errorf("raftstore: %w", err)
		}
		if err := os.Rename(ms.dirOf(id)+member.NewSuffix, ms.dirOf(id)); err != nil {
			return fmt.Errorf("raftstore: %w", err)
		}
	}
	if err := ms.syncDir(); err != nil {
		return err
	}
	facts.Exchange = false
	return ms.writeGroup(*facts)
}

// startAgain starts every member that is down.
func (s *Replicated) startAgain(why string) (err error) {
	for _, m := range s.membership.group().members {
		if m.Up() {
			continue
		}
		if e := s.membership.start(m, false, why); e != nil && !m.Up() { // somebody else may have been faster
			err = errors.Join(err, e)
		}
	}
	if best := s.best(); best != nil {
		best.Campaign()
	}
	return err
}
