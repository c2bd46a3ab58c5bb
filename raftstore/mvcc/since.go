package mvcc

import (
	"iter"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// Since gives the events from a revision on, oldest first, for a watcher that
// starts in the past. Events carry PrevKv, the key's state one revision
// before, where that is not compacted. A revision below the compacted one
// gives rpctypes.ErrGRPCCompacted; one in the future gives no events.
//
// The sequence must be consumed before the next Apply.
//
// Mirrors etcd server/storage/mvcc/watchable_store.go syncWatchers.
func (s *Store) Since(rev int64) (iter.Seq[*mvccpb.Event], error) {
	if rev < s.compactRev {
		return nil, rpctypes.ErrGRPCCompacted
	}
	return func(yield func(*mvccpb.Event) bool) {
		s.revisions.Ascend(version{rev: Revision{Main: rev}}, func(v version) bool {
			e := &mvccpb.Event{Type: mvccpb.Event_PUT, Kv: v.kv}
			if v.tombstone() {
				e.Type = mvccpb.Event_DELETE
			}
			if before := v.rev.Main - 1; before >= s.compactRev {
				if ki := s.keys[string(v.kv.Key)]; ki != nil {
					e.PrevKv = ki.get(before)
				}
			}
			return yield(e)
		})
	}, nil
}
