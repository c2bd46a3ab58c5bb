package dbfile_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"

	"kviz/raftstore"
	"kviz/raftstore/apply"
	"kviz/raftstore/dbfile"
	"kviz/raftstore/etcdapi"
	"kviz/raftstore/steady"
)

// said is what an etcd said of itself when the files in testdata were made of
// it, and what any store says that goes on from them. testdata/README.md tells how they were
// made.
type said struct {
	FileSizes map[string]int // of the databases, with the zeroes at their ends
	Version   string
	Revision  int64
	Compacted int64
	Hashes    map[int64]uint32            // HashKV by revision, of those after the compaction
	Keys      map[int64]map[string]record // all keys, in hex, by revision
	Leases    []leased
	Users     []string
	Roles     []string
	Members   []string
	Alarms    []string
}

type record struct {
	Value                   string
	Create, Mod, Ver, Lease int64
}

type leased struct {
	ID, TTL int64
	Keys    []string
}

// made are the versions that there are files of.
var made = []struct{ version, storage string }{{"3.4.13", ""}, {"3.5.35", ""}, {"3.6.16", "3.6.0"}}

// unpacked is a file of testdata.
func unpacked(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// database is the path of one that etcd made, and what etcd said before.
func database(t *testing.T, version, what string) (path string, s said) {
	t.Helper()
	if err := json.Unmarshal(unpacked(t, "etcd-"+version+".json"), &s); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), what+".db")
	if err := os.WriteFile(path, unpacked(t, "etcd-"+version+"-"+what+".db"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(s.FileSizes[what])); err != nil {
		t.Fatal(err)
	}
	return path, s
}

// Databases of older etcds, snapshots and what an etcd that was stopped left in its
// data directory, are read as what those etcds said of themselves.
func TestOlderVersionsAreRead(t *testing.T) {
	for _, v := range made {
		for _, what := range []string{"snapshot", "stopped"} {
			t.Run(v.version+" "+what, func(t *testing.T) {
				path, want := database(t, v.version, what)
				if what == "stopped" {
					if _, err := dbfile.Read(path, dbfile.ReadOptions{}); err == nil || !strings.Contains(err.Error(), "has no hash at its end") {
						t.Errorf("without a hash: %v", err)
					}
				}
				c, err := dbfile.Read(path, dbfile.ReadOptions{SkipHash: what == "stopped"})
				if err != nil {
					t.Fatal(err)
				}
				var members []string
				for _, m := range c.Members {
					members = append(members, fmt.Sprintf("%x %q %v %v learner=%v", m.ID, m.Name, m.PeerURLs, append([]string{}, m.ClientURLs...), m.IsLearner))
				}
				slices.Sort(members)
				if !slices.Equal(members, want.Members) || len(c.Removed) != 1 {
					t.Errorf("the members are %v, removed %x; etcd said %v", members, c.Removed, want.Members)
				}
				if c.ConsistentIndex < 300 || c.ClusterVersion != v.version[:4]+"0" || c.StorageVersion != v.storage {
					t.Errorf("index %d, cluster version %q, storage version %q", c.ConsistentIndex, c.ClusterVersion, c.StorageVersion)
				}
				if after35 := v.version > "3.5"; (c.Term > 0) != after35 {
					t.Errorf("the last entry's term is %d", c.Term)
				}
				s := storeOf(t, c)
				for rev, hash := range want.Hashes {
					if got, err := s.HashKV(rev); err != nil || got != hash {
						t.Errorf("the hash at revision %d is %d (%v), etcd said %d", rev, got, err, hash)
					}
				}
			})
		}
	}
}

// What older etcds left is restored by etcdutl and served by a real etcd 3.7, and
// restored here and served by our members: clients cannot tell which they ask, nor
// whether it is the old one, whose revision may have been bumped.
func TestOlderVersionsAreRestored(t *testing.T) {
	for _, v := range made {
		for _, bump := range []int64{0, 1000} {
			t.Run(fmt.Sprintf("%s bumped by %d", v.version, bump), func(t *testing.T) {
				steady.RealTime(t, "etcd listens at sockets")
				path, old := database(t, v.version, "snapshot")
				theirs, ours := restoredByEtcd(t, path, bump), restoredHere(t, path, bump)
				if bump > 0 {
					old = bumped(old, bump)
				}
				for name, s := range map[string]said{"a real etcd": ask(t, theirs, old), "ours": ask(t, ours, old)} {
					s.Members, s.FileSizes, s.Version = old.Members, old.FileSizes, old.Version
					sameSaid(t, name, s, old)
				}
				for name, c := range map[string]*clientv3.Client{"etcd": theirs, "here": ours} {
					goesOn(t, name, c, old.Revision)
				}
			})
		}
	}
}

// bumped is what remains to be said after --bump-revision and --mark-compacted.
func bumped(old said, n int64) said {
	last := old.Keys[old.Revision]
	old.Revision += n
	old.Compacted = old.Revision
	old.Keys = map[int64]map[string]record{old.Revision: last}
	old.Hashes = map[int64]uint32{}
	return old
}

// sameSaid compares part by part, and key by key.
func sameSaid(t *testing.T, name string, got, want said) {
	t.Helper()
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range g.NumField() {
		field := g.Type().Field(i).Name
		if a, b := g.Field(i).Interface(), w.Field(i).Interface(); field != "Keys" && !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %s\n%+v\nthe old etcd's\n%+v", name, field, a, b)
		}
	}
	if len(got.Keys) != len(want.Keys) {
		t.Errorf("%s: keys of %d revisions, not %d", name, len(got.Keys), len(want.Keys))
	}
	for rev, keys := range want.Keys {
		if len(got.Keys[rev]) != len(keys) {
			t.Errorf("%s: %d keys at revision %d, not %d", name, len(got.Keys[rev]), rev, len(keys))
		}
		for k, v := range keys {
			if got.Keys[rev][k] != v {
				t.Errorf("%s: key %s at revision %d is %v, the old etcd's %v", name, k, rev, got.Keys[rev][k], v)
			}
		}
	}
}

