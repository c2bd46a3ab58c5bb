package apply

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// TestPagesAreBboltsPages writes the same records to a State, which only accounts
// for pages, and through etcd's backend to bbolt, and compares database size and
// size in use after each step: written, updated, compacted, written again,
// defragmented.
func TestPagesAreBboltsPages(t *testing.T) {
	for _, kind := range []struct {
		name       string
		keys, puts int
		size       func(*rand.Rand) int
	}{
		{"small", 3000, 12000, func(*rand.Rand) int { return 30 }},
		{"objects", 500, 4000, func(r *rand.Rand) int { return 300 + r.IntN(3500) }},
		{"mixed", 800, 6000, func(r *rand.Rand) int { return 1 << r.IntN(13) }},
		{"big", 40, 200, func(*rand.Rand) int { return 100_000 }},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			e, s := newEtcd(t, -1), New(Limits{})
			index := uint64(0)
			commit := func() {
				e.be.ForceCommit()
				for range 200 {
					runtime.Gosched() // the old read transaction is ended by a goroutine
				}
			}
			do := func(r *pb.InternalRaftRequest) {
				index++
				e.apply(index, r)
				if index%100 == 0 {
					commit()
				}
				s.Apply(index, r)
			}
			put := func(n int) {
				for range n {
					do(&pb.InternalRaftRequest{Put: &pb.PutRequest{
						Key: fmt.Appendf(nil, "/registry/things/%06d", random.IntN(kind.keys)), Value: make([]byte, kind.size(random)),
					}})
				}
			}
			look := func(when string) {
				for range 4 { // what a commit frees is free for a later one
					put(1)
					commit()
				}
				for what, v := range map[string][2]int64{"size": {e.be.Size(), s.Size()}, "in use": {e.be.SizeInUse(), s.SizeInUse()}} {
					off := float64(v[1]-v[0]) / float64(v[0])
					t.Logf("%s: %s: bbolt %d, accounted %d: %+.1f %%", when, what, v[0], v[1], 100*off)
					within := 0.15
					if what == "size" && when != "defragmented" {
						within = 0.4 // how far bbolt has grown depends on when old readers end
					}
					if off > within || off < -within {
						t.Errorf("%s: %s is %d in bbolt and accounted as %d", when, what, v[0], v[1])
					}
				}
			}
			put(kind.puts / 2)
			look("written")
			do(&pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: s.KV.Revision()}})
			look("compacted")
			put(kind.puts / 2)
			look("written again")
			do(&pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: s.KV.Revision() - int64(kind.puts/10)}})
			look("compacted again")
			if err := e.be.Defrag(); err != nil {
				t.Fatal(err)
			}
			s.Defragment()
			look("defragmented")
		})
	}
}
