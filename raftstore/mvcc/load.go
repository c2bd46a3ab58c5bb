package mvcc

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// Loader makes a store of what an etcd database file holds: the records of its
// "key" bucket in order, its leases, and how far it was compacted. What etcd
// tolerates when it opens such a file is tolerated here.
//
// Mirrors etcd server/storage/mvcc/kvstore.go restore, restoreIntoIndex.
type Loader struct {
	s    *Store
	last Revision
}

// NewLoader begins an empty store.
func NewLoader() *Loader { return &Loader{s: New(), last: Revision{Main: -1}} }

// Lease adds a lease.
func (l *Loader) Lease(id, ttl int64) error {
	if id == 0 {
		return errors.New("a lease without an ID")
	}
	l.s.leases.Set(&lease{id: id, ttl: ttl, keys: map[string]struct{}{}})
	return nil
}

// Record adds one record as etcd has it: the revision, and the KeyValue.
func (l *Loader) Record(key, value []byte) error {
	rev, dead, err := parseRevision(key)
	if err != nil {
		return err
	}
	if !l.last.Less(rev) {
		return fmt.Errorf("revision %v after %v", rev, l.last)
	}
	l.last = rev
	kv := &mvccpb.KeyValue{}
	if err := proto.Unmarshal(value, kv); err != nil {
		return fmt.Errorf("revision %v: %w", rev, err)
	}
	l.s.currentRev = max(l.s.currentRev, rev.Main)
	v := version{rev: rev, kv: kv}
	switch {
	case len(kv.Key) == 0:
		// etcdutl snapshot restore --bump-revision leaves one: it only says how
		// far the revision has come.
		return nil
	case dead:
		v.kv = &mvccpb.KeyValue{Key: kv.Key, ModRevision: rev.Main}
		if ki := l.s.keys[string(kv.Key)]; ki != nil && ki.live() == nil {
			return nil // etcd passes over it with a warning
		}
		l.s.revisions.Set(v)
		l.s.keyIndex(kv.Key).tombstone(v)
		return nil
	case kv.ModRevision != rev.Main || kv.CreateRevision < 1 || kv.CreateRevision > kv.ModRevision || kv.Version < 1:
		return fmt.Errorf("revision %v says it is version %d of its key, created at %d and modified at %d", rev, kv.Version, kv.CreateRevision, kv.ModRevision)
	}
	l.s.revisions.Set(v)
	l.s.keyIndex(kv.Key).put(v)
	return nil
}

// Store ends the loading. finished and scheduled are the compactions that were
// done and begun, 0 for none: one that was begun is done now, as etcd does it
// when it starts.
func (l *Loader) Store(finished, scheduled int64, applied uint64) (*Store, error) {
	s := l.s
	s.applied = applied
	if finished > 0 {
		s.compactRev = finished
	}
	s.currentRev = max(s.currentRev, finished, scheduled)
	s.reattach()
	s.pages.pack(s.revisions)
	if scheduled > max(finished, 0) {
		s.compactTo(scheduled)
	}
	return s, nil
}

// Store is a separate store that continues from the snapshot.
func (sn *Snapshot) Store() (*Store, error) {
	l := NewLoader()
	if err := errors.Join(sn.Leases(l.Lease), sn.Records(l.Record)); err != nil {
		return nil, fmt.Errorf("mvcc: store of a snapshot: %w", err)
	}
	l.s.currentRev = max(l.s.currentRev, sn.currentRev)
	return l.Store(sn.compactRev, 0, sn.applied)
}

// Bump makes the store look as if n more revisions had been written, and
// compacted: whoever followed the store before a backup of it was restored
// finds no revision twice. Every watcher that goes on from before learns that
// its revision is compacted, and lists again.
//
// Mirrors etcdutl/snapshot/v3_snapshot.go modifyLatestRevision.
func (s *Store) Bump(n int64) {
	s.currentRev += n
	s.compactTo(s.currentRev)
}

// parseRevision reads a key of the "key" bucket.
func parseRevision(key []byte) (rev Revision, tombstone bool, err error) {
	const plain = 8 + 1 + 8
	if len(key) != plain && (len(key) != plain+1 || key[plain] != 't') || key[8] != '_' {
		return rev, false, fmt.Errorf("%q is no revision", key)
	}
	rev = Revision{Main: int64(binary.BigEndian.Uint64(key)), Sub: int64(binary.BigEndian.Uint64(key[9:]))}
	if rev.Main < 0 || rev.Sub < 0 {
		return rev, false, fmt.Errorf("%q is no revision", key)
	}
	return rev, len(key) > plain, nil
}
