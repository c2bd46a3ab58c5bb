package dbfile_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	"pgregory.net/rapid"

	"kviz/raftstore/apply"
	"kviz/raftstore/dbfile"
	"kviz/raftstore/mvcc"
	"kviz/raftstore/steady"
)

// history is a store with some life behind it.
func history(t testing.TB, rng *rand.Rand, n int) *mvcc.Store {
	t.Helper()
	s := mvcc.New()
	do := func(r *pb.InternalRaftRequest) { s.Apply(s.AppliedIndex()+1, r) }
	key := func() []byte { return fmt.Appendf(nil, "key-%02d", rng.IntN(30)) }
	for i := range n {
		switch k := rng.IntN(20); {
		case k < 12:
			do(&pb.InternalRaftRequest{Put: &pb.PutRequest{Key: key(), Value: bytes.Repeat([]byte{byte('a' + i%26)}, rng.IntN(300))}})
		case k < 15:
			do(&pb.InternalRaftRequest{DeleteRange: &pb.DeleteRangeRequest{Key: key()}})
		case k < 16:
			do(&pb.InternalRaftRequest{DeleteRange: &pb.DeleteRangeRequest{Key: []byte("key-1"), RangeEnd: []byte("key-2")}})
		case k < 17:
			do(&pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{ID: int64(i + 1), TTL: int64(rng.IntN(100))}})
			do(&pb.InternalRaftRequest{Put: &pb.PutRequest{Key: key(), Lease: int64(i + 1)}})
		case k < 19:
			var ops []*pb.RequestOp
			for j := range 1 + rng.IntN(3) {
				ops = append(ops, &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: fmt.Appendf(nil, "txn-%d", j), Value: []byte("v")}}})
			}
			do(&pb.InternalRaftRequest{Txn: &pb.TxnRequest{Success: ops}})
		default:
			do(&pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: 1 + rng.Int64N(s.Revision())}})
		}
	}
	return s
}

func contentOf(s *mvcc.Store) dbfile.Content {
	return dbfile.Content{
		KV: s.Snapshot(), ConsistentIndex: s.AppliedIndex(), Term: 3,
		Members: []dbfile.Member{
			{ID: 0xa1, Name: "a", PeerURLs: []string{"http://a:2380"}, ClientURLs: []string{"http://a:2379"}},
			{ID: 0xb2, Name: "b", PeerURLs: []string{"http://b:2380"}, IsLearner: true},
		},
		Removed: []uint64{0xc3},
		Alarms:  []*pb.AlarmMember{{MemberID: 0xa1, Alarm: pb.AlarmType_NOSPACE}},
		Auth: apply.Users{
			Revision: 5,
			Users:    []*authpb.User{{Name: []byte("root"), Password: []byte("$2a$04$hash"), Roles: []string{"root"}}},
			Roles:    []*authpb.Role{{Name: []byte("root")}},
		},
	}
}

func write(t testing.TB, c dbfile.Content) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup.db")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(dbfile.Write(f, c), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// same compares two stores by everything that can be seen of them.
func same(t interface {
	Helper()
	Fatalf(string, ...any)
}, got, want *mvcc.Store,
) {
	t.Helper()
	if got.Revision() != want.Revision() || got.CompactRevision() != want.CompactRevision() {
		t.Fatalf("revision %d, compacted %d; want %d, %d", got.Revision(), got.CompactRevision(), want.Revision(), want.CompactRevision())
	}
	if g, w := fmt.Sprint(got.Leases()), fmt.Sprint(want.Leases()); g != w {
		t.Fatalf("leases %s; want %s", g, w)
	}
	for rev := max(want.CompactRevision(), 1); rev <= want.Revision(); rev++ {
		g, errG := got.HashKV(rev)
		w, errW := want.HashKV(rev)
		if g != w || (errG == nil) != (errW == nil) {
			t.Fatalf("hash at revision %d: %x (%v); want %x (%v)", rev, g, errG, w, errW)
		}
		all := &pb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}, Revision: rev}
		a, errA := got.Range(all)
		b, errB := want.Range(all)
		if fmt.Sprint(a, errA) != fmt.Sprint(b, errB) {
			t.Fatalf("keys at revision %d:\n%v %v\nwant\n%v %v", rev, a, errA, b, errB)
		}
	}
}

func storeOf(t interface{ Fatalf(string, ...any) }, c *dbfile.Content) *mvcc.Store {
	s, err := c.KV.Store()
	if err != nil {
		t.Fatalf("store: %v", err)
	}
	return s
}

// TestWhatIsWrittenIsRead writes random histories and reads them again.
func TestWhatIsWrittenIsRead(t *testing.T) {
	steady.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		n := rapid.IntRange(0, 300).Draw(rt, "operations")
		s := history(t, rand.New(rand.NewPCG(seed, 0)), n)
		want := contentOf(s)
		var b bytes.Buffer
		if err := dbfile.Write(&b, want); err != nil {
			rt.Fatalf("write: %v", err)
		}
		got, err := dbfile.ReadFrom(bytes.NewReader(b.Bytes()), int64(b.Len()), dbfile.ReadOptions{})
		if err != nil {
			rt.Fatalf("read: it %v", err)
		}
		same(rt, storeOf(rt, got), s)
		got.KV, want.KV = nil, nil
		want.StorageVersion, want.ClusterVersion = "3.7.0", "3.7.0"
		if g, w := fmt.Sprintf("%+v", *got), fmt.Sprintf("%+v", want); g != w {
			rt.Fatalf("the rest is\n%s\nwant\n%s", g, w)
		}
		var again bytes.Buffer
		want.KV = s.Snapshot()
		if err := dbfile.Write(&again, want); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			rt.Fatalf("the same content gave other bytes (%v)", err)
		}
	})
}

