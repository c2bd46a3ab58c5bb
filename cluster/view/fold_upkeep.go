package view

import (
	"fmt"
	"slices"
	"strings"

	"kviz/cluster/trace"
)

// DefaultQuota is etcd's --quota-backend-bytes when none is given (etcd
// server/storage/quota.go DefaultQuotaBytes).
const DefaultQuota = 2 << 30

func init() {
	on(trace.MemberJoined, memberJoined)
	on(trace.MemberPromoted, memberJoined)
	on(trace.MemberLeft, func(b *Builder, e *trace.Event, p *trace.Membership) {
		m := b.member(p.Member)
		b.s.Store.endpoints.delete(p.Member)
		m.Left, m.Up, m.Role, m.Peers, m.Votes = true, false, "removed", nil, nil
		m.Event, m.Since = e.ID, e.At
		if b.s.Store.Leader == p.Member {
			b.s.Store.Leader = ""
		}
	})
	on(trace.RaftForward, func(b *Builder, e *trace.Event, p *trace.RaftMessage) {
		b.s.Store.Forwarded = Forwarded{p.From, p.To, e.ID, e.At}
	})
	on(trace.RaftRead, func(b *Builder, e *trace.Event, p *trace.ReadRound) {
		b.s.Store.Rounds = recent(b.s.Store.Rounds, Round{p, e.ID, e.At}, 16)
	})
	on(trace.MemberRead, func(b *Builder, e *trace.Event, p *trace.MemberAnswer) {
		b.s.Store.Answers = recent(b.s.Store.Answers, Answer{p, e.ID, e.At}, 64)
	})
	on(trace.MemberServed, func(b *Builder, e *trace.Event, p *trace.MemberEndpoint) {
		if m, ok := b.s.Store.members.get(p.Member); ok && m.Left {
			return // its listener closes a moment after it has left
		}
		b.s.Store.endpoints.set(p.Member, &Endpoint{*p, e.ID, e.At})
	})
	on(trace.MemberDefrag, func(b *Builder, e *trace.Event, p *trace.Defrag) {
		m := b.member(p.Member)
		m.Defrag = &Defrag{*p, e.ID, e.At}
		if p.Done && p.Error == "" {
			m.DBSize = p.After
			m.DBInUse = min(m.DBInUse, p.After)
		}
	})
	on(trace.MemberRoom, func(b *Builder, e *trace.Event, p *trace.DiskRoom) {
		m := b.member(p.Member)
		m.FullDisk = nil
		if p.Full {
			m.FullDisk = &FullDisk{*p, e.ID, e.At}
		}
	})
	on(trace.MemberBackup, func(b *Builder, e *trace.Event, p *trace.Backup) {
		b.s.Store.Backups = recent(b.s.Store.Backups, Backup{*p, e.ID, e.At}, 16)
	})
	on(trace.StoreRestored, storeRestored)
	on(trace.EtcdRequest, func(b *Builder, e *trace.Event, p *trace.EtcdCall) {
		b.s.Store.Calls = recent(b.s.Store.Calls, Call{p, e.ID, e.At}, 16)
	})
	on(trace.StoreUnmet, func(b *Builder, e *trace.Event, p *trace.Txn) {
		b.s.Store.Unmet = recent(b.s.Store.Unmet, Unmet{p, e.Causes, e.ID, e.At}, 32)
	})
	on(trace.LeaseGranted, func(b *Builder, e *trace.Event, p *trace.StoreLease) {
		l := edit(b, b.s.Store.leases, p.ID)
		l.ID, l.TTL, l.For, l.Granted, l.Renewed = p.ID, p.TTL, p.For, e.ID, e.At
	})
	on(trace.LeaseRenewed, func(b *Builder, e *trace.Event, p *trace.StoreLease) {
		if _, ok := b.s.Store.leases.get(p.ID); ok {
			edit(b, b.s.Store.leases, p.ID).Renewed = e.At
		}
	})
	on(trace.LeaseExpired, leaseEnded)
	on(trace.LeaseRevoked, leaseEnded)
	on(trace.AlarmRaised, func(b *Builder, e *trace.Event, p *trace.Alarm) {
		b.noAlarm(p)
		b.s.Store.Alarms = append(b.s.Store.Alarms, Alarm{*p, e.ID, e.At})
	})
	on(trace.AlarmCleared, func(b *Builder, e *trace.Event, p *trace.Alarm) { b.noAlarm(p) })
	on(trace.StoreWatchOpened, func(b *Builder, e *trace.Event, p *trace.StoreWatch) {
		b.s.Store.watches.set(p.Watch, &StoreWatch{gen: gen{b.gen}, StoreWatch: *p, Event: e.ID, Since: e.At})
	})
	on(trace.StoreWatchLag, func(b *Builder, e *trace.Event, p *trace.StoreWatch) {
		if _, ok := b.s.Store.watches.get(p.Watch); !ok {
			return
		}
		w := edit(b, b.s.Store.watches, p.Watch)
		w.Next, w.Lag, w.Waiting, w.Lagged = p.Next, p.Lag, p.Waiting, e.ID
	})
	on(trace.StoreEndpoint, func(b *Builder, e *trace.Event, p *trace.Endpoint) {
		var list []StoreClient
		for _, x := range b.s.Store.Clients {
			if x.Client != p.Client {
				list = append(list, x)
			}
		}
		if len(p.Endpoints) > 0 {
			list = append(list, StoreClient{*p, e.ID, e.At})
		}
		b.s.Store.Clients = list
	})
	on(trace.StoreWatchClosed, func(b *Builder, e *trace.Event, p *trace.StoreWatch) {
		b.s.Store.watches.delete(p.Watch)
		if p.Compacted > 0 {
			b.s.Store.Cancelled = recent(b.s.Store.Cancelled, Cancelled{*p, e.ID, e.At}, 16)
		}
	})
}

