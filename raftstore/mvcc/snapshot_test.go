package mvcc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

func put(s *Store, key, value string) *Result {
	return s.Apply(0, &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte(key), Value: []byte(value)}})
}

// small is a store with a bit of everything in it.
func small() *Store {
	s := New()
	s.Apply(1, &pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{ID: 7, TTL: 60}})
	put(s, "a", "1")
	put(s, "b", "2")
	s.Apply(4, &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte("c"), Value: []byte("3"), Lease: 7}})
	s.Apply(5, &pb.InternalRaftRequest{DeleteRange: &pb.DeleteRangeRequest{Key: []byte("a")}})
	s.Apply(6, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: 5}})
	put(s, "d", "4")
	return s
}

func written(t testing.TB, s *Store) []byte {
	var b bytes.Buffer
	n, err := s.Snapshot().WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("wrote %d of %d bytes: %v", n, b.Len(), err)
	}
	return b.Bytes()
}

func TestRestoreBringsEverythingBack(t *testing.T) {
	s, r := small(), New()
	if err := r.Restore(bytes.NewReader(written(t, s))); err != nil {
		t.Fatal(err)
	}
	if r.Revision() != 6 || r.CompactRevision() != 5 || r.AppliedIndex() != 6 || r.Hash() != s.Hash() {
		t.Fatalf("revision %d, compacted %d, applied %d, hash %08x (want %08x)", r.Revision(), r.CompactRevision(), r.AppliedIndex(), r.Hash(), s.Hash())
	}
	if l, _ := r.Lease(7); fmt.Sprint(l) != "{7 60 [c] 0}" {
		t.Errorf("lease %v", l)
	}
	if again := written(t, r); !bytes.Equal(again, written(t, s)) {
		t.Error("a snapshot of the restored store differs")
	}
}

// Every flipped bit and every cut must be noticed, and leave the store alone.
func TestRestoreNoticesDamage(t *testing.T) {
	file := written(t, small())
	s := small()
	hash := s.Hash()
	for i := range file {
		for _, damaged := range [][]byte{append(append(bytes.Clone(file[:i]), file[i]^0x10), file[i+1:]...), file[:i]} {
			err := s.Restore(bytes.NewReader(damaged))
			if err == nil || !errors.Is(err, ErrDamaged) && !strings.Contains(err.Error(), "format") {
				t.Fatalf("byte %d of %d, length %d: %v", i, len(file), len(damaged), err)
			}
		}
	}
	if err := s.Restore(bytes.NewReader(append(bytes.Clone(file), 0))); err == nil || !strings.Contains(err.Error(), "something follows its end") {
		t.Errorf("trailing byte: %v", err)
	}
	if s.Hash() != hash {
		t.Error("a failed restore changed the store")
	}
}

func TestRestoreSaysWhatIsWrong(t *testing.T) {
	file := written(t, small())
	newer := bytes.Clone(file)
	newer[len(snapshotMagic)] = 9
	for want, b := range map[string][]byte{
		`it does not begin with "kviz.mvcc"`:                 []byte("PK\x03\x04 this is something else"),
		"snapshot has format 9, this program reads format 2": newer,
		"snapshot is damaged: it ends too early":             file[:len(file)-1],
		"snapshot is damaged: its checksum is":               append(bytes.Clone(file[:len(file)-1]), file[len(file)-1]^1),
	} {
		if err := New().Restore(bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The snapshot is written by another goroutine while the store goes on; run
// with -race.
func TestSnapshotIsOneMoment(t *testing.T) {
	s := New()
	for i := range 2000 {
		put(s, fmt.Sprintf("k%04d", i), "old")
	}
	before := s.Hash()
	sn := s.Snapshot()
	var b bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() { sn.WriteTo(&b) })
	for i := range 2000 {
		put(s, fmt.Sprintf("k%04d", i), "new")
	}
	s.Apply(0, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: s.Revision()}})
	wg.Wait()
	r := New()
	if err := r.Restore(&b); err != nil {
		t.Fatal(err)
	}
	if r.Hash() != before || r.Revision() != 2001 {
		t.Errorf("hash %08x at %d, want %08x at 2001", r.Hash(), r.Revision(), before)
	}
}

func FuzzRestore(f *testing.F) {
	file := written(f, small())
	f.Add(file)
	f.Add(written(f, New()))
	f.Add(file[:len(file)/2])
	f.Add([]byte(snapshotMagic + "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := New()
		if err := s.Restore(bytes.NewReader(b)); err != nil {
			if s.Revision() != 1 {
				t.Fatal("a failed restore changed the store")
			}
			return
		}
		// What was accepted must be a store like any other.
		again := New()
		if err := again.Restore(bytes.NewReader(written(t, s))); err != nil || again.Hash() != s.Hash() {
			t.Fatalf("accepted, but does not survive another round: %v", err)
		}
		s.Apply(0, &pb.InternalRaftRequest{DeleteRange: &pb.DeleteRangeRequest{Key: []byte{0}, RangeEnd: []byte{0}}})
		s.Apply(0, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: s.Revision()}})
	})
}
