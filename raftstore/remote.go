package raftstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/member"
	"kviz/raftstore/mvcc"
	"kviz/raftstore/remote"
)

// Remote says where the members are, if they are not in this process.
type Remote struct {
	// Addrs are the members' processes (kviz member), host:port. If none of them
	// holds a log, they make a new group. Those that belong to no group are there to
	// join.
	Addrs []string
	// Credentials are the driver's.
	Credentials *remote.Credentials
}

// elsewhere is a member in another process.
type elsewhere struct{ *remote.Member }

// Leader is the member's leadership, nil if it does not lead.
func (e elsewhere) Leader() leadership {
	if r := e.Member.Leader(); r != nil {
		return elsewhereLeader{r}
	}
	return nil
}

type elsewhereLeader struct{ *remote.Reader }

func (l elsewhereLeader) same(other leadership) bool {
	o, ok := other.(elsewhereLeader)
	return ok && l.Same(o.Reader)
}

// scheme is what an address in the group's configuration begins with.
const scheme = "https://"

// bootRemote takes over the members in other processes as they are, or makes a
// group of them.
func (s *Replicated) bootRemote() error {
	far, err := remote.Open(remote.Config{
		Addrs: s.cfg.Remote.Addrs, Credentials: s.cfg.Remote.Credentials,
		Settings: remote.Settings{
			NoSync: s.cfg.NoSync, SnapshotEvery: s.cfg.SnapshotEvery, SnapshotTrailing: s.cfg.SnapshotTrailing,
			BcryptCost: s.cfg.BcryptCost, AuthToken: s.cfg.AuthToken,
		},
		Emit: s.cfg.Events, Applied: s.applied, Changed: s.leadershipChanged, Restored: s.restored,
		Requests: &s.requests, Limits: s.cfg.limits(), Go: s.spawn,
	})
	if err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	s.far, s.network = far, far.Network()
	s.clusterID.Store(far.Cluster())
	first, err := s.foundFar()
	if err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	if first == nil {
		if err := s.reopenFar(); err != nil {
			return fmt.Errorf("raftstore: %w", err)
		}
	}
	s.goOn()
	for _, id := range s.group().ids {
		s.facts.Named = max(s.facts.Named, memberNumber(id)+1)
	}
	s.spawn("reads", s.readLoop)
	s.spawn("deadlines", s.deadlineLoop)
	s.leadershipChanged()
	if first != nil && !s.cfg.NoCampaign {
		s.spawn("campaign", first.Campaign)
	}
	return nil
}

// foundFar makes a new group, if no process holds a log. It gives the member that
// may stand for election first.
func (s *Replicated) foundFar() (first peer, err error) {
	var servers []member.Server
	for _, m := range s.far.Members() {
		switch {
		case m.HasLog():
			return nil, nil
		case !m.Free():
			return nil, fmt.Errorf("member %s cannot begin a group: %s", m.ID(), m.Why())
		}
		servers = append(servers, member.Server{ID: m.ID(), Address: scheme + m.Addr()})
	}
	if silent := len(s.cfg.Remote.Addrs) - len(servers); silent > 0 {
		return nil, fmt.Errorf("%d processes do not answer; all must, to make a new group", silent)
	}
	s.roster.Store((&roster{}).with(servers, s.newMember))
	members := s.group().members
	errs := make([]error, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Add(1)
		s.spawn("start of "+m.ID(), func() {
			defer wg.Done()
			errs[i] = m.(elsewhere).Begin(servers, "the store was opened")
		})
	}
	wg.Wait()
	return members[0], errors.Join(errs...)
}

