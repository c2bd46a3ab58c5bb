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
	ki := s.keyIndex(key)
	rev := w.next()
	kv := &mvccpb.KeyValue{Key: key, Value: value, CreateRevision: rev.Main, ModRevision: rev.Main, Version: 1, Lease: leaseID}
	oldLease := int64(0)
	if live := ki.live(); live != nil {
		kv.CreateRevision, kv.Version, oldLease = live.CreateRevision, live.Version+1, live.Lease
	}
	v := version{rev, kv}
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
	ki := s.keys[string(key)]
	if ki == nil {
		ki = newKeyIndex(string(key))
		s.index.Set(ki)
		s.keys[ki.key] = ki
	}
	return ki
}

// delete writes the tombstone of a key that exists.
func (w *writeTxn) delete(ki *keyIndex) {
	live := ki.live()
	rev := w.next()
	v := version{rev, &mvccpb.KeyValue{Key: live.Key, ModRevision: rev.Main}}
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