// TestEtcdutlTakesIt asks etcd's own code for the status of what is written, and
// has it restored.
func TestEtcdutlTakesIt(t *testing.T) {
	s := history(t, rand.New(rand.NewPCG(7, 7)), 2000)
	path := write(t, contentOf(s))
	m := snapshot.NewV3(zap.NewNop())
	st, err := m.Status(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Revision != s.Revision() || st.TotalKey != s.Keys() || st.Version != "3.7.0" {
		t.Errorf("status %+v; want revision %d, %d keys, version 3.7.0", st, s.Revision(), s.Keys())
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() != st.TotalSize+32 {
		t.Errorf("the file has %d bytes (%v), its pages %d", info.Size(), err, st.TotalSize)
	}
	for _, bump := range []uint64{0, 1000} {
		dir := filepath.Join(t.TempDir(), "new")
		if err := m.Restore(snapshot.RestoreConfig{
			SnapshotPath: path, Name: "m1", OutputDataDir: dir,
			PeerURLs: []string{"http://localhost:2380"}, InitialCluster: "m1=http://localhost:2380", InitialClusterToken: "etcd-cluster",
			RevisionBump: bump, MarkCompacted: bump > 0,
		}); err != nil {
			t.Fatal(err)
		}
		// What etcdutl made of it is what is read of its data directory.
		got, err := dbfile.Read(dir, dbfile.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Members) != 1 || got.Members[0].Name != "m1" {
			t.Errorf("members %+v", got.Members)
		}
		ours, err := dbfile.Read(path, dbfile.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if bump > 0 {
			if err := ours.Bump(int64(bump)); err != nil {
				t.Fatal(err)
			}
		}
		same(t, storeOf(t, got), storeOf(t, ours))
	}
}

// TestRefusals has what Read says to files that are not what they should be.
func TestRefusals(t *testing.T) {
	path := write(t, contentOf(history(t, rand.New(rand.NewPCG(1, 2)), 400)))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int, b byte) func([]byte) []byte {
		return func(f []byte) []byte { f[i] ^= b; return f }
	}
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		skip   bool
		want   string
	}{
		{"a byte in the middle", at(len(whole)/2, 1), false, "is damaged: the hash at its end is "},
		{"cut short", func(f []byte) []byte { return f[:len(f)/2/4096*4096+32] }, false, "is damaged: the hash at its end is "},
		{"no hash", func(f []byte) []byte { return f[:len(f)-32] }, false, "has no hash at its end"},
		{"no hash, and told so", func(f []byte) []byte { return f[:len(f)-32] }, true, ""},
		{"empty", func([]byte) []byte { return nil }, true, "is damaged: it ends before its meta pages do"},
		{"another file", func([]byte) []byte { return bytes.Repeat([]byte("kviz"), 4096) }, true, "this is no etcd database, or its beginning is damaged"},
		{"first meta page", at(16+20, 1), true, "its first meta page is not whole, so its last write may be lost"},
		{"second meta page", at(4096+16+20, 1), true, "its second meta page is not whole, so its last write may be lost"},
		{"cut, hash not looked at", func(f []byte) []byte { return f[:3*4096] }, true, "is damaged: it ends too early"},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "x.db")
			if err := os.WriteFile(name, c.change(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := dbfile.Read(name, dbfile.ReadOptions{SkipHash: c.skip})
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), name)):
				t.Errorf("%v; want %q", err, c.want)
			}
		})
	}
	if _, err := dbfile.Read(t.TempDir(), dbfile.ReadOptions{}); err == nil || !strings.Contains(err.Error(), "is no etcd data directory") {
		t.Error(err)
	}
}

// FuzzRead reads damaged files: an error is well, a crash is not. What is read
// is a store that can be written again.
func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := dbfile.Write(&b, contentOf(history(f, rand.New(rand.NewPCG(3, 4)), 120))); err != nil {
		f.Fatal(err)
	}
	whole := b.Bytes()[:b.Len()-32]
	f.Add(uint64(0), uint16(0), whole[:0])
	for i := range uint64(60) {
		f.Add(i, uint16(1+i%5), []byte{byte(i), 0xff})
	}
	f.Fuzz(func(t *testing.T, seed uint64, changes uint16, put []byte) {
		file := bytes.Clone(whole)
		rng := rand.New(rand.NewPCG(seed, 1))
		for range changes % 64 {
			// Most of a file is values, where changes are dull: headers of pages are not.
			i := rng.IntN(len(file))
			if rng.IntN(2) == 0 {
				i = i/4096*4096 + rng.IntN(200)
			}
			if i < 8192 {
				continue // the meta pages have checksums
			}
			if len(put) > 0 {
				copy(file[i:], put)
			} else {
				file[i] = byte(rng.Uint32())
			}
		}
		c, err := dbfile.ReadFrom(bytes.NewReader(file), int64(len(file)), dbfile.ReadOptions{SkipHash: true})
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := dbfile.Write(&again, *c); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}

// FuzzReadBytes reads anything at all.
func FuzzReadBytes(f *testing.F) {
	var b bytes.Buffer
	if err := dbfile.Write(&b, contentOf(mvcc.New())); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("kviz"))
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, skip := range []bool{false, true} {
			_, _ = dbfile.ReadFrom(bytes.NewReader(file), int64(len(file)), dbfile.ReadOptions{SkipHash: skip})
		}
	})
}
