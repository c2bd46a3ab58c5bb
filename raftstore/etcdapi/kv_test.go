package etcdapi_test

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestPutGetTxnDelete(t *testing.T) { on(t, testPutGetTxnDelete) }

func testPutGetTxnDelete(t *testing.T, b *bench) {
	b.put("a", "1")
	r, err := b.kv().Put(b.ctx, &pb.PutRequest{Key: []byte("a"), Value: []byte("2"), PrevKv: true})
	if err != nil || string(r.PrevKv.GetValue()) != "1" || r.Header.Revision != 3 || r.Header.MemberId == 0 {
		t.Fatalf("put: %v %v", r, err)
	}
	b.put("b", "3")
	all, err := b.kv().Range(b.ctx, &pb.RangeRequest{Key: []byte("a"), RangeEnd: []byte{0}, Limit: 1})
	if err != nil || all.Count != 2 || !all.More || len(all.Kvs) != 1 || all.Kvs[0].Version != 2 {
		t.Errorf("range: %v %v", all, err)
	}
	old, err := b.kv().Range(b.ctx, &pb.RangeRequest{Key: []byte("a"), Revision: 2})
	if err != nil || string(old.Kvs[0].Value) != "1" || old.Header.Revision != 4 {
		t.Errorf("range at 2: %v %v", old, err)
	}
	txn := &pb.TxnRequest{
		Compare: []*pb.Compare{{Key: []byte("a"), Target: pb.Compare_MOD, TargetUnion: &pb.Compare_ModRevision{ModRevision: 3}}},
		Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte("a")}}}},
		Failure: []*pb.RequestOp{{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte("a")}}}},
	}
	for i, want := range []bool{true, false} {
		r, err := b.kv().Txn(b.ctx, txn)
		if err != nil || r.Succeeded != want || r.Header.Revision != 5 {
			t.Errorf("txn %d: %v %v", i, r, err)
		}
	}
	d, err := b.kv().DeleteRange(b.ctx, &pb.DeleteRangeRequest{Key: []byte{0}, RangeEnd: []byte{0}, PrevKv: true})
	if err != nil || d.Deleted != 1 || string(d.PrevKvs[0].Key) != "b" {
		t.Errorf("delete: %v %v", d, err)
	}
}

func TestErrorsAreEtcds(t *testing.T) { on(t, testErrorsAreEtcds) }

func testErrorsAreEtcds(t *testing.T, b *bench) {
	for range 4 {
		b.put("a", "1")
	}
	b.compact(4)
	get := func(r *pb.RangeRequest) error { _, err := b.kv().Range(b.ctx, r); return err }
	put := func(r *pb.PutRequest) error { _, err := b.kv().Put(b.ctx, r); return err }
	compact := func(rev int64) error {
		_, err := b.kv().Compact(b.ctx, &pb.CompactionRequest{Revision: rev})
		return err
	}
	twice := &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte("x")}}}
	_, duplicate := b.kv().Txn(b.ctx, &pb.TxnRequest{Success: []*pb.RequestOp{twice, twice}})
	_, revoke := pb.NewLeaseClient(b.conns[0]).LeaseRevoke(b.ctx, &pb.LeaseRevokeRequest{ID: 7})
	for _, c := range []struct {
		what string
		err  error
		code codes.Code
		text string
	}{
		{"compacted read", get(&pb.RangeRequest{Key: []byte("a"), Revision: 3}), codes.OutOfRange, "etcdserver: mvcc: required revision has been compacted"},
		{"compacted serializable read", get(&pb.RangeRequest{Key: []byte("a"), Revision: 3, Serializable: true}), codes.OutOfRange, "etcdserver: mvcc: required revision has been compacted"},
		{"future read", get(&pb.RangeRequest{Key: []byte("a"), Revision: 99}), codes.OutOfRange, "etcdserver: mvcc: required revision is a future revision"},
		{"read at the compacted revision", get(&pb.RangeRequest{Key: []byte("a"), Revision: 4}), codes.OK, ""},
		{"no key", get(&pb.RangeRequest{}), codes.InvalidArgument, "etcdserver: key is not provided"},
		{"put without key", put(&pb.PutRequest{}), codes.InvalidArgument, "etcdserver: key is not provided"},
		{"put with an unknown lease", put(&pb.PutRequest{Key: []byte("a"), Lease: 7}), codes.NotFound, "etcdserver: requested lease not found"},
		{"too large", put(&pb.PutRequest{Key: []byte("a"), Value: make([]byte, 1600*1024)}), codes.InvalidArgument, "etcdserver: request is too large"},
		{"compact again", compact(4), codes.OutOfRange, "etcdserver: mvcc: required revision has been compacted"},
		{"compact the future", compact(99), codes.OutOfRange, "etcdserver: mvcc: required revision is a future revision"},
		{"two puts of a key", duplicate, codes.InvalidArgument, "etcdserver: duplicate key given in txn request"},
		{"revoke", revoke, codes.NotFound, "etcdserver: requested lease not found"},
	} {
		if s := status.Convert(c.err); s.Code() != c.code || s.Message() != c.text {
			t.Errorf("%s: %v %q, want %v %q", c.what, s.Code(), s.Message(), c.code, c.text)
		}
	}
}

func TestLeases(t *testing.T) { on(t, testLeases) }

func testLeases(t *testing.T, b *bench) {
	leases := pb.NewLeaseClient(b.conns[0])
	g, err := leases.LeaseGrant(b.ctx, &pb.LeaseGrantRequest{TTL: 60})
	if err != nil || g.ID == 0 || g.TTL != 60 {
		t.Fatalf("grant: %v %v", g, err)
	}
	for _, key := range []string{"a", "b"} {
		if _, err := b.kv().Put(b.ctx, &pb.PutRequest{Key: []byte(key), Lease: g.ID}); err != nil {
			t.Fatal(err)
		}
	}
	alive := func(want int64) {
		t.Helper()
		s, err := leases.LeaseKeepAlive(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(&pb.LeaseKeepAliveRequest{ID: g.ID}); err != nil {
			t.Fatal(err)
		}
		if r, err := s.Recv(); err != nil || r.ID != g.ID || r.TTL != want {
			t.Errorf("keep alive: %v %v", r, err)
		}
		if err := s.CloseSend(); err != nil {
			t.Error(err)
		}
	}
	alive(60)
	ttl, err := leases.LeaseTimeToLive(b.ctx, &pb.LeaseTimeToLiveRequest{ID: g.ID, Keys: true})
	if err != nil || ttl.GrantedTTL != 60 || len(ttl.Keys) != 2 || string(ttl.Keys[1]) != "b" {
		t.Errorf("time to live: %v %v", ttl, err)
	}
	if l, err := leases.LeaseLeases(b.ctx, &pb.LeaseLeasesRequest{}); err != nil || len(l.Leases) != 1 || l.Leases[0].ID != g.ID {
		t.Errorf("leases: %v %v", l, err)
	}
	w := b.watch()
	w.create(&pb.WatchCreateRequest{Key: []byte{0}, RangeEnd: []byte{0}})
	if _, err := leases.LeaseRevoke(b.ctx, &pb.LeaseRevokeRequest{ID: g.ID}); err != nil {
		t.Fatal(err)
	}
	w.expect("0: 4 DELETE a", "0: 4 DELETE b")
	alive(0)
	if ttl, err := leases.LeaseTimeToLive(b.ctx, &pb.LeaseTimeToLiveRequest{ID: g.ID}); err != nil || ttl.TTL != -1 {
		t.Errorf("time to live of what is gone: %v %v", ttl, err)
	}
}
