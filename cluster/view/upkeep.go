package view

import (
	"slices"
	"time"

	"kviz/cluster/trace"
)

// Upkeep is what the store is beside its keys and its raft log: its size and
// alarms, leases, watchers, what lately went wrong with transactions, how fast
// it is.
type Upkeep struct {
	Quota       int64  // bytes that a member's database may have
	ClusterID   uint64 // changed by a restore; 0 while it is the first
	CompactedBy trace.ID
	Alarms      []Alarm // that are raised
	Restored    *Restore
	Backups     []Backup // the last snapshot files written, oldest first
	Unmet       []Unmet  // transactions whose comparison did not hold, oldest first
	Answers     []Answer // reads at single members, oldest first
	Rounds      []Round  // the last proofs of leadership for linearizable reads
	Calls       []Call   // the last requests of clients that are no API servers
	Forwarded   Forwarded
	Clients     []StoreClient // those that name the members they go through, and which one each uses
	Cancelled   []Cancelled   // the last watches that ended because their history was compacted
	Failed      int           // requests that the store refused or did not answer

	endpoints table[string, *Endpoint]
	leases    table[int64, *StoreLease]
	watches   table[uint64, *StoreWatch]
	latencies table[string, *Latency]
}

func (u *Upkeep) share(from *Store) {
	u.endpoints, u.leases, u.watches, u.latencies = from.endpoints.copy(), from.leases.copy(), from.watches.copy(), from.latencies.copy()
	clip(&u.Alarms)
	clip(&u.Backups)
	clip(&u.Unmet)
	clip(&u.Answers)
	clip(&u.Rounds)
	clip(&u.Calls)
	clip(&u.Cancelled)
}

// samples is how many durations are kept of each thing that is measured.
const samples = 256

// Alarm is a raised alarm.
type Alarm struct {
	trace.Alarm
	Event trace.ID
	Since time.Duration
}

// Defrag is a member's last defragmentation.
type Defrag struct {
	trace.Defrag
	Event trace.ID
	At    time.Duration
}

// FullDisk is a disk that has refused a member's write because it is full.
type FullDisk struct {
	trace.DiskRoom
	Event trace.ID
	Since time.Duration
}

// Restore is the last snapshot that was brought back.
type Restore struct {
	trace.Restore
	Event trace.ID
	At    time.Duration
}

// Backup is a snapshot file.
type Backup struct {
	trace.Backup
	Event trace.ID
	At    time.Duration
}

// Unmet is a transaction whose comparison did not hold.
type Unmet struct {
	*trace.Txn
	Causes []trace.ID
	Event  trace.ID
	At     time.Duration
}

// Answer is a read at one member.
type Answer struct {
	*trace.MemberAnswer
	Event trace.ID
	At    time.Duration
}

// Round is one proof of leadership.
type Round struct {
	*trace.ReadRound
	Event trace.ID
	At    time.Duration
}

// Endpoint is where etcd's clients find a member.
type Endpoint struct {
	trace.MemberEndpoint
	Event trace.ID
	At    time.Duration
}

// Endpoint is where etcd's clients find a member, or nil while nothing has told
// it. The bare store is the member "mvcc", if it is served at all.
func (s *Store) Endpoint(member string) *Endpoint { e, _ := s.endpoints.get(member); return e }

// Endpoints lists where etcd's clients find the members there are, by name.
func (s *Store) Endpoints() []*Endpoint { return s.endpoints.values() }

// StoreLease is a lease of the store; it is no Lease object.
type StoreLease struct {
	gen
	ID      int64
	TTL     time.Duration
	For     string
	Granted trace.ID
	Renewed time.Duration // when its time began last
	Keys    int           // that are attached to it
}

func (l *StoreLease) seal() {}

// Remaining is how long it has still to live at a moment of virtual time.
func (l *StoreLease) Remaining(at time.Duration) time.Duration {
	return max(l.Renewed+l.TTL-at, 0)
}

// StoreWatch is a watch on the store.
type StoreWatch struct {
	gen
	trace.StoreWatch
	Event  trace.ID
	Since  time.Duration
	Lagged trace.ID // the event that told last how far behind it is
}

// StoreClient is a client of the store and the member that it goes through.
type StoreClient struct {
	trace.Endpoint
	Event trace.ID
	Since time.Duration
}

// Doomed reports whether the watch still has to be sent something that was
// compacted: it will be cancelled.
func (w *StoreWatch) Doomed(compacted int64) bool { return w.Lag > 0 && w.Next < compacted }

