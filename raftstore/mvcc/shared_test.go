package mvcc

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

func puts(key, value string, lease int64) *pb.InternalRaftRequest {
	return &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte(key), Value: []byte(value), Lease: lease}}
}

func deletes(key string) *pb.InternalRaftRequest {
	return &pb.InternalRaftRequest{DeleteRange: &pb.DeleteRangeRequest{Key: []byte(key)}}
}

// Stores that are given the same requests hold what comes of them once, and a store that
// has come to something else shares nothing of it.
func TestStoresShareWhatTheyWrite(t *testing.T) {
	shared := &Shared{}
	a, b := New(), New()
	a.Share(shared)
	b.Share(shared)
	reqs := []*pb.InternalRaftRequest{puts("k", "v1", 0), puts("k", "v2", 0), deletes("k"), puts("k", "v3", 0), puts("l", "v", 0)}
	for i, r := range reqs {
		ra, rb := a.Apply(uint64(i+1), r), b.Apply(uint64(i+1), r)
		if ra.Events[0].Kv != rb.Events[0].Kv {
			t.Errorf("request %d: two copies of %v", i, ra.Events[0].Kv)
		}
	}
	if ha, hb := a.Hash(), b.Hash(); ha != hb {
		t.Errorf("hashes %d and %d", ha, hb)
	}

	// b has lost its way: the next write is another version of the key there.
	b.Apply(6, puts("k", "only b", 0))
	a.Apply(6, puts("other", "only a", 0))
	next := puts("k", "v4", 0)
	ka, kb := a.Apply(7, next).Events[0].Kv, b.Apply(7, next).Events[0].Kv
	if ka == kb || ka.Version != 2 || kb.Version != 3 {
		t.Errorf("a has %v, b has %v, want versions 2 and 3 of their own", ka, kb)
	}
	// Equal bytes of another request are not shared either.
	ka, kb = a.Apply(8, puts("m", "v", 0)).Events[0].Kv, b.Apply(8, puts("m", "v", 0)).Events[0].Kv
	if ka == kb {
		t.Error("what came of two requests is one")
	}
}

// What a key's index let go of is not kept by the place where it was.
func TestAnIndexKeepsNothingThatWasCompacted(t *testing.T) {
	s := New()
	for i, r := range []*pb.InternalRaftRequest{puts("k", "v1", 0), puts("k", "v2", 0), deletes("k"), puts("k", "v3", 0)} {
		s.Apply(uint64(i+1), r)
	}
	ki := s.keys["k"]
	first := ki.generations[:1][0][:1]
	s.Apply(5, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: 5}})
	if first[0].kv != nil {
		t.Errorf("%v is still there", first[0].kv)
	}
	if got := ki.String(); got != "{5.0}" {
		t.Errorf("the index is %s", got)
	}
}
