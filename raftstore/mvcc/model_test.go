package mvcc

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// model is the store as one would write it without caring for speed: the list
// of everything that was ever written. Nothing is ever removed from it; a
// compaction only forbids to look.
type model struct {
	log     []version
	rev     int64
	compact int64
	leases  map[int64]bool
}

func newModel() *model { return &model{rev: 1, compact: -1, leases: map[int64]bool{}} }

// at is every existing key at a revision, in key order.
func (m *model) at(rev int64) []*mvccpb.KeyValue {
	state := map[string]*mvccpb.KeyValue{}
	for _, v := range m.log {
		if v.rev.Main > rev {
			break
		}
		state[string(v.kv.Key)] = v.kv
		if v.tombstone() {
			delete(state, string(v.kv.Key))
		}
	}
	var kvs []*mvccpb.KeyValue
	for _, kv := range state {
		kvs = append(kvs, kv)
	}
	slices.SortFunc(kvs, func(a, b *mvccpb.KeyValue) int { return bytes.Compare(a.Key, b.Key) })
	return kvs
}

func (m *model) get(key []byte, rev int64) *mvccpb.KeyValue {
	for _, kv := range m.at(rev) {
		if bytes.Equal(kv.Key, key) {
			return kv
		}
	}
	return nil
}

func (m *model) in(key, end []byte, rev int64) []*mvccpb.KeyValue {
	return slices.DeleteFunc(m.at(rev), func(kv *mvccpb.KeyValue) bool {
		switch {
		case len(end) == 0:
			return !bytes.Equal(kv.Key, key)
		case len(end) == 1 && end[0] == 0:
			return bytes.Compare(kv.Key, key) < 0
		}
		return bytes.Compare(kv.Key, key) < 0 || bytes.Compare(kv.Key, end) >= 0
	})
}

// put and del write at revision main, which becomes the present one.
func (m *model) put(main int64, key, value []byte, lease int64) {
	kv := &mvccpb.KeyValue{Key: key, Value: value, CreateRevision: main, ModRevision: main, Version: 1, Lease: lease}
	if prev := m.get(key, main); prev != nil {
		kv.CreateRevision, kv.Version = prev.CreateRevision, prev.Version+1
	}
	m.append(main, kv)
}

func (m *model) del(main int64, key, end []byte) int64 {
	doomed := m.in(key, end, main)
	for _, kv := range doomed {
		m.append(main, &mvccpb.KeyValue{Key: kv.Key, ModRevision: main})
	}
	return int64(len(doomed))
}

func (m *model) append(main int64, kv *mvccpb.KeyValue) {
	sub := int64(0)
	if n := len(m.log); n > 0 && m.log[n-1].rev.Main == main {
		sub = m.log[n-1].rev.Sub + 1
	}
	m.log = append(m.log, version{Revision{main, sub}, kv})
	m.rev = main
}

// TestStoreAgreesWithTheListOfAllVersions drives store and model with the same
// random requests and compares answers, events, every readable revision, and
// what a restored snapshot holds.
func TestStoreAgreesWithTheListOfAllVersions(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		d := &driver{s: New(), m: newModel()}
		t.Repeat(map[string]func(*rapid.T){
			"put":     d.put,
			"delete":  d.delete,
			"txn":     d.txn,
			"compact": d.compact,
			"lease":   d.lease,
			"restore": d.restore,
			"":        d.check,
		})
	})
}

type driver struct {
	s *Store
	m *model
}

var (
	keys   = rapid.SampledFrom([]string{"a", "b", "ba", "c", "d"})
	ends   = rapid.SampledFrom([]string{"", "", "b", "c", "e", "\x00"})
	leases = rapid.SampledFrom([]int64{0, 0, 1, 2})
)

func (d *driver) put(t *rapid.T) {
	r := &pb.PutRequest{Key: []byte(keys.Draw(t, "key")), Value: []byte{byte('0' + rapid.IntRange(0, 9).Draw(t, "value"))}, Lease: leases.Draw(t, "lease")}
	res := d.s.Apply(0, &pb.InternalRaftRequest{Put: r})
	if r.Lease != 0 && !d.m.leases[r.Lease] {
		if res.Err == nil {
			t.Fatalf("put with lease %d, which does not exist, was accepted", r.Lease)
		}
		return
	}
	before := d.m.rev
	d.m.put(before+1, r.Key, r.Value, r.Lease)
	d.events(t, res, before)
}

func (d *driver) delete(t *rapid.T) {
	r := &pb.DeleteRangeRequest{Key: []byte(keys.Draw(t, "key")), RangeEnd: []byte(ends.Draw(t, "end"))}
	before := d.m.rev
	res := d.s.Apply(0, &pb.InternalRaftRequest{DeleteRange: r})
	if n := d.m.del(before+1, r.Key, r.RangeEnd); res.Response.(*pb.DeleteRangeResponse).Deleted != n {
		t.Fatalf("deleted %v, model %d", res.Response, n)
	}
	d.events(t, res, before)
}