func restoredByEtcd(t *testing.T, path string, bump int64) *clientv3.Client {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "theirs")
	if err := snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: path, Name: "default", OutputDataDir: dir,
		PeerURLs: []string{"http://localhost:2380"}, InitialCluster: "default=http://localhost:2380", InitialClusterToken: "x",
		RevisionBump: uint64(bump), MarkCompacted: bump > 0,
	}); err != nil {
		t.Fatal(err)
	}
	_, c := etcd(t, dir)
	return c
}

func restoredHere(t *testing.T, path string, bump int64) *clientv3.Client {
	t.Helper()
	content, err := dbfile.Read(path, dbfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	state, err := content.State(apply.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	store, err := raftstore.Open(raftstore.Config{NoSync: true, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := store.Rebuild(state, raftstore.RebuildOptions{BumpRevision: bump, MarkCompacted: bump > 0}); err != nil {
		t.Fatal(err)
	}
	served, err := etcdapi.Serve(store, etcdapi.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { served.Close() })
	c, err := clientv3.New(clientv3.Config{Endpoints: served.Endpoints[:1], Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ask has a store say what the old one said of itself, at the revisions that are
// left.
func ask(t *testing.T, c *clientv3.Client, old said) (s said) {
	t.Helper()
	ctx := context.Background()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := c.Endpoints()[0]
	h, err := c.HashKV(ctx, at, 0)
	check(err)
	s.Revision, s.Compacted = h.Header.Revision, h.CompactRevision
	s.Hashes, s.Keys = map[int64]uint32{}, map[int64]map[string]record{}
	for rev := s.Compacted + 1; rev <= s.Revision; rev++ {
		h, err := c.HashKV(ctx, at, rev)
		check(err)
		s.Hashes[rev] = h.Hash
	}
	for rev := range old.Keys {
		r, err := c.Get(ctx, "\x00", clientv3.WithFromKey(), clientv3.WithRev(rev))
		check(err)
		s.Keys[rev] = map[string]record{}
		for _, kv := range r.Kvs {
			s.Keys[rev][fmt.Sprintf("%x", kv.Key)] = record{fmt.Sprintf("%x", kv.Value), kv.CreateRevision, kv.ModRevision, kv.Version, kv.Lease}
		}
	}
	leases, err := c.Leases(ctx)
	check(err)
	for _, l := range leases.Leases {
		ttl, err := c.TimeToLive(ctx, l.ID, clientv3.WithAttachedKeys())
		check(err)
		one := leased{ID: int64(l.ID), TTL: ttl.GrantedTTL}
		for _, k := range ttl.Keys {
			one.Keys = append(one.Keys, string(k))
		}
		slices.Sort(one.Keys)
		s.Leases = append(s.Leases, one)
	}
	slices.SortFunc(s.Leases, func(a, b leased) int { return cmp.Compare(a.ID, b.ID) })
	users, err := c.UserList(ctx)
	check(err)
	for _, u := range users.Users {
		g, err := c.UserGet(ctx, u)
		check(err)
		s.Users = append(s.Users, fmt.Sprint(u, " ", g.Roles))
	}
	roles, err := c.RoleList(ctx)
	check(err)
	for _, r := range roles.Roles {
		g, err := c.RoleGet(ctx, r)
		check(err)
		for _, p := range g.Perm {
			s.Roles = append(s.Roles, fmt.Sprintf("%s %v %q %q", r, p.PermType, p.Key, p.RangeEnd))
		}
	}
	alarms, err := c.AlarmList(ctx)
	check(err)
	for _, a := range alarms.Alarms {
		s.Alarms = append(s.Alarms, fmt.Sprintf("%x %v", a.MemberID, a.Alarm))
	}
	return s
}

// goesOn puts something. The alarm was in the file: it comes first.
func goesOn(t *testing.T, name string, c *clientv3.Client, rev int64) {
	t.Helper()
	ctx := context.Background()
	if _, err := c.Put(ctx, "after", "x"); err != rpctypes.ErrNoSpace {
		t.Errorf("%s: a put under the alarm: %v", name, err)
	}
	if _, err := c.AlarmDisarm(ctx, &clientv3.AlarmMember{}); err != nil {
		t.Errorf("%s: disarm: %v", name, err)
	}
	r, err := c.Put(ctx, "after", "x")
	if err != nil || r.Header.Revision != rev+1 {
		t.Errorf("%s: the next put has %v (%v) after revision %d", name, r, err, rev)
	}
}

// A file of old is seen to be damaged, like one of ours.
func TestOlderVersionsDamaged(t *testing.T) {
	for _, v := range made {
		whole := unpacked(t, "etcd-"+v.version+"-snapshot.db")
		var j said
		if err := json.Unmarshal(unpacked(t, "etcd-"+v.version+".json"), &j); err != nil {
			t.Fatal(err)
		}
		whole = append(whole, make([]byte, j.FileSizes["snapshot"]-len(whole))...)
		for i := 0; i < len(whole); i += 997 {
			b := bytes.Clone(whole)
			b[i] ^= 0x10
			if _, err := dbfile.ReadFrom(bytes.NewReader(b), int64(len(b)), dbfile.ReadOptions{}); err == nil {
				t.Errorf("%s: nobody sees that byte %d was changed", v.version, i)
			}
		}
	}
}
