package mvcc

import (
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// Size is how many bytes the store's content takes: of every version what
// etcd would write to its database, without the database's own overhead, and
// the three counters. It looks at every version.
func (s *Store) Size() int64 {
	n := int64(3 * 8)
	s.revisions.Scan(func(v version) bool {
		kv := v.kv
		n += 8 + 1 + 8
		if v.tombstone() {
			kv = &mvccpb.KeyValue{Key: v.kv.Key}
			n++
		}
		n += int64(proto.Size(kv))
		return true
	})
	return n
}