// noAlarm takes an alarm out.
func (b *Builder) noAlarm(p *trace.Alarm) {
	var left []Alarm
	for _, a := range b.s.Store.Alarms {
		if a.Alarm.Alarm != p.Alarm || a.Member != p.Member {
			left = append(left, a)
		}
	}
	b.s.Store.Alarms = left
}

func memberJoined(b *Builder, e *trace.Event, p *trace.Membership) {
	m := b.member(p.Member)
	m.Learner, m.Left = p.Learner, false
	if m.Event.IsZero() {
		m.Event, m.Since = e.ID, e.At
	}
	if l, ok := b.s.Store.members.get(b.s.Store.Leader); ok && l.Name != p.Member && l.Peer(p.Member) == nil {
		leader := b.member(l.Name)
		leader.Peers = append(leader.Peers, Peer{Name: p.Member, Next: leader.Last + 1})
	}
}

func leaseEnded(b *Builder, e *trace.Event, p *trace.StoreLease) {
	b.s.Store.leases.delete(p.ID)
}

// leaseKeys counts what is attached to leases.
func (b *Builder) leaseKeys(c *trace.KeyChange) {
	s := &b.s.Store
	attach := func(id int64, n int) {
		if _, ok := s.leases.get(id); ok {
			edit(b, s.leases, id).Keys += n
		}
	}
	if old, ok := s.keys.get(c.Key); ok && old.Lease != 0 {
		attach(old.Lease, -1)
	}
	if !c.Deleted && c.Lease != 0 {
		attach(c.Lease, 1)
	}
}

// storeRestored empties the store: one store.commit event follows that tells
// what the snapshot held.
func storeRestored(b *Builder, e *trace.Event, p *trace.Restore) {
	s := &b.s.Store
	s.Restored, s.ClusterID = &Restore{*p, e.ID, e.At}, p.ClusterID
	s.Revision, s.Alarms = p.Revision, nil
	for _, k := range s.keys.keys() {
		old, _ := s.keys.get(k)
		s.keys.delete(k)
		if old.Ref.Kind != "" {
			b.changeObject(e, p.Revision, &trace.KeyChange{Key: k, Deleted: true, Object: old.Ref})
		}
	}
	for _, id := range s.leases.keys() {
		s.leases.delete(id)
	}
	for _, rev := range s.commits.keys() {
		s.commits.delete(rev)
	}
	if p.Survivor != "" {
		return // its disk is the same
	}
	for name := range entries(s.members) {
		m := b.member(name)
		m.log, m.Last, m.Durable, m.Commit, m.Applied, m.Revision = nil, 0, 0, 0, 0, 0
	}
}

// committed notes how long a commit took, with the voters and the slow disks
// there are now.
func (b *Builder) committed(e *trace.Event, p *trace.RaftProgress) {
	s := &b.s.Store
	voters := s.Quorum().Total
	var slow []string
	for _, m := range s.Members() {
		if x := b.s.slowness(m.Name); x != "" {
			slow = append(slow, m.Name+" +"+x)
		}
	}
	slices.Sort(slow)
	disks := strings.Join(slow, ", ")
	l := edit(b, s.latencies, fmt.Sprintf("%d %s", voters, disks))
	l.Voters, l.Disks, l.Last = voters, disks, e.ID
	l.Commits++
	l.Entries += max(p.Entries, 1)
	l.took = recent(l.took, p.Took, samples)
	b.second(e).Commit.add(p.Took, e.ID)
}
