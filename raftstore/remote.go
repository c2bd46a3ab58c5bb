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

// remoteMember is a member in another process.
type remoteMember struct{ *remote.Member }

// Leader is the member's leadership, nil if it does not lead.
func (e remoteMember) Leader() leadership {
	if r := e.Member.Leader(); r != nil {
		return remoteLeader{r}
	}
	return nil
}

type remoteLeader struct{ *remote.Reader }

func (l remoteLeader) same(other leadership) bool {
	o, ok := other.(remoteLeader)
	return ok && l.Same(o.Reader)
}

// scheme is what an address in the group's configuration begins with.
const scheme = "https://"

// bootRemote takes over the members in other processes as they are, or makes a
// group of them.
func (s *Replicated) bootRemote() error {
	group, err := remote.Open(remote.Config{
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
	s.processes, s.network = group, group.Network()
	s.membership.processes, s.membership.network = group, s.network
	s.membership.clusterID.Store(group.Cluster())
	first, err := s.foundRemote()
	if err != nil {
		return fmt.Errorf("raftstore: %w", err)
	}
	if first == nil {
		if err := s.reopenRemote(); err != nil {
			return fmt.Errorf("raftstore: %w", err)
		}
	}
	s.goOn()
	for _, id := range s.membership.group().ids {
		s.membership.facts.Named = max(s.membership.facts.Named, memberNumber(id)+1)
	}
	s.order.serve()
	s.leadershipChanged()
	if first != nil && !s.cfg.NoCampaign {
		s.spawn("campaign", first.Campaign)
	}
	return nil
}

// foundRemote makes a new group, if no process holds a log. It returns the member
// that may stand for election first.
func (s *Replicated) foundRemote() (first peer, err error) {
	var servers []member.Server
	for _, m := range s.processes.Members() {
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
	s.membership.put((&roster{}).with(servers, s.newMember))
	members := s.membership.group().members
	errs := make([]error, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Add(1)
		s.spawn("start of "+m.ID(), func() {
			defer wg.Done()
			errs[i] = m.(remoteMember).Begin(servers, "the store was opened")
		})
	}
	wg.Wait()
	return members[0], errors.Join(errs...)
}

// reopenRemote takes over a group that is there. Members that were stopped stay
// stopped, unless nobody runs.
func (s *Replicated) reopenRemote() error {
	members := s.processes.Members()
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
		s.membership.meet(servers)
		s.membership.put((&roster{}).with(servers, s.newMember))
		return nil
	}
	return errors.New("none of the members says who belongs to the group")
}

// meet looks for members that only their leader knows of.
func (ms *membership) meet(servers []member.Server) {
	if ms.processes == nil {
		return
	}
	for _, sv := range servers {
		ms.processes.Need(sv.ID, strings.TrimPrefix(sv.Address, scheme))
	}
}

// addressFor is a new member's address in the group's configuration: where the
// others find it. In one process that is its name.
func (ms *membership) addressFor(id string) string {
	if ms.processes == nil {
		return id
	}
	return scheme + ms.processes.Member(id).Addr()
}

// goOn makes sure that no request of an earlier driver, which may still be in flight,
// is mistaken for one of this driver.
func (s *Replicated) goOn() {
	var number, epoch, term uint64
	for _, m := range s.processes.Members() {
		n, e := m.Ticket()
		number, epoch, term = max(number, n), max(epoch, e), max(term, m.Status().Term)
	}
	s.front.Lock()
	defer s.front.Unlock()
	// What is on its way has the number of a driver that began seconds ago at least.
	s.order.goOn(max(number>>32+1, uint64(time.Now().Unix()))<<32, int64(s.bootTerm)<<32+rand.Int64N(1<<46), max(epoch, term<<16)+1<<10)
	s.attached = true
}

// restored is called when the copy of a member's state was replaced by a newer one.
// When the store is opened that is where it begins. Later it means that this process
// was so slow, or away so long, that no member's log has the entries between:
// whoever follows the store gets the changes from the history.
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
				s.breakDown(fmt.Errorf("raftstore: what happened while no member could be reached is compacted: %w", err))
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
	s.order.endUpTo(number, rpctypes.ErrGRPCTimeoutDueToConnectionLost)
	if leader, _ := s.order.current(); leader != nil {
		s.spawn("leases of "+leader.Member(), func() { s.promoteLessor(leader) })
	}
}

// breakDown ends every request with an error, also those to come.
func (s *Replicated) breakDown(err error) {
	s.order.broke(err)
	s.spawn("end of requests", func() { s.order.abort(err) })
}

// spare is the name of a process that waits to join: the one that was invited, else
// the first that was never used.
func (ms *membership) spare(invited string) (string, error) {
	g := ms.group()
	var free []string
	for _, m := range ms.processes.Members() {
		if m.Free() && g.find(m.ID()) == nil && memberNumber(m.ID()) >= ms.facts.Named && (invited == "" || m.ID() == invited) {
			free = append(free, m.ID())
		}
	}
	next := memberName(ms.facts.Named)
	switch {
	case len(free) > 0:
	case invited != "":
		return "", fmt.Errorf("raftstore: member %s cannot join: it belongs to a group or did, or its name was used; the next name is %s", invited, next)
	default:
		return "", fmt.Errorf("raftstore: no process waits to join; start one (kviz member --name %s …) and name its address: kviz etcdctl member add %s --peer-urls=https://…", next, next)
	}
	id := slices.MinFunc(free, byName)
	ms.facts.Named = memberNumber(id) + 1
	return id, nil
}
