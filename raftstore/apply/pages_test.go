package apply

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/steady"
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
			steady.Bubble(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, 2))
				e, s := newEtcd(t, -1), New(Limits{})
				index := uint64(0)
				commit := func() {
					e.be.ForceCommit()
					synctest.Wait() // the old read transaction is ended by a goroutine
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
					for range 5 { // what a commit frees is free for a later one
						put(1)
						commit()
					}
					if bad := compare(when, e, s); len(bad) > 0 {
						t.Error(strings.Join(bad, "\n"))
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
		})
	}
}

// compare gives what differs by more than it may.
func compare(when string, e *etcd, s *State) (bad []string) {
	for _, v := range []struct {
		what       string
		bbolt, our int64
	}{{"size", e.be.Size(), s.Size()}, {"in use", e.be.SizeInUse(), s.SizeInUse()}} {
		off := float64(v.our-v.bbolt) / float64(v.bbolt)
		within := 0.15
		if v.what == "size" && when != "defragmented" {
			within = 0.4 // how far bbolt has grown depends on when old readers end
		}
		if off > within || off < -within {
			bad = append(bad, fmt.Sprintf("%s: %s is %d in bbolt and accounted as %d: %+.1f %%", when, v.what, v.bbolt, v.our, 100*off))
		}
	}
	return bad
}
