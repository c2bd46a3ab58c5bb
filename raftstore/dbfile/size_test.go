package dbfile_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/apply"
	"kviz/raftstore/dbfile"
)

// What a defragmented store is said to take on the disk, without anything being
// written (mvcc/pages.go), is what its file has when it is written, and five pages
// and two percent more at most: over random histories of small and large values, with
// deletions, compactions and leases.
func TestTheAccountedSizeIsTheFiles(t *testing.T) {
	for seed := range uint64(16) {
		rng := rand.New(rand.NewPCG(seed+20, 9))
		s := apply.New(apply.Limits{})
		do := func(r *pb.InternalRaftRequest) { s.Apply(s.KV.AppliedIndex()+1, r) }
		keys, largest := 1+rng.IntN(2000), 1<<(3+rng.IntN(12))
		key := func() []byte { return fmt.Appendf(nil, "/registry/things/%06d", rng.IntN(keys)) }
		for range rng.IntN(3000) {
			switch k := rng.IntN(40); {
			case k < 34:
				do(&pb.InternalRaftRequest{Put: &pb.PutRequest{Key: key(), Value: make([]byte, rng.IntN(largest))}})
			case k < 38:
				do(&pb.InternalRaftRequest{DeleteRange: &pb.DeleteRangeRequest{Key: key()}})
			case k == 38:
				do(&pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{ID: 1 + rng.Int64N(1<<40), TTL: 60}})
			case rng.IntN(4) == 0:
				do(&pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: 1 + rng.Int64N(s.KV.Revision())}})
			}
		}
		s.Defragment()
		var b bytes.Buffer
		if err := dbfile.Write(&b, dbfile.Content{KV: s.KV.Snapshot(), ConsistentIndex: s.KV.AppliedIndex(), Term: 1}); err != nil {
			t.Fatal(err)
		}
		file, said := int64(b.Len()-32), s.Size()
		// What the last commits freed is counted, but not in a file that was just written.
		if off := (said - file) / 4096; off > 5+file/4096/50 || off < 0 {
			t.Errorf("seed %d: %d pages more are accounted than the file has", seed, off)
		}
		t.Logf("seed %d: accounted %d pages, the file has %d", seed, said/4096, file/4096)
	}
}
