package mvcc

import (
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// writeTxn collects the changes of one request. All of them get the same main
// revision; the store's revision moves only if there are any.
//
// Mirrors etcd server/storage/mvcc/kvstore_txn.go storeTxnWrite.
type writeTxn struct {
	s        *Store
	beginRev int64 // what reads saw before the request
	res      *Result
}

func (s *Store) write(res *Result) *writeTxn {
	return &writeTxn{s: s, beginRev: s.currentRev, res: res}
}

// rev is the revision that reads inside the request see: the one before it, or
// its own once it has changed something.
func (w *writeTxn) rev() int64 {
	if len(w.res.Events) > 0 {
		return w.beginRev + 1
	}
	return w.beginRev
}

// next is the revision of the next change.
func (w *writeTxn) next() Revision {
	return Revision{Main: w.beginRev + 1, Sub: int64(len(w.res.Events))}
}

func (w *writeTxn) end() { w.s.currentRev = w.rev() }

// put writes a key and moves it from its old lease to the new one.
func (w *writeTxn) put(key, value []byte, leaseID int64) {
	s := w.s
	ki := s.keys[string(key)]
	rev := w.next()
	st := state{key: key, value: value, created: rev.Main, version: 1, lease: leaseID}
	oldLease := int64(0)
	if live := ki.live(); live != nil {
		st.created, st.version, oldLease = live.CreateRevision, live.Version+1, live.Lease
	}
	made := s.stateOf(rev, st)
	if ki == nil {
		ki = s.newKeyIndex(made.key)
	}
	v := made.version
	s.counts.Puts++
	s.counts.PutBytes += uint64(len(key) + len(value))
	w.record(mvccpb.Event_PUT, ki, v)
	ki.put(v)
	if oldLease != leaseID {
		s.detach(oldLease, ki.key)
		s.attach(leaseID, ki.key)
	}
}

// keyIndex is the key's history, a new one if it has none.
func (s *Store) keyIndex(key []byte) *keyIndex {
	if ki := s.keys[string(key)]; ki != nil {
		return ki
	}
	return s.newKeyIndex(string(key))
}

// newKeyIndex begins the history of a key that has none.
func (s *Store) newKeyIndex(key string) *keyIndex {
	ki := newKeyIndex(key)
	s.index.Set(ki)
	s.keys[key] = ki
	return ki
}

// delete writes the tombstone of a key that exists.
func (w *writeTxn) delete(ki *keyIndex) {
	live := ki.live()
	rev := w.next()
	v := w.s.stateOf(rev, state{key: live.Key}).version // a tombstone
	w.s.counts.Deletes++
	w.record(mvccpb.Event_DELETE, ki, v)
	ki.tombstone(v)
	w.s.detach(live.Lease, ki.key)
}

// record files the version by revision and makes its event.
func (w *writeTxn) record(t mvccpb.Event_EventType, ki *keyIndex, v version) {
	w.s.revisions.Set(v)
	w.s.pages.append(v)
	w.res.Events = append(w.res.Events, &mvccpb.Event{Type: t, Kv: v.kv, PrevKv: ki.get(w.beginRev)})
}
