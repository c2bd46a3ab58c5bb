package apply

import (
	"fmt"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/mvcc"
)

// BenchmarkPut is what alarms, quota and users cost a put that has none of them:
// the same put on the key-value machine alone, and through the State.
func BenchmarkPut(b *testing.B) {
	reqs := make([]*pb.InternalRaftRequest, 1024)
	for i := range reqs {
		reqs[i] = &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: fmt.Appendf(nil, "/registry/pods/default/web-%d", i), Value: make([]byte, 512)}}
	}
	put := func(b *testing.B, kv *mvcc.Store, apply func(uint64, *pb.InternalRaftRequest) *mvcc.Result) {
		index := uint64(0)
		for b.Loop() {
			index++
			if r := apply(index, reqs[index%1024]); r.Err != nil {
				b.Fatal(r.Err)
			}
			if index%50_000 == 0 {
				apply(index, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: kv.Revision()}})
			}
		}
	}
	b.Run("mvcc", func(b *testing.B) {
		kv := mvcc.New()
		put(b, kv, kv.Apply)
	})
	b.Run("apply", func(b *testing.B) {
		s := New(Limits{})
		put(b, s.KV, s.Apply)
	})
}