// txn is the API server's: compare the mod revision, then put or delete and a
// second put, or else read.
func (d *driver) txn(t *rapid.T) {
	key, other := []byte(keys.Draw(t, "key")), []byte("z"+keys.Draw(t, "other"))
	var mod int64
	if kv := d.m.get(key, d.m.rev); kv != nil {
		mod = kv.ModRevision
	}
	if rapid.Bool().Draw(t, "stale") {
		mod--
	}
	r := &pb.TxnRequest{
		Compare: []*pb.Compare{{Key: key, Target: pb.Compare_MOD, TargetUnion: &pb.Compare_ModRevision{ModRevision: mod}}},
		Failure: []*pb.RequestOp{{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: key}}}},
	}
	remove := rapid.Bool().Draw(t, "remove")
	if remove {
		r.Success = append(r.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: key}}})
	} else {
		r.Success = append(r.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: key, Value: []byte("t")}}})
	}
	r.Success = append(r.Success, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: other, Value: []byte("t")}}})
	before := d.m.rev
	kv := d.m.get(key, before)
	holds := mod == kv.GetModRevision()
	res := d.s.Apply(0, &pb.InternalRaftRequest{Txn: r})
	resp := res.Response.(*pb.TxnResponse)
	if resp.Succeeded != holds {
		t.Fatalf("compare of %s with %d: %v, model %v", key, mod, resp.Succeeded, holds)
	}
	if !holds {
		if got := resp.Responses[0].GetResponseRange(); (kv == nil) != (len(got.Kvs) == 0) || kv != nil && !proto.Equal(got.Kvs[0], kv) {
			t.Fatalf("failure branch read %v, model %v", got, kv)
		}
	} else {
		if remove {
			d.m.del(before+1, key, nil)
		} else {
			d.m.put(before+1, key, []byte("t"), 0)
		}
		d.m.put(before+1, other, []byte("t"), 0)
	}
	d.events(t, res, before)
}

func (d *driver) compact(t *rapid.T) {
	rev := rapid.Int64Range(0, d.m.rev+1).Draw(t, "revision")
	res := d.s.Apply(0, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: rev}})
	if bad := rev <= d.m.compact || rev > d.m.rev; bad != (res.Err != nil) {
		t.Fatalf("compact %d at %d after %d: %v", rev, d.m.rev, d.m.compact, res.Err)
	}
	if res.Err == nil {
		d.m.compact = rev
	}
}

func (d *driver) lease(t *rapid.T) {
	id := rapid.Int64Range(1, 2).Draw(t, "lease")
	if !d.m.leases[id] {
		if res := d.s.Apply(0, &pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{ID: id, TTL: 9}}); res.Err != nil {
			t.Fatal(res.Err)
		}
		d.m.leases[id] = true
		return
	}
	before := d.m.rev
	for _, kv := range d.m.at(before) {
		if kv.Lease == id {
			d.m.del(before+1, kv.Key, nil)
		}
	}
	delete(d.m.leases, id)
	d.events(t, d.s.Apply(0, &pb.InternalRaftRequest{LeaseRevoke: &pb.LeaseRevokeRequest{ID: id}}), before)
}

// restore puts a snapshot of the store in its place.
func (d *driver) restore(t *rapid.T) {
	var b bytes.Buffer
	if _, err := d.s.Snapshot().WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	fresh := New()
	if err := fresh.Restore(&b); err != nil {
		t.Fatal(err)
	}
	if fresh.Hash() != d.s.Hash() {
		t.Fatalf("hash %08x after restore, %08x before", fresh.Hash(), d.s.Hash())
	}
	if diff := cmp.Diff(d.s.Leases(), fresh.Leases()); diff != "" {
		t.Fatalf("leases after restore: %s", diff)
	}
	d.s = fresh
}

// events compares what a request reported with what the model wrote after
// revision before.
func (d *driver) events(t *rapid.T, res *Result, before int64) {
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	if res.Revision != d.m.rev {
		t.Fatalf("revision %d, model %d", res.Revision, d.m.rev)
	}
	if diff := cmp.Diff(d.m.events(before+1), res.Events, protocmp.Transform()); diff != "" {
		t.Fatalf("events (-model +store): %s", diff)
	}
}

func (m *model) events(from int64) (es []*mvccpb.Event) {
	for _, v := range m.log {
		if v.rev.Main < from {
			continue
		}
		e := &mvccpb.Event{Kv: v.kv, PrevKv: m.get(v.kv.Key, v.rev.Main-1)}
		if v.tombstone() {
			e.Type = mvccpb.Event_DELETE
		}
		es = append(es, e)
	}
	return es
}

// check compares every readable revision and the history a watcher would get.
func (d *driver) check(t *rapid.T) {
	for rev := max(1, d.m.compact); rev <= d.m.rev; rev++ {
		got, err := d.s.Range(&pb.RangeRequest{Key: []byte("a"), RangeEnd: []byte{0}, Revision: rev})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d.m.at(rev), got.Kvs, protocmp.Transform()); diff != "" {
			t.Fatalf("at revision %d (-model +store): %s", rev, diff)
		}
	}
	if d.m.compact > 1 {
		if _, err := d.s.Range(&pb.RangeRequest{Key: []byte("a"), Revision: d.m.compact - 1}); err == nil {
			t.Fatalf("a read below the compacted revision %d was answered", d.m.compact)
		}
	}
	since, err := d.s.Since(max(1, d.m.compact+1))
	if err != nil {
		t.Fatal(err)
	}
	var got []*mvccpb.Event
	for e := range since {
		got = append(got, e)
	}
	if diff := cmp.Diff(d.m.events(max(1, d.m.compact+1)), got, protocmp.Transform()); diff != "" {
		t.Fatalf("history (-model +store): %s", diff)
	}
	attached := map[string]int64{}
	for _, l := range d.s.Leases() {
		for _, k := range l.Keys {
			attached[k] = l.ID
		}
	}
	want := map[string]int64{}
	for _, kv := range d.m.at(d.m.rev) {
		if kv.Lease != 0 {
			want[string(kv.Key)] = kv.Lease
		}
	}
	if fmt.Sprint(attached) != fmt.Sprint(want) {
		t.Fatalf("keys on leases %v, model %v", attached, want)
	}
}
