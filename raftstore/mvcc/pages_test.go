package mvcc

import (
	"fmt"
	"math/rand/v2"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// TestLayoutHoldsEveryRecord: whatever is put, deleted, compacted and packed, each
// record is in one leaf, and the leaves' sizes are those of their records.
func TestLayoutHoldsEveryRecord(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := New()
		for i := range 3000 {
			switch key := fmt.Appendf(nil, "k%d", r.IntN(200)); {
			case r.IntN(300) == 0:
				s.Apply(0, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: 1 + r.Int64N(s.Revision())}})
			case r.IntN(900) == 0:
				s.Defragment()
				if s.Size() != s.SizeInUse() {
					t.Fatalf("seed %d, step %d: %d bytes of %d are in use after defragmentation", seed, i, s.SizeInUse(), s.Size())
				}
			case r.IntN(5) == 0:
				s.Apply(0, &pb.InternalRaftRequest{DeleteRange: &pb.DeleteRangeRequest{Key: key}})
			default:
				s.Apply(0, &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: key, Value: make([]byte, 1<<r.IntN(14))}})
			}
			if i%37 == 0 {
				if err := s.pages.wrong(s); err != nil {
					t.Fatalf("seed %d, step %d: %v", seed, i, err)
				}
			}
		}
	}
}

// wrong compares the layout with the records.
func (l *layout) wrong(s *Store) error {
	var leaves []leaf
	l.leaves.Scan(func(lf leaf) bool {
		leaves = append(leaves, lf)
		return true
	})
	used := int64(0)
	at, last := 0, 0
	left := leaf{}
	if len(leaves) > 0 {
		left = leaves[0]
	}
	var err error
	s.revisions.Scan(func(v version) bool {
		for left.n == 0 && at < len(leaves) {
			if left.bytes != 0 {
				err = fmt.Errorf("leaf %d of %d has %d bytes too many", at, len(leaves), left.bytes)
				return false
			}
			used += pagesOf(leaves[at].bytes)
			if at++; at < len(leaves) {
				left = leaves[at]
			}
		}
		switch {
		case at < len(leaves) && v.rev.Less(leaves[at].first):
			err = fmt.Errorf("revision %v in a leaf that begins at %v", v.rev, leaves[at].first)
		case at < len(leaves):
			left.n--
			left.bytes -= recordSize(v)
		case last >= len(l.last) || l.last[last] != record{v.rev, int32(recordSize(v))}:
			err = fmt.Errorf("revision %v is not the record %d of %d in the last leaf", v.rev, last, len(l.last))
		default:
			last++
		}
		return err == nil
	})
	if err == nil && at == len(leaves) && (last != len(l.last) || used != l.used) {
		err = fmt.Errorf("%d of %d records in the last leaf, %d pages used, %d accounted", last, len(l.last), used, l.used)
	}
	if err == nil && l.high < l.inUse() {
		err = fmt.Errorf("%d pages in use of %d", l.inUse(), l.high)
	}
	return err
}

// TestSizeFollowsWhatIsWritten: the file grows with what is written, compaction
// makes room in it, defragmentation makes it smaller.
func TestSizeFollowsWhatIsWritten(t *testing.T) {
	s := New()
	if s.Size() != 5*pageSize || s.SizeInUse() != 4*pageSize {
		t.Errorf("a new database has %d bytes, %d in use; etcd's has 20,480 and 16,384", s.Size(), s.SizeInUse())
	}
	value := make([]byte, 1000)
	write := func() {
		for i := range 1000 {
			s.Apply(0, &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: fmt.Appendf(nil, "k%d", i%10), Value: value}})
		}
	}
	write()
	grown := s.Size()
	if grown < 1<<20 {
		t.Errorf("1,000 values of 1,000 bytes are %d bytes", grown)
	}
	s.Apply(0, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: s.Revision()}})
	if s.Size() < grown || s.SizeInUse() > grown/10 {
		t.Errorf("compaction of all but ten of them leaves %d bytes in use of %d", s.SizeInUse(), s.Size())
	}
	write()
	if again := s.Size(); again > grown*11/10 {
		t.Errorf("the room that compaction made is not used: %d bytes, then %d", grown, again)
	}
	s.Apply(0, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: s.Revision()}})
	s.Defragment()
	if s.Size() > grown/10 || s.Size() != s.SizeInUse() {
		t.Errorf("after defragmentation %d bytes, %d in use", s.Size(), s.SizeInUse())
	}
}
