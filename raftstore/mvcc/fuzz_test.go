package mvcc

import (
	"bytes"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"
)

// FuzzApply: any bytes that are a request are applied or refused, on two stores
// alike, and what comes of it survives a snapshot.
func FuzzApply(f *testing.F) {
	key, end := []byte("k"), []byte{0}
	for _, r := range []*pb.InternalRaftRequest{
		{Put: &pb.PutRequest{Key: key, Value: key, PrevKv: true, Lease: 7}},
		{Put: &pb.PutRequest{Key: key, IgnoreValue: true}},
		{DeleteRange: &pb.DeleteRangeRequest{Key: end, RangeEnd: end, PrevKv: true}},
		{Range: &pb.RangeRequest{Key: end, RangeEnd: end, Limit: -1, Revision: 3}},
		{Compaction: &pb.CompactionRequest{Revision: -2}},
		{LeaseGrant: &pb.LeaseGrantRequest{TTL: -1, ID: 7}},
		{LeaseRevoke: &pb.LeaseRevokeRequest{ID: 7}},
		{Txn: &pb.TxnRequest{
			Compare: []*pb.Compare{{Key: key, Target: pb.Compare_MOD, TargetUnion: &pb.Compare_ModRevision{ModRevision: 2}}},
			Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: key}}}, {}},
			Failure: []*pb.RequestOp{{Request: &pb.RequestOp_RequestTxn{RequestTxn: &pb.TxnRequest{}}}, nil},
		}},
	} {
		b, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, b)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		one, two := small(), small()
		for i, b := range [][]byte{first, second, first} {
			var r pb.InternalRaftRequest
			if proto.Unmarshal(b, &r) != nil {
				return
			}
			before := one.Revision()
			a, z := one.Apply(uint64(100+i), &r), two.Apply(uint64(100+i), &r)
			if one.Hash() != two.Hash() || (a.Err == nil) != (z.Err == nil) {
				t.Fatalf("two stores disagree about %v", &r)
			}
			if a.Err != nil && one.Revision() != before {
				t.Fatalf("%v was refused (%v) and took a revision", &r, a.Err)
			}
		}
		again := New()
		if err := again.Restore(bytes.NewReader(written(t, one))); err != nil || again.Hash() != one.Hash() {
			t.Fatalf("does not survive a snapshot: %v", err)
		}
	})
}
