package etcdapi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// client is a real etcd client of all the addresses.
func (b *bench) client(change ...func(*clientv3.Config)) *clientv3.Client {
	b.t.Helper()
	cfg := clientv3.Config{Endpoints: b.server.Endpoints, Context: b.ctx, DialTimeout: 10 * time.Second, DialOptions: b.dialer(), Logger: zap.NewNop()}
	for _, fn := range change {
		fn(&cfg)
	}
	c, err := clientv3.New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { c.Close() })
	return c
}

func (b *bench) dialer() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithContextDialer(b.net.dial)}
}

func TestClientsKeepLeasesAlive(t *testing.T) { on(t, testClientLeases) }

func testClientLeases(t *testing.T, b *bench) {
	c := b.client()
	l, err := c.Grant(b.ctx, 60)
	if err != nil || l.ID <= 0 || l.TTL != 60 || l.Revision == 0 {
		t.Fatalf("grant: %v %v", l, err)
	}
	if _, err := c.Put(b.ctx, "a", "1", clientv3.WithLease(l.ID)); err != nil {
		t.Fatal(err)
	}
	if k, err := c.KeepAliveOnce(b.ctx, l.ID); err != nil || k.TTL != 60 {
		t.Errorf("keep alive: %v %v", k, err)
	}
	ttl, err := c.TimeToLive(b.ctx, l.ID, clientv3.WithAttachedKeys())
	if err != nil || ttl.GrantedTTL != 60 || ttl.TTL < 50 || ttl.TTL > 60 || len(ttl.Keys) != 1 || string(ttl.Keys[0]) != "a" {
		t.Errorf("time to live: %v %v", ttl, err)
	}
	if list, err := c.Leases(b.ctx); err != nil || len(list.Leases) != 1 || list.Leases[0].ID != l.ID {
		t.Errorf("leases: %v %v", list, err)
	}
	if _, err := c.Put(b.ctx, "b", "1", clientv3.WithLease(l.ID+1)); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		t.Errorf("put with no lease: %v", err)
	}
	if _, err := c.Grant(b.ctx, 9_000_000_001); !errors.Is(err, rpctypes.ErrLeaseTTLTooLarge) {
		t.Errorf("a long lease: %v", err)
	}
	if _, err := c.Revoke(b.ctx, l.ID); err != nil {
		t.Error(err)
	}
	if _, err := c.Revoke(b.ctx, l.ID); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		t.Errorf("revoke again: %v", err)
	}
	if _, err := c.KeepAliveOnce(b.ctx, l.ID); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		t.Errorf("keep nothing alive: %v", err)
	}
	if ttl, err := c.TimeToLive(b.ctx, l.ID); err != nil || ttl.TTL != -1 {
		t.Errorf("time to live of nothing: %v %v", ttl, err)
	}
	if r, err := c.Get(b.ctx, "a"); err != nil || r.Count != 0 {
		t.Errorf("the lease's key: %v %v", r, err)
	}
}

// The recipes that the client brings, and those that the server has.
func TestLocks(t *testing.T) { on(t, testLocks) }

func testLocks(t *testing.T, b *bench) {
	c := b.client()
	session, err := concurrency.NewSession(c)
	if err != nil {
		t.Fatal(err)
	}
	mutex := concurrency.NewMutex(session, "lock")
	if err := mutex.Lock(b.ctx); err != nil {
		t.Fatal(err)
	}
	lock := v3lockpb.NewLockClient(b.conns[0])
	got := make(chan string, 1)
	go func() {
		r, err := lock.Lock(b.ctx, &v3lockpb.LockRequest{Name: []byte("lock"), Lease: int64(session.Lease())})
		got <- fmt.Sprint(string(r.GetKey()), err)
	}()
	// It has the same lease, which is the same owner.
	if s := <-got; !strings.HasPrefix(s, "lock/") || !strings.HasSuffix(s, "<nil>") {
		t.Errorf("lock: %s", s)
	}
	if err := mutex.Unlock(b.ctx); err != nil {
		t.Error(err)
	}
	election := concurrency.NewElection(session, "office")
	if err := election.Campaign(b.ctx, "me"); err != nil {
		t.Fatal(err)
	}
	if r, err := election.Leader(b.ctx); err != nil || string(r.Kvs[0].Value) != "me" {
		t.Errorf("leader: %v %v", r, err)
	}
}

// A stream of a range is its answer, in pieces of one revision.
func TestRangeStream(t *testing.T) { on(t, testRangeStream) }

