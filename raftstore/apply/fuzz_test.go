package apply

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/crypto/bcrypt"
)

// full is a state with a bit of everything in it.
func full(t testing.TB) *State {
	s := New(Limits{BcryptCost: bcrypt.MinCost})
	for i, r := range []string{
		"put a 1", "grant 7", "put b 2 7", "del a", "compact now", "put c 3",
		"user add root", "role add root", "user grant root root", "user add ann", "role add as", "role permit as READ a b", "user grant ann as",
		"alarm ACTIVATE NOSPACE 3", "auth enable now",
	} {
		if res := s.Apply(uint64(i+1), parse(s, strings.Fields(r))); res.Err != nil {
			t.Fatalf("%s: %v", r, res.Err)
		}
	}
	return s
}

func written(t testing.TB, s *State) []byte {
	t.Helper()
	var b bytes.Buffer
	if n, err := s.Snapshot().WriteTo(&b); err != nil || n != int64(b.Len()) {
		t.Fatalf("wrote %d of %d bytes: %v", n, b.Len(), err)
	}
	return b.Bytes()
}

// Every flipped bit and every cut must be noticed, and leave the state alone.
func TestRestoreNoticesDamage(t *testing.T) {
	s := full(t)
	file := written(t, s)
	for i := range file {
		for _, damaged := range [][]byte{append(append(bytes.Clone(file[:i]), file[i]^0x10), file[i+1:]...), file[:i]} {
			err := s.Restore(bytes.NewReader(damaged))
			if err == nil || !errors.Is(err, ErrDamaged) && !strings.Contains(err.Error(), "format") {
				t.Fatalf("byte %d of %d, length %d: %v", i, len(file), len(damaged), err)
			}
		}
	}
	if !bytes.Equal(written(t, s), file) {
		t.Error("a failed restore changed the state")
	}
}

func TestRestoreSaysWhatIsWrong(t *testing.T) {
	file := written(t, New(Limits{}))
	newer := bytes.Clone(file)
	newer[len(snapshotMagic)] = 9
	for want, b := range map[string][]byte{
		`it does not begin with "kviz.state"`:                              []byte("PK\x03\x04 this is something else"),
		"snapshot has format 9, this program reads format 1":               newer,
		"the snapshot was written by a kviz that knew no alarms and users": []byte("kviz.mvcc\x01 and what follows"),
		"snapshot is damaged: it ends before its contents begin":           nil,
		"snapshot is damaged: the checksum of its head is":                 append(append(bytes.Clone(file[:len(snapshotMagic)+2]), file[len(snapshotMagic)+2]^1), file[len(snapshotMagic)+3:]...),
		"snapshot is damaged: its checksum is":                             append(bytes.Clone(file[:len(file)-1]), file[len(file)-1]^1),
	} {
		if err := New(Limits{}).Restore(bytes.NewReader(b)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// FuzzRestore: a snapshot is restored to what is written the same again, or is
// refused and leaves the state as it was. sums says to put the right checksums after
// both parts, so that what lies behind the checks is reached.
func FuzzRestore(f *testing.F) {
	file := written(f, full(f))
	f.Add(file, false)
	f.Add(file, true)
	f.Add(written(f, New(Limits{})), true)
	f.Add(file[:len(file)/2], true)
	f.Fuzz(func(t *testing.T, b []byte, sums bool) {
		if sums {
			b = summed(b)
		}
		s := New(Limits{BcryptCost: bcrypt.MinCost})
		s.Apply(1, &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte("k")}})
		before := written(t, s)
		if err := s.Restore(bytes.NewReader(b)); err != nil {
			if !bytes.Equal(before, written(t, s)) {
				t.Fatalf("refused (%v), and yet the state changed", err)
			}
			return
		}
		once := written(t, s)
		again := New(Limits{BcryptCost: bcrypt.MinCost})
		if err := again.Restore(bytes.NewReader(once)); err != nil || !bytes.Equal(written(t, again), once) {
			t.Fatalf("what was restored does not survive a snapshot: %v", err)
		}
		// It must be fit for use.
		for _, r := range []string{"auth disable now", "alarm GET", "user add eve", "role add r", "user grant eve r", "compact now"} {
			s.Apply(s.KV.AppliedIndex()+1, parse(s, strings.Fields(r)))
		}
		s.Apply(0, &pb.InternalRaftRequest{DeleteRange: &pb.DeleteRangeRequest{Key: []byte{0}, RangeEnd: []byte{0}}})
		s.Defragment()
		written(t, s)
	})
}

// summed puts right checksums into what may be a snapshot.
func summed(b []byte) []byte {
	b = bytes.Clone(b)
	start := len(snapshotMagic) + 1
	if len(b) < start {
		return b
	}
	n, k := binary.Uvarint(b[start:])
	end := uint64(start+max(k, 0)) + n
	if k <= 0 || n > uint64(len(b)) || end+4 > uint64(len(b)) {
		return b
	}
	binary.LittleEndian.PutUint32(b[end:], crc32.Checksum(b[:end], castagnoli))
	if kv := b[end+4:]; len(kv) > 4 {
		binary.LittleEndian.PutUint32(kv[len(kv)-4:], crc32.Checksum(kv[:len(kv)-4], castagnoli))
	}
	return b
}
