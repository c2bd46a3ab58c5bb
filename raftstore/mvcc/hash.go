package mvcc

import (
	"hash/crc32"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Hash is [Store.HashKV] at the current revision: equal on all members that
// applied the same requests and compacted at the same revision.
func (s *Store) Hash() uint32 {
	h, _ := s.HashKV(0)
	return h
}

// HashKV is the hash of all revisions up to rev (0 means the current one), the
// same number that etcd's Maintenance.HashKV gives for the same history.
//
// Mirrors etcd server/storage/mvcc/hash.go unsafeHashByRev.
func (s *Store) HashKV(rev int64) (uint32, error) {
	if err := s.checkRevision(rev, s.currentRev); err != nil {
		return 0, err
	}
	if rev <= 0 {
		rev = s.currentRev
	}
	keep := s.keep(rev)
	h := crc32.New(castagnoli)
	h.Write([]byte("key")) // the name of the bucket
	var b []byte
	s.revisions.Scan(func(v version) bool {
		if v.rev.Main > rev {
			return false
		}
		if v.rev.Main <= s.compactRev && len(keep) > 0 && !keep[v.rev] {
			return true // in etcd, scheduled for deletion
		}
		if v.rev.Main == s.compactRev && v.tombstone() {
			return true // older versions of etcd delete it, newer ones keep it
		}
		b = appendKV(v.rev.appendKey(b[:0], v.tombstone()), v)
		h.Write(b)
		return true
	})
	return h.Sum32(), nil
}

// keep is what a compaction at rev would keep of the history up to rev.
func (s *Store) keep(rev int64) map[Revision]bool {
	if s.compactRev < 0 {
		return nil // nothing is below it, so nobody asks
	}
	keep := map[Revision]bool{}
	s.index.Scan(func(ki *keyIndex) bool {
		if v, ok := ki.keep(rev); ok {
			keep[v.rev] = true
		}
		return true
	})
	return keep
}

var deterministic = proto.MarshalOptions{Deterministic: true}

// appendKV appends the bytes etcd stores for a version: of a tombstone only
// the key.
func appendKV(b []byte, v version) []byte {
	kv := v.kv
	if v.tombstone() {
		kv = &mvccpb.KeyValue{Key: v.kv.Key}
	}
	b, err := deterministic.MarshalAppend(b, kv)
	if err != nil {
		panic("mvcc: marshal key value: " + err.Error()) // only invalid UTF-8 in a string field fails, and there is none
	}
	return b
}