func testRangeStream(t *testing.T, b *bench) {
	c := b.client()
	value := strings.Repeat("v", 20_000)
	const keys = 200
	for i := range keys {
		if _, err := c.Put(b.ctx, fmt.Sprintf("k%03d", i), value); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int64{0, 3, 10, 11, 150, 200, 500} {
		stream, err := c.GetStream(b.ctx, "k", clientv3.WithPrefix(), clientv3.WithLimit(limit))
		if err != nil {
			t.Fatal(err)
		}
		var kvs []*mvccpb.KeyValue
		pieces := 0
		var last *clientv3.GetResponse
		for r := range stream {
			if r.Err() != nil {
				t.Fatal(r.Err())
			}
			pieces++
			kvs = append(kvs, r.Kvs...)
			last = (*clientv3.GetResponse)(r.RangeResponse)
			if pieces == 1 {
				// It is not part of the revision that is being read.
				if _, err := c.Put(b.ctx, "kzz", "later"); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Delete(b.ctx, "kzz"); err != nil {
					t.Fatal(err)
				}
			}
		}
		want := keys
		if limit > 0 {
			want = min(want, int(limit))
		}
		if len(kvs) != want || last.Count != keys || last.More != (want < keys) || last.Header == nil {
			t.Errorf("limit %d: %d keys in %d pieces, count %d, more %v", limit, len(kvs), pieces, last.Count, last.More)
		}
		for i, kv := range kvs {
			if string(kv.Key) != fmt.Sprintf("k%03d", i) {
				t.Fatalf("limit %d: key %d is %s", limit, i, kv.Key)
			}
		}
		if limit == 0 && pieces < 4 {
			t.Errorf("4 MB came in %d pieces", pieces)
		}
	}
}

func TestUsersAndRoles(t *testing.T) { steady.Bubble(t, testUsersAndRoles) }

func testUsersAndRoles(t *testing.T) {
	s, err := raftstore.Open(raftstore.Config{NoSync: true, BcryptCost: 4})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, s)
	c := b.client()
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(c.Put(b.ctx, "secret", "1"))
	if _, err := c.AuthEnable(b.ctx); !errors.Is(err, rpctypes.ErrRootUserNotExist) {
		t.Errorf("enable without root: %v", err)
	}
	must(c.UserAdd(b.ctx, "root", "r"))
	must(c.UserGrantRole(b.ctx, "root", "root"))
	must(c.UserAdd(b.ctx, "alice", "a"))
	must(c.RoleAdd(b.ctx, "reader"))
	must(c.RoleGrantPermission(b.ctx, "reader", "pub/", clientv3.GetPrefixRangeEnd("pub/"), clientv3.PermissionType(clientv3.PermReadWrite)))
	must(c.UserGrantRole(b.ctx, "alice", "reader"))
	if _, err := c.UserAdd(b.ctx, "alice", "b"); !errors.Is(err, rpctypes.ErrUserAlreadyExist) {
		t.Errorf("add again: %v", err)
	}
	must(c.AuthEnable(b.ctx))

	as := func(name, password string) *clientv3.Client {
		return b.client(func(cfg *clientv3.Config) { cfg.Username, cfg.Password = name, password })
	}
	alice, root := as("alice", "a"), as("root", "r")
	must(alice.Put(b.ctx, "pub/x", "1"))
	must(alice.Get(b.ctx, "pub/x"))
	must(alice.Get(b.ctx, "pub/x", clientv3.WithSerializable()))
	must(root.Get(b.ctx, "secret"))
	_, putErr := alice.Put(b.ctx, "secret", "2")
	_, getErr := alice.Get(b.ctx, "secret")
	_, localErr := alice.Get(b.ctx, "secret", clientv3.WithSerializable())
	_, txnErr := alice.Txn(b.ctx).Then(clientv3.OpGet("secret")).Commit()
	_, compactErr := alice.Compact(b.ctx, 2)
	_, hashErr := alice.HashKV(b.ctx, b.server.Endpoints[0], 0)
	_, addErr := alice.UserAdd(b.ctx, "bob", "b")
	_, nobodyErr := c.Get(b.ctx, "secret")
	_, nobodyPut := c.Put(b.ctx, "secret", "2")
	_, nobodyList := c.MemberList(b.ctx)
	_, nobodyGrant := c.Grant(b.ctx, 60)
	for what, x := range map[string][2]error{
		"put": {putErr, rpctypes.ErrPermissionDenied}, "get": {getErr, rpctypes.ErrPermissionDenied},
		"serializable get": {localErr, rpctypes.ErrPermissionDenied}, "txn": {txnErr, rpctypes.ErrPermissionDenied},
		"compact": {compactErr, rpctypes.ErrPermissionDenied}, "hash": {hashErr, rpctypes.ErrPermissionDenied}, "user add": {addErr, rpctypes.ErrPermissionDenied},
		"nobody's get": {nobodyErr, rpctypes.ErrUserEmpty}, "nobody's put": {nobodyPut, rpctypes.ErrUserEmpty},
		"nobody's member list": {nobodyList, rpctypes.ErrUserEmpty}, "nobody's grant": {nobodyGrant, rpctypes.ErrUserEmpty},
	} {
		if !errors.Is(x[0], x[1]) {
			t.Errorf("%s: %v, want %v", what, x[0], x[1])
		}
	}
	if r := <-alice.Watch(b.ctx, "secret"); r.Err() == nil || !strings.Contains(r.Err().Error(), "permission denied") {
		t.Errorf("alice watches the secret: %v", r.Err())
	}
	if _, err := clientv3.New(clientv3.Config{Endpoints: b.server.Endpoints, Username: "alice", Password: "wrong", DialTimeout: 5 * time.Second, DialOptions: b.dialer(), Logger: zap.NewNop()}); !errors.Is(err, rpctypes.ErrAuthFailed) {
		t.Errorf("a wrong password: %v", err)
	}
	must(root.AuthDisable(b.ctx))
	must(c.Put(b.ctx, "secret", "3"))
}