func (w *StoreWatch) seal() {}

// Cancelled is a watch that ended because its history was compacted.
type Cancelled struct {
	trace.StoreWatch
	Event trace.ID
	At    time.Duration
}

// Call is a request that did not come from an API server.
type Call struct {
	*trace.EtcdCall
	Event trace.ID
	At    time.Duration
}

// Forwarded is the last request that a follower passed on to the leader.
type Forwarded struct {
	From, To string
	Event    trace.ID
	At       time.Duration
}

// KeyWrite is one write of a key.
type KeyWrite struct {
	Event    trace.ID // store.commit
	At       time.Duration
	Revision int64
	Version  int64
	Size     int
}

const keyWrites = 8

// written is a history with one more write, the newest last. It is copied:
// states share histories.
func written(history []KeyWrite, w KeyWrite) []KeyWrite {
	if len(history) >= keyWrites {
		history = history[len(history)-keyWrites+1:]
	}
	return append(history[:len(history):len(history)], w)
}

// History lists the last writes of the key (at most 8) since it was created,
// the newest last.
func (k *Key) History() []KeyWrite { return k.history }

// Measured sums up durations in real time.
type Measured struct {
	Count    int // of the last ones
	P50, P99 time.Duration
	Last     time.Duration
}

func measure(s []time.Duration) Measured {
	s = last(s, samples)
	if len(s) == 0 {
		return Measured{}
	}
	sorted := slices.Sorted(slices.Values(s))
	at := func(q int) time.Duration { return sorted[min(len(sorted)*q/100, len(sorted)-1)] }
	return Measured{Count: len(s), P50: at(50), P99: at(99), Last: s[len(s)-1]}
}

// Fsync is how long the member's last writes took with their fsync, with the
// disk as it is now.
func (m *Member) Fsync() Measured {
	if len(m.disks) == 0 {
		return Measured{}
	}
	return m.disks[len(m.disks)-1].Writes()
}

// Applying is how long the member took to apply the last committed entries.
func (m *Member) Applying() Measured { return measure(m.backs) }

// Latency is how long commits took with so many voters and such disks.
type Latency struct {
	gen
	Voters  int
	Disks   string // what was slow: "a +20ms"; "" for nothing
	Commits int
	Entries int // committed; several at once when writers overlap
	Last    trace.ID
	took    []time.Duration
}

func (l *Latency) seal() { clip(&l.took) }

// Commit sums up how long the last commits took, from the leader's beginning
// to write an entry until a quorum had it on disk.
func (l *Latency) Commit() Measured { return measure(l.took) }

// Series is the last commits in order, oldest first, for a chart.
func (l *Latency) Series() []time.Duration { return last(l.took, samples) }

// Latencies lists how long commits took, by number of voters, then by what was
// slow.
func (s *Store) Latencies() []*Latency { return s.latencies.values() }

// Leases lists the store's leases by ID.
func (s *Store) Leases() []*StoreLease { return s.leases.values() }

// Watches lists the watches on the store, in the order in which they were
// opened.
func (s *Store) Watches() []*StoreWatch { return s.watches.values() }

// Alarm reports whether an alarm ("NOSPACE") is raised by any member.
func (s *Store) Alarm(name string) bool {
	return slices.ContainsFunc(s.Alarms, func(a Alarm) bool { return a.Alarm.Alarm == name })
}

// Question lists the answers to the newest question put to single members, by
// member, the linearizable one first.
func (s *Store) Question() []Answer {
	if len(s.Answers) == 0 {
		return nil
	}
	newest := s.Answers[len(s.Answers)-1].Round
	var out []Answer
	for _, a := range s.Answers {
		if a.Round == newest {
			out = append(out, a)
		}
	}
	return out
}

// Proposals are the numbers that etcd counts as
// etcd_server_proposals_{committed,applied,pending,failed}_total.
type Proposals struct {
	Committed, Applied, Pending uint64
	Failed                      int // refused or given up, as far as clients got an answer
}

// Proposals counts what was proposed.
func (s *Store) Proposals() Proposals {
	p := Proposals{Failed: s.Failed}
	s.members.all(func(_ string, m *Member) bool {
		p.Committed, p.Applied = max(p.Committed, m.Commit), max(p.Applied, m.Applied)
		if m.Name == s.Leader && m.Last > m.Commit {
			p.Pending = m.Last - m.Commit
		}
		return true
	})
	return p
}
