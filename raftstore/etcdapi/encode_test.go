package etcdapi

import (
	"bytes"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"kviz/raftstore"
	"kviz/raftstore/metrics"
	"kviz/raftstore/steady"
)

func drawKV(t *rapid.T, name string) *mvccpb.KeyValue {
	n := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64())
	return &mvccpb.KeyValue{
		Key: rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, name), Value: rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "value"),
		CreateRevision: n.Draw(t, "create"), ModRevision: n.Draw(t, "mod"), Version: n.Draw(t, "version"), Lease: n.Draw(t, "lease"),
	}
}

func drawHeader(t *rapid.T) *pb.ResponseHeader {
	return &pb.ResponseHeader{
		ClusterId: rapid.Uint64().Draw(t, "cluster"), MemberId: rapid.Uint64().Draw(t, "member"),
		Revision: rapid.Int64().Draw(t, "revision"), RaftTerm: rapid.Uint64().Draw(t, "term"),
	}
}

// same fails unless the bytes say the message, and say it as protobuf does.
func same(t *rapid.T, got []byte, want proto.Message) {
	t.Helper()
	bytesWanted, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, bytesWanted) {
		t.Fatalf("encoded\n%x\nwant\n%x\nof %v", got, bytesWanted, want)
	}
}

func TestEncodedAsProtobufDoes(t *testing.T) {
	steady.Check(t, func(t *rapid.T) {
		r := &pb.RangeResponse{Header: drawHeader(t), More: rapid.Bool().Draw(t, "more"), Count: rapid.Int64().Draw(t, "count")}
		for range rapid.IntRange(0, 5).Draw(t, "kvs") {
			r.Kvs = append(r.Kvs, drawKV(t, "key"))
		}
		out, err := newCodec(metrics.New().Member("a")).Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		same(t, out.Materialize(), r)
		out.Free()

		w := &pb.WatchResponse{Header: drawHeader(t), WatchId: rapid.Int64().Draw(t, "id"), Fragment: rapid.Bool().Draw(t, "fragment")}
		ch := raftstore.Change{Revision: 1}
		for range rapid.IntRange(1, 5).Draw(t, "events") {
			e := &mvccpb.Event{Type: mvccpb.Event_EventType(rapid.IntRange(0, 1).Draw(t, "type")), Kv: drawKV(t, "key")}
			if rapid.Bool().Draw(t, "prev") {
				e.PrevKv = drawKV(t, "prev")
			}
			ch.Events = append(ch.Events, e)
		}
		var cache eventCache
		for _, prev := range []bool{true, false} {
			w.Events = nil
			for _, e := range ch.Events {
				if !prev {
					e = &mvccpb.Event{Type: e.Type, Kv: e.Kv}
				}
				w.Events = append(w.Events, e)
			}
			same(t, response(responseHead(w.Header, w.WatchId, w.Fragment), cache.of(ch).form(prev)).Materialize(), w)
		}
	})
}

// A thousand watchers share the bytes of a change; those of another change with
// its number, from before a restore say, are not taken for it.
func TestBytesAreMadeOnceForAChange(t *testing.T) {
	var cache eventCache
	change := func(rev int64, value int) raftstore.Change {
		return raftstore.Change{Revision: rev, Events: []*mvccpb.Event{{Kv: &mvccpb.KeyValue{Key: []byte("k"), Value: make([]byte, value)}}}}
	}
	first := change(7, 10)
	if made := cache.of(first); made != cache.of(first) {
		t.Error("made twice")
	}
	again := change(7, 11)
	if got := cache.of(again); len(got.form(false)[0]) == len(cache.of(first).form(false)[0]) {
		t.Error("the bytes of another change with the same revision")
	}
	newer, old := change(7+1024, 1), change(7, 1)
	kept := cache.of(newer)
	cache.of(old)
	if cache.of(newer) != kept {
		t.Error("a change from the past pushed a newer one out")
	}
	big := change(9, largeChange+1)
	if made := cache.of(big); made != cache.of(big) {
		t.Error("a large change is made twice")
	}
}