// reopenFar takes over a group that is there. Members that were stopped stay
// stopped, unless nobody runs.
func (s *Replicated) reopenFar() error {
	members := s.far.Members()
	if !slices.ContainsFunc(members, (*remote.Member).Up) {
		for _, m := range members {
			if err := m.Start(false, "the store was opened"); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(members, func(a, b *remote.Member) int {
		aTerm, aIndex := a.Tail()
		bTerm, bIndex := b.Tail()
		if aTerm != bTerm {
			return int(int64(bTerm) - int64(aTerm))
		}
		return int(int64(bIndex) - int64(aIndex))
	})
	for _, m := range members {
		servers := m.Servers()
		if len(servers) == 0 {
			continue
		}
		s.meet(servers)
		s.roster.Store((&roster{}).with(servers, s.newMember))
		return nil
	}
	return errors.New("none of the members says who belongs to the group")
}

// meet looks for members of which only their leader has told.
func (s *Replicated) meet(servers []member.Server) {
	if s.far == nil {
		return
	}
	for _, sv := range servers {
		s.far.Need(sv.ID, strings.TrimPrefix(sv.Address, scheme))
	}
}

// addressFor is a new member's address in the group's configuration: where the
// others find it. In one process that is its name.
func (s *Replicated) addressFor(id string) string {
	if s.far == nil {
		return id
	}
	return scheme + s.far.Member(id).Addr()
}

// goOn makes sure that nothing an earlier driver asked for, and that may still be
// on its way, is taken for something of this one's.
func (s *Replicated) goOn() {
	var number, epoch, term uint64
	for _, m := range s.far.Members() {
		n, e := m.Ticket()
		number, epoch, term = max(number, n), max(epoch, e), max(term, m.Status().Term)
	}
	s.front.Lock()
	defer s.front.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	// What is on its way has the number of a driver that began seconds ago at least.
	s.writes.last = max(number>>32+1, uint64(time.Now().Unix())) << 32
	s.writes.leases = rand.Int64N(1 << 46)
	s.lastEpoch = max(epoch, term<<16) + 1<<10
	s.attached = true
}

// restored is told that the copy of a member's state was replaced by a newer one.
// When the store is opened that is where it begins. Later it means that this process
// was so slow, or away so long, that no member's log has the entries between: who
// follows is told the changes from the history.
func (s *Replicated) restored(m *remote.Member, index uint64) {
	s.front.Lock()
	defer s.front.Unlock()
	if index <= s.reported {
		return
	}
	from := s.recent.revision() + 1
	s.reported = index
	id := m.ID()
	s.foremost.Store(&id)
	if !s.attached {
		m.Inspected(func(kv *mvcc.Store) { s.recent.reach(kv.Revision()) })
		return
	}
	var list []Change
	m.Inspected(func(kv *mvcc.Store) {
		for c := (Changes{UpTo: kv.Revision()}); from <= kv.Revision(); from = c.UpTo + 1 {
			c = Changes{UpTo: kv.Revision()}
			if err := c.read(kv, from); err != nil {
				s.breakDown(fmt.Errorf("raftstore: what happened while no member could be heard is compacted: %w", err))
				return
			}
			list = append(list, c.List...)
		}
	})
	for _, c := range list {
		if s.onCommit != nil {
			s.onCommit(&Result{Index: index, Revision: c.Revision, Events: c.Events})
		}
		s.recent.add(c.Revision, c.Events)
	}
	number, _ := m.Ticket()
	s.mu.Lock()
	var over []*write
	for w := s.writes.head; w != nil; w = w.next {
		if !w.settled && w.number <= number {
			over = append(over, w)
		}
	}
	leader := s.leader
	s.mu.Unlock()
	for _, w := range over {
		if s.settle(w, 0) {
			w.done(&Result{Err: rpctypes.ErrGRPCTimeoutDueToConnectionLost})
		}
	}
	if leader != nil {
		s.spawn("leases of "+leader.Member(), func() { s.promoteLessor(leader) })
	}
}

// breakDown ends every request with an error, also those to come.
func (s *Replicated) breakDown(err error) {
	s.mu.Lock()
	s.broken = err
	s.mu.Unlock()
	s.spawn("end of requests", func() { s.abort(err) })
}

// spare is the name of a process that waits to join: the one that was invited, else
// the first that was never used.
func (s *Replicated) spare(invited string) (string, error) {
	g := s.group()
	var free []string
	for _, m := range s.far.Members() {
		if m.Free() && g.find(m.ID()) == nil && memberNumber(m.ID()) >= s.facts.Named && (invited == "" || m.ID() == invited) {
			free = append(free, m.ID())
		}
	}
	next := memberName(s.facts.Named)
	switch {
	case len(free) > 0:
	case invited != "":
		return "", fmt.Errorf("raftstore: member %s cannot join: it belongs to a group or did, or its name was used; the next name is %s", invited, next)
	default:
		return "", fmt.Errorf("raftstore: no process waits to join; start one (kviz member --name %s …) and name its address: kviz etcdctl member add %s --peer-urls=https://…", next, next)
	}
	id := slices.MinFunc(free, byName)
	s.facts.Named = memberNumber(id) + 1
	return id, nil
}
