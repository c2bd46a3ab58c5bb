package dbfile_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"kviz/raftstore/dbfile"
	"kviz/raftstore/steady"
)

// etcd starts a real etcd on a data directory.
func etcd(t *testing.T, dir string) (stop func(), c *clientv3.Client) {
	t.Helper()
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel, cfg.Logger = dir, "fatal", "zap"
	cfg.LogOutputs = []string{filepath.Join(t.TempDir(), "log")}
	cfg.UnsafeNoFsync = true
	cfg.TickMs, cfg.ElectionMs = 10, 100
	client, peer := free(t), free(t)
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = cfg.Name + "=" + peer.String()
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(e.Close)
	t.Cleanup(stop)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(steady.Patience(t)):
		t.Fatal("etcd does not start")
	}
	c, err = clientv3.New(clientv3.Config{Endpoints: []string{client.Host}, Logger: zap.NewNop(), DialTimeout: steady.Patience(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return stop, c
}

func free(t *testing.T) url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return url.URL{Scheme: "http", Host: l.Addr().String()}
}

// TestRealEtcd goes both ways: a snapshot of a real etcd is read here, what is
// written here is restored by etcdutl and served by a real etcd; both know the
// same keys, revisions, leases and users, and have the same hash.
func TestRealEtcd(t *testing.T) {
	steady.RealTime(t, "etcd listens at sockets")
	ctx := context.Background()
	_, theirs := etcd(t, filepath.Join(t.TempDir(), "theirs"))
	live(t, theirs)
	path := filepath.Join(t.TempDir(), "theirs.db")
	save(t, theirs, path)
	read, err := dbfile.Read(path, dbfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if read.ConsistentIndex == 0 || read.Term == 0 || len(read.Members) != 1 {
		t.Errorf("read %+v", read)
	}
	s := storeOf(t, read)
	compare(t, theirs, read)

	ours := write(t, *read)
	dir := filepath.Join(t.TempDir(), "ours")
	if err := snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath: ours, Name: "default", OutputDataDir: dir,
		PeerURLs: []string{"http://localhost:2380"}, InitialCluster: "default=http://localhost:2380", InitialClusterToken: "x",
	}); err != nil {
		t.Fatal(err)
	}
	stop, again := etcd(t, dir)
	compare(t, again, read)
	if _, err := again.Put(ctx, "after", "the restore"); err != nil {
		t.Fatal(err)
	}
	// And once more: the data directory of an etcd that was stopped.
	again.Close()
	stop()
	last, err := dbfile.Read(dir, dbfile.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := storeOf(t, last).Revision(); got != s.Revision()+1 {
		t.Errorf("revision %d after one more put, was %d", got, s.Revision())
	}
}

// live writes a history.
func live(t *testing.T, c *clientv3.Client) {
	t.Helper()
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 400 {
		key := fmt.Sprintf("key-%02d", rng.IntN(40))
		var err error
		switch k := rng.IntN(20); {
		case k < 13:
			_, err = c.Put(ctx, key, fmt.Sprintf("%0*d", 1+rng.IntN(400), i))
		case k < 16:
			_, err = c.Delete(ctx, key)
		case k < 18:
			_, err = c.Txn(ctx).Then(clientv3.OpPut("t1", fmt.Sprint(i)), clientv3.OpPut("t2", fmt.Sprint(i))).Commit()
		case k < 19:
			l, lerr := c.Grant(ctx, int64(600+i))
			if lerr != nil {
				t.Fatal(lerr)
			}
			_, err = c.Put(ctx, key, "leased", clientv3.WithLease(l.ID))
		case i > 100 && i%2 == 0:
			var r *clientv3.GetResponse
			if r, err = c.Get(ctx, key); err == nil {
				_, err = c.Compact(ctx, r.Header.Revision-20, clientv3.WithCompactPhysical())
				if err != nil {
					err = nil // compacted further already
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.RoleAdd(ctx, "reader"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RoleGrantPermission(ctx, "reader", "key-", "key.", clientv3.PermissionType(clientv3.PermRead)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.UserAdd(ctx, "ann", "secret"); err != nil {
		t.Fatal(err)
	}
}

func save(t *testing.T, c *clientv3.Client, path string) {
	t.Helper()
	r, err := c.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, r); err != nil {
		t.Fatal(err)
	}
}

// compare asks a real etcd for everything that a content says.
func compare(t *testing.T, c *clientv3.Client, content *dbfile.Content) {
	t.Helper()
	ctx := context.Background()
	s := storeOf(t, content)
	h, err := c.HashKV(ctx, c.Endpoints()[0], s.Revision())
	if err != nil {
		t.Fatal(err)
	}
	hash, err := s.HashKV(s.Revision())
	if err != nil || h.Hash != hash || h.CompactRevision != s.CompactRevision() || h.Header.Revision != s.Revision() {
		t.Errorf("etcd has %v; here the hash is %d, revision %d, compacted %d (%v)", h, hash, s.Revision(), s.CompactRevision(), err)
	}
	leases, err := c.Leases(ctx)
	if err != nil || len(leases.Leases) != len(s.Leases()) || len(s.Leases()) == 0 {
		t.Errorf("etcd has %d leases (%v), here are %d", len(leases.Leases), err, len(s.Leases()))
	}
	for _, l := range s.Leases() {
		ttl, err := c.TimeToLive(ctx, clientv3.LeaseID(l.ID), clientv3.WithAttachedKeys())
		if err != nil || ttl.GrantedTTL != l.TTL || len(ttl.Keys) != len(l.Keys) {
			t.Errorf("lease %x: %+v (%v); here %+v", l.ID, ttl, err, l)
		}
	}
	users, err := c.UserList(ctx)
	if err != nil || fmt.Sprint(users.Users) != "[ann]" || len(content.Auth.Users) != 1 || string(content.Auth.Users[0].Name) != "ann" {
		t.Errorf("etcd has the users %v (%v), here are %v", users, err, content.Auth.Users)
	}
	role, err := c.RoleGet(ctx, "reader")
	if err != nil || len(role.Perm) != 1 || len(content.Auth.Roles) != 1 || fmt.Sprint(role.Perm) != fmt.Sprint(content.Auth.Roles[0].KeyPermission) {
		t.Errorf("etcd has the role %v (%v), here is %v", role, err, content.Auth.Roles)
	}
}
