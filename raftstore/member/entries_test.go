package member

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// raftBoltdb opens raft-boltdb's own store as a member does.
func raftBoltdb(t testing.TB) *raftboltdb.BoltStore {
	t.Helper()
	s, err := raftboltdb.New(raftboltdb.Options{
		Path: filepath.Join(t.TempDir(), logFile), NoSync: true,
		BoltOptions: &bbolt.Options{}, MsgpackUseNewTimeFormat: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// stored is the bytes of an entry in the file.
func stored(t testing.TB, s *raftboltdb.BoltStore, index uint64) (data []byte) {
	t.Helper()
	err := boltOf(s).View(func(tx *bbolt.Tx) error {
		data = bytes.Clone(tx.Bucket(logsBucket).Get(binary.BigEndian.AppendUint64(nil, index)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// What a member writes is byte by byte what raft-boltdb writes, followed by a
// checksum, and raft-boltdb reads it the same.
func FuzzEntriesAreRaftBoltdbs(f *testing.F) {
	theirs, ours := raftBoltdb(f), &boltLog{BoltStore: raftBoltdb(f)}
	for _, n := range []uint64{0, 1, 127, 128, 255, 256, 1 << 16, 1 << 32, 1<<64 - 1} {
		for _, size := range []int{0, 1, 31, 32, 255, 256, 1<<16 - 1, 1 << 16} {
			f.Add(n, n, byte(n), make([]byte, size), make([]byte, size%300), int64(n>>1), int64(size))
		}
	}
	f.Add(uint64(7), uint64(2), byte(raft.LogNoop), []byte("data"), []byte("ticket"), int64(-1), int64(0))
	f.Add(uint64(7), uint64(2), byte(raft.LogCommand), []byte("data"), []byte("ticket"), int64(1<<34), int64(5))
	f.Add(uint64(7), uint64(2), byte(raft.LogCommand), []byte("data"), []byte("ticket"), int64(1<<33), int64(0))
	f.Fuzz(func(t *testing.T, index, term uint64, kind byte, data, extensions []byte, sec, nsec int64) {
		l := &raft.Log{Index: index, Term: term, Type: raft.LogType(kind), Data: data, Extensions: extensions}
		if sec != 0 {
			l.AppendedAt = time.Unix(sec, nsec)
		}
		if len(data) == 0 {
			l.Data = nil
		}
		for _, s := range []raft.LogStore{theirs, ours} {
			if err := s.StoreLogs([]*raft.Log{l}); err != nil {
				t.Fatal(err)
			}
		}
		want, got := stored(t, theirs, index), stored(t, ours.BoltStore, index)
		if !sumFits(index, got) || !bytes.Equal(want, got[:len(got)-sumSize]) {
			t.Fatalf("%+v is written as\n%x, by raft-boltdb as\n%x", l, got, want)
		}
		if limit := entryOverhead + len(l.Data) + len(l.Extensions); len(got) > limit {
			t.Fatalf("%d bytes, room was made for %d", len(got), limit)
		}
		var a, b raft.Log
		errA, errB := theirs.GetLog(index, &a), ours.GetLog(index, &b)
		if !decodeEntry(got, &raft.Log{}) || !decodeEntry(want, &raft.Log{}) {
			t.Fatalf("%x is not read as what was written", got)
		}
		if errA != nil || errB != nil || b.Index != index || b.Term != term || b.Type != a.Type || !bytes.Equal(b.Data, data) ||
			!bytes.Equal(b.Extensions, a.Extensions) || !b.AppendedAt.Equal(a.AppendedAt) {
			t.Fatalf("%+v reads as %+v (%v), by raft-boltdb's writing as %+v (%v)", l, b, errB, a, errA)
		}
	})
}

// Entries of many batches, overwritten tails and removed ranges read the same
// as in raft-boltdb's own store.
func TestEntriesAreRaftBoltdbs(t *testing.T) {
	theirs, ours := raftBoltdb(t), &boltLog{BoltStore: raftBoltdb(t)}
	each := func(do func(s raft.LogStore) error) {
		t.Helper()
		for _, s := range []raft.LogStore{theirs, ours} {
			if err := do(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	index := uint64(0)
	for batch := range 200 {
		var logs []*raft.Log
		for i := range 1 + batch*7%23 {
			index++
			logs = append(logs, &raft.Log{
				Index: index, Term: uint64(batch), Data: bytes.Repeat([]byte{byte(index)}, i*batch%3000),
				Extensions: Ticket{Number: index}.Bytes(), AppendedAt: time.Unix(int64(index), 5),
			})
		}
		each(func(s raft.LogStore) error { return s.StoreLogs(logs) })
		switch batch % 10 {
		case 3:
			each(func(s raft.LogStore) error { return s.DeleteRange(index-4, index) })
			index -= 5
		case 7:
			each(func(s raft.LogStore) error { return s.DeleteRange(1, index/2) })
		}
	}
	for i := range index + 2 {
		want, got := stored(t, theirs, i), stored(t, ours.BoltStore, i)
		if len(want) > 0 {
			want = appendSum(want, 0, i)
		}
		if !bytes.Equal(want, got) {
			t.Fatalf("entry %d is %x, in raft-boltdb %x", i, got, want)
		}
	}
	var size [2]int64
	for i, s := range []*raftboltdb.BoltStore{theirs, ours.BoltStore} {
		if err := boltOf(s).View(func(tx *bbolt.Tx) error {
			size[i] = tx.Size()
			for err := range tx.Check() {
				return err
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("file sizes: raft-boltdb %d, ours %d", size[0], size[1])
}

func BenchmarkStoreLogs(b *testing.B) {
	theirs := raftBoltdb(b)
	for name, s := range map[string]raft.LogStore{"raft-boltdb": theirs, "ours": &boltLog{BoltStore: raftBoltdb(b)}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			index := uint64(0)
			data := make([]byte, 1200)
			for range b.N {
				logs := make([]*raft.Log, 8)
				for i := range logs {
					index++
					logs[i] = &raft.Log{Index: index, Term: 2, Data: data, Extensions: data[:24], AppendedAt: time.Unix(1, 1)}
				}
				if err := s.StoreLogs(logs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Removing entries leaves the anchor at what is last then, whatever goes: the end,
// the beginning, all of many pages, or what was not there.
func TestTheAnchorFollowsWhatIsRemoved(t *testing.T) {
	for _, c := range []struct{ min, max, last uint64 }{
		{1, 300, 0}, {200, 300, 199}, {1, 100, 300}, {250, 900, 249}, {400, 900, 300}, {1, 299, 300},
	} {
		m := down(t)
		d, err := openLog(m, true)
		must(t, err)
		for i := uint64(1); i <= 300; i++ {
			must(t, d.bolt.StoreLog(&raft.Log{Index: i, Term: 1, Data: make([]byte, 300)}))
		}
		must(t, d.bolt.DeleteRange(c.min, c.max))
		d.bolt.Close()
		d, err = openDisk(&incarnation{m: m}, false, 300) // a snapshot covers all
		must(t, err)
		if last, err := d.bolt.LastIndex(); err != nil || last != c.last {
			t.Errorf("without %d to %d the last is %d (%v), not %d", c.min, c.max, last, err, c.last)
		}
		d.bolt.Close()
	}
}

// What is not as a member writes it is left to raft-boltdb; no bytes break anything.
func FuzzDecodeEntry(f *testing.F) {
	f.Add(appendEntry(nil, &raft.Log{Index: 300, Term: 3, Data: []byte("data"), AppendedAt: time.Unix(1, 2)}))
	f.Add([]byte{mpMap | 6})
	f.Fuzz(func(t *testing.T, b []byte) {
		var l raft.Log
		if !decodeEntry(b, &l) {
			return
		}
		var again raft.Log
		if !decodeEntry(appendEntry(nil, &l), &again) || again.Index != l.Index || again.Term != l.Term || !bytes.Equal(again.Data, l.Data) {
			t.Fatalf("%x is read as %+v, that written again as %+v", b, l, again)
		}
	})
}
