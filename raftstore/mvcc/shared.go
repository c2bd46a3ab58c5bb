package mvcc

import (
	"sync/atomic"
	"unsafe"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// Shared holds what several stores of one process wrote last, so that stores that get
// exactly the same requests, like the members of a group, share one copy of the
// results: a key's state never changes once it is made. A store takes a state that
// another one made only if it would make the same one itself, field by field, so what
// is wrong with one store stays with it.
type Shared struct{ ring [1024]atomic.Pointer[made] }

// made is a version, and its key as the index has it.
type made struct {
	version
	key string
}

// Share has the store share what it writes from now on; nil is alone.
func (s *Store) Share(with *Shared) { s.shared = with }

// state is what a key's next state is made of.
type state struct {
	key, value       []byte
	created, version int64
	lease            int64
}

// stateOf is the state as of a revision: the one that another store has made, or a new one.
// The key is a string where it is new to the index, and may be "" else.
func (s *Store) stateOf(rev Revision, st state) made {
	if s.shared == nil {
		return st.alone(rev)
	}
	slot := &s.shared.ring[uint64(rev.Main+rev.Sub)%uint64(len(s.shared.ring))]
	if w := slot.Load(); w != nil && w.rev == rev && st.is(w.kv) {
		return *w
	}
	w := st.alone(rev)
	slot.Store(&w)
	return w
}

func (st state) alone(rev Revision) made {
	w := made{version: version{rev, &mvccpb.KeyValue{
		Key: st.key, Value: st.value, CreateRevision: st.created, ModRevision: rev.Main, Version: st.version, Lease: st.lease,
	}}}
	if st.created == rev.Main && st.version == 1 {
		w.key = string(st.key)
	}
	return w
}

// is reports whether a state is this one in every field, and made of the same request:
// its bytes are not only equal, they are the same.
func (st state) is(kv *mvccpb.KeyValue) bool {
	return kv.CreateRevision == st.created && kv.Version == st.version && kv.Lease == st.lease &&
		sameBytes(kv.Key, st.key) && sameBytes(kv.Value, st.value)
}

func sameBytes(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}
