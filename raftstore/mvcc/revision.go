package mvcc

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// Revision is one modification in the store's history. Main is the
// transaction's revision, the number clients see; Sub counts the changes
// inside one transaction from 0. A txn of two puts at revision 5 writes {5,0}
// and {5,1}.
//
// Mirrors etcd server/storage/mvcc/revision.go Revision.
type Revision struct {
	Main int64
	Sub  int64
}

// String is "5.0", as the comments of key_index.go write it.
func (r Revision) String() string { return fmt.Sprintf("%d.%d", r.Main, r.Sub) }

// Less reports whether r happened before o.
func (r Revision) Less(o Revision) bool {
	return r.Main < o.Main || r.Main == o.Main && r.Sub < o.Sub
}

// appendKey appends the key under which etcd files the revision in its
// database: 8 bytes, '_', 8 bytes, and 't' for a tombstone.
func (r Revision) appendKey(b []byte, tombstone bool) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(r.Main))
	b = append(b, '_')
	b = binary.BigEndian.AppendUint64(b, uint64(r.Sub))
	if tombstone {
		b = append(b, 't')
	}
	return b
}

// version is what one revision wrote: a key's new state, or its tombstone.
// Invariant: kv is never changed once it is here; snapshots, responses and
// events share it.
type version struct {
	rev Revision
	kv  *mvccpb.KeyValue
}

// tombstone reports whether the version says "deleted": its kv holds only the
// key and the revision, as a DELETE event does.
func (v version) tombstone() bool { return v.kv.CreateRevision == 0 }

func versionLess(a, b version) bool { return a.rev.Less(b.rev) }
