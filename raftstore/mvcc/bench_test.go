package mvcc

import (
	"fmt"
	"io"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

const benchKeys = 10_000

func filled(b *testing.B) (*Store, [][]byte) {
	s := New()
	keys := make([][]byte, benchKeys)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "/registry/pods/default/web-%06d", i)
		s.Apply(0, &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: keys[i], Value: make([]byte, 256)}})
	}
	b.ReportAllocs()
	return s, keys
}

// compactEvery keeps the history as short as an API server would.
func compactEvery(s *Store, i int) {
	if i%50_000 == 49_999 {
		s.Apply(0, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: s.Revision() - 1000}})
	}
}

func BenchmarkPut(b *testing.B) {
	s, keys := filled(b)
	value := make([]byte, 256)
	for i := 0; b.Loop(); i++ {
		s.Apply(0, &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: keys[i*7919%benchKeys], Value: value}})
		compactEvery(s, i)
	}
}

// BenchmarkTxn is an API server's update: compare the mod revision, put, or
// read what is there.
func BenchmarkTxn(b *testing.B) {
	s, keys := filled(b)
	value := make([]byte, 256)
	for i := 0; b.Loop(); i++ {
		key := keys[i*7919%benchKeys]
		mod := s.live(key).ModRevision
		if i%8 == 0 {
			mod = 1 // somebody else was faster
		}
		s.Apply(0, &pb.InternalRaftRequest{Txn: &pb.TxnRequest{
			Compare: []*pb.Compare{{Key: key, Target: pb.Compare_MOD, TargetUnion: &pb.Compare_ModRevision{ModRevision: mod}}},
			Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: key, Value: value}}}},
			Failure: []*pb.RequestOp{{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: key}}}},
		}})
		compactEvery(s, i)
	}
}

func BenchmarkRangeAll(b *testing.B) {
	s, _ := filled(b)
	for b.Loop() {
		if _, err := s.Range(&pb.RangeRequest{Key: []byte("/registry/"), RangeEnd: []byte("/registry0")}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s, _ := filled(b)
	for b.Loop() {
		s.Snapshot()
	}
}

func BenchmarkSnapshotWrite(b *testing.B) {
	s, _ := filled(b)
	for b.Loop() {
		if _, err := s.Snapshot().WriteTo(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
