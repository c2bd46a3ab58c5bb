package raftstore

import (
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/mvcc"
)

// History is what a store offers besides answering requests: what changed, from any
// revision on, and what its state machine holds. Both stores have it. All methods may
// be called from any goroutine.
type History interface {
	// Revision is the newest revision that any answer can have shown.
	Revision() int64

	// CompactRevision is the oldest revision that can still be read, -1 if
	// nothing was compacted.
	CompactRevision() int64

	// Changes gives the changes from a revision on, oldest first. Any number of
	// callers can follow the store with it, each at its own pace; a caller that
	// is slow costs nothing. From a revision below the compacted one on it fails
	// with rpctypes.ErrGRPCCompacted, unless the change is a recent one.
	Changes(from int64) (Changes, error)

	// Leases lists the granted leases by ID.
	Leases() ([]mvcc.Lease, error)

	// Lease is one of them.
	Lease(id int64) (l mvcc.Lease, ok bool, err error)

	// HashKV is the hash of a member's keys up to a revision (0: all). Members
	// that agree have the same. A bare store has no members and ignores id.
	HashKV(id string, rev int64) (KVHash, error)

	// Size is how many bytes a member's keys take, with their history.
	Size(id string) (int64, error)
}

// Changes is a run of changes.
type Changes struct {
	// List is whole revisions, oldest first, as many as are convenient. It is
	// shared and must not be changed.
	List []Change
	// UpTo is the revision up to which List is complete; go on at UpTo+1.
	UpTo int64
	// More is closed when there may be changes after UpTo.
	More <-chan struct{}
	// Era is how often the store's history was replaced by another (Rebuild) or lost its
	// end (Recover). Whoever followed the store in an earlier era must start over, as
	// with an etcd that was restored from a backup.
	Era uint64
}

// Change is what one revision changed, in order. An event's PrevKv is the
// key's state one revision before, where that is not compacted.
type Change struct {
	Revision int64
	Events   []*mvccpb.Event
}

// KVHash is the answer of etcd's Maintenance.HashKV.
type KVHash struct {
	Hash            uint32
	HashRevision    int64 // up to which it was taken
	CompactRevision int64
	Revision        int64 // of the member
}

var (
	_ History = (*Replicated)(nil)
	_ History = (*bare)(nil)
)

// historyRead is how many events one reading of the history gives, except for the
// last revision, which is never cut.
const historyRead = 1024

var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// read fills in what the history has, from a revision on up to UpTo.
func (c *Changes) read(kv *mvcc.Store, from int64) error {
	events, err := kv.Since(from)
	if err != nil {
		return err
	}
	n := 0
	for e := range events {
		rev := e.Kv.ModRevision
		if rev > c.UpTo {
			break
		}
		last := len(c.List) - 1
		if last < 0 || c.List[last].Revision != rev {
			if n >= historyRead {
				c.UpTo, c.More = rev-1, closed
				break
			}
			c.List = append(c.List, Change{Revision: rev})
			last++
		}
		c.List[last].Events = append(c.List[last].Events, e)
		n++
	}
	return nil
}

func hashKV(kv *mvcc.Store, rev int64) (h KVHash, err error) {
	h = KVHash{HashRevision: rev, CompactRevision: kv.CompactRevision(), Revision: kv.Revision()}
	if rev <= 0 {
		h.HashRevision = h.Revision
	}
	h.Hash, err = kv.HashKV(rev)
	return h, err
}

// Changes gives the changes from a revision on; see [History].
func (s *Replicated) Changes(from int64) (Changes, error) {
	if _, err := s.order.current(); err != nil {
		return Changes{}, err
	}
	c, ok := s.recent.since(from)
	if ok {
		return c, nil
	}
	m, err := s.informed(c.UpTo)
	if err != nil {
		return Changes{}, err
	}
	var readErr error
	if err := m.View(func(kv *mvcc.Store) { readErr = c.read(kv, from) }); err != nil {
		return Changes{}, err
	}
	return c, readErr
}

// informed is a running member that has applied a revision: the leader if it
// has, else the one that has come furthest.
func (s *Replicated) informed(rev int64) (peer, error) {
	leader := s.Leader()
	var best peer
	var most int64
	for _, m := range s.membership.group().members {
		if st := m.Status(); st.Up && st.Revision >= rev && (best == nil || m.ID() == leader || st.Revision > most && best.ID() != leader) {
			best, most = m, st.Revision
		}
	}
	if best == nil {
		return nil, fmt.Errorf("raftstore: no running member holds revision %d: %w", rev, rpctypes.ErrGRPCStopped)
	}
	return best, nil
}

// answered is a running member that holds everything that callers were answered: the
// one that they heard it from, which may be ahead of the leader. With that one down it
// is who would be asked next.
func (s *Replicated) answered() (peer, error) {
	if id := s.foremost.Load(); id != nil {
		for _, m := range s.membership.group().members {
			if m.ID() == *id && m.Status().Up {
				return m, nil
			}
		}
	}
	return s.informed(0)
}

// Revision is the newest revision that any answer can have shown.
func (s *Replicated) Revision() int64 {
	rev := s.recent.revision()
	for _, m := range s.membership.group().members {
		rev = max(rev, m.Status().Revision)
	}
	return rev
}

// CompactRevision is the oldest revision that can still be read at every
// member, -1 if nothing was compacted.
func (s *Replicated) CompactRevision() int64 {
	rev := int64(-1)
	for _, m := range s.membership.group().members {
		// A member that is down has nothing to say.
		_ = m.View(func(kv *mvcc.Store) { rev = max(rev, kv.CompactRevision()) })
	}
	return rev
}

// Leases lists the granted leases by ID.
func (s *Replicated) Leases() ([]mvcc.Lease, error) {
	m, err := s.answered()
	if err != nil {
		return nil, err
	}
	var list []mvcc.Lease
	err = m.View(func(kv *mvcc.Store) { list = kv.Leases() })
	return list, err
}

// Lease is a granted lease.
func (s *Replicated) Lease(id int64) (l mvcc.Lease, ok bool, err error) {
	m, err := s.answered()
	if err != nil {
		return l, false, err
	}
	err = m.View(func(kv *mvcc.Store) { l, ok = kv.Lease(id) })
	return l, ok, err
}

// HashKV is the hash of a member's keys up to a revision (0: all).
func (s *Replicated) HashKV(id string, rev int64) (KVHash, error) {
	m, err := s.membership.member(id)
	if err != nil {
		return KVHash{}, err
	}
	var h KVHash
	var hashErr error
	if err := m.View(func(kv *mvcc.Store) { h, hashErr = hashKV(kv, rev) }); err != nil {
		return KVHash{}, err
	}
	return h, hashErr
}

// Size is how many bytes a member's keys take, with their history.
func (s *Replicated) Size(id string) (n int64, err error) {
	m, err := s.membership.member(id)
	if err != nil {
		return 0, err
	}
	err = m.View(func(kv *mvcc.Store) { n = kv.Size() })
	return n, err
}
