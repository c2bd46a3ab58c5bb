package mvcc

import (
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

func TestWhatAStoreDidIsCounted(t *testing.T) {
	s := New()
	for range 3 {
		s.Apply(0, &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte("key"), Value: []byte("value")}})
	}
	s.Apply(0, &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte("absent"), IgnoreValue: true}})
	s.Apply(0, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: 4}})
	s.Apply(0, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: 4}})
	c := s.Counts()
	if c.Puts != 3 || c.PutBytes != 3*8 || c.Compacted != 2 || c.LastCompaction == 0 || c.Compactions.Count != 1 {
		t.Errorf("%+v", c)
	}
	for op, want := range map[int][2]uint64{1: {1, 3}, 4: {1, 1}, 3: {0, 0}} {
		if got := [2]uint64{c.Applied[op][0].Count, c.Applied[op][1].Count}; got != want {
			t.Errorf("%s: %v failed and went well, want %v", Operations[op], got, want)
		}
	}
}

func TestDurationsAreAHistogram(t *testing.T) {
	var c Counts
	for _, took := range []time.Duration{0, 100 * time.Microsecond, 150 * time.Microsecond, time.Second, time.Hour} {
		c.applied(1, true, took)
	}
	d := c.Applied[1][1]
	all := d.Seconds()
	if d.Count != 5 || c.Slow != 2 || len(all) != buckets || all[0.0001] != 2 || all[0.0002] != 3 || all[0.0001*(1<<19)] != 4 {
		t.Errorf("%d slow, %+v", c.Slow, all)
	}
}
