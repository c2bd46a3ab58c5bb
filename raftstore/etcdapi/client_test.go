package etcdapi_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb"
	"go.uber.org/zap"

	"kviz/raftstore"
	"kviz/raftstore/etcdapi"
)

// client is a real etcd client of all the addresses.
func (b *bench) client(change ...func(*clientv3.Config)) *clientv3.Client {
	b.t.Helper()
	cfg := clientv3.Config{Endpoints: b.server.Endpoints, Context: b.ctx, DialTimeout: 10 * time.Second, Logger: zap.NewNop()}
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

func TestUsersAndRoles(t *testing.T) {
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
	if _, err := clientv3.New(clientv3.Config{Endpoints: b.server.Endpoints, Username: "alice", Password: "wrong", DialTimeout: 5 * time.Second, Logger: zap.NewNop()}); !errors.Is(err, rpctypes.ErrAuthFailed) {
		t.Errorf("a wrong password: %v", err)
	}
	must(root.AuthDisable(b.ctx))
	must(c.Put(b.ctx, "secret", "3"))
}

func TestMaintenance(t *testing.T) {
	b := newBench(t, replicated(t))
	c := b.client()
	for i := range 50 {
		if _, err := c.Put(b.ctx, fmt.Sprint("k", i), strings.Repeat("v", 3000)); err != nil {
			t.Fatal(err)
		}
	}
	st, err := c.Status(b.ctx, b.server.Endpoints[0])
	if err != nil || st.Version != "3.7.3" || st.StorageVersion != "3.7.0" || st.DbSizeQuota != 2<<30 || st.DbSize < 150_000 || st.DbSizeInUse > st.DbSize || st.DowngradeInfo == nil {
		t.Errorf("status: %v %v", st, err)
	}
	// What comes is a file with the hash of what is before it.
	r, err := c.SnapshotWithVersion(b.ctx)
	if err != nil || r.Version != "3.7.0" {
		t.Fatalf("snapshot: %v %v", r, err)
	}
	body, err := io.ReadAll(r.Snapshot)
	if err != nil || len(body) < 150_000 || len(body)%512 != 32 {
		t.Errorf("snapshot: %d bytes %v", len(body), err)
	}
	if _, err := c.Defragment(b.ctx, b.server.Endpoints[0]); err != nil {
		t.Error(err)
	}
	for _, d := range []struct {
		action clientv3.DowngradeAction
		to     string
		want   error
	}{
		{clientv3.DowngradeValidate, "3.7.0", rpctypes.ErrInvalidDowngradeTargetVersion},
		{clientv3.DowngradeValidate, "3.6.0", nil},
		{clientv3.DowngradeValidate, "x", rpctypes.ErrWrongDowngradeVersionFormat},
		{clientv3.DowngradeEnable, "3.5.0", rpctypes.ErrInvalidDowngradeTargetVersion},
		{clientv3.DowngradeCancel, "", nil},
	} {
		if r, err := c.Downgrade(b.ctx, d.action, d.to); !errors.Is(err, d.want) || err == nil && r.Version != "3.7" {
			t.Errorf("downgrade %d to %s: %v %v, want %v", d.action, d.to, r, err, d.want)
		}
	}
	if a, err := c.AlarmList(b.ctx); err != nil || len(a.Alarms) > 0 {
		t.Errorf("alarms: %v %v", a, err)
	}
}

// What grows beyond the quota raises the alarm; compacting, defragmenting and
// disarming takes it away.
func TestQuota(t *testing.T) {
	s, err := raftstore.Open(raftstore.Config{NoSync: true, Quota: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, s)
	c := b.client()
	var rev int64
	for {
		r, err := c.Put(b.ctx, "k", strings.Repeat("v", 100_000))
		if err == nil {
			rev = r.Header.Revision
			continue
		}
		if !errors.Is(err, rpctypes.ErrNoSpace) {
			t.Fatal(err)
		}
		break
	}
	a, err := c.AlarmList(b.ctx)
	if err != nil || len(a.Alarms) == 0 {
		t.Fatalf("alarms: %v %v", a, err)
	}
	if _, err := c.Delete(b.ctx, "nothing"); err != nil {
		t.Errorf("delete under the alarm: %v", err)
	}
	resp, body := b.get("/health", nil)
	if resp.StatusCode != http.StatusServiceUnavailable || strings.TrimSpace(body) != `{"health":"false","reason":"ALARM NOSPACE"}` {
		t.Errorf("health: %d %s", resp.StatusCode, body)
	}
	if _, err := c.Compact(b.ctx, rev); err != nil {
		t.Fatal(err)
	}
	for _, e := range b.server.Endpoints {
		if _, err := c.Defragment(b.ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.AlarmDisarm(b.ctx, &clientv3.AlarmMember{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(b.ctx, "k", "1"); err != nil {
		t.Errorf("put after the alarm: %v", err)
	}
}

// get asks over plain HTTP.
func (b *bench) get(path string, cfg *tls.Config) (*http.Response, string) {
	b.t.Helper()
	scheme := "http://"
	if cfg != nil {
		scheme = "https://"
	}
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: cfg}, Timeout: 20 * time.Second}
	defer hc.CloseIdleConnections()
	resp, err := hc.Get(scheme + b.server.Addr + path)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp, string(body)
}

func TestPlainHTTPOnTheSamePort(t *testing.T) {
	b := newBench(t, replicated(t))
	b.put("a", "1")
	for path, want := range map[string]string{
		"/health":                   `{"health":"true","reason":""}`,
		"/health?serializable=true": `{"health":"true","reason":""}`,
		"/livez":                    "ok\n",
		"/livez?verbose":            "[+]serializable_read ok\nok\n",
		"/readyz":                   "ok\n",
		"/readyz/linearizable_read": "ok\n",
		"/readyz?verbose&exclude=serializable_read&exclude=linearizable_read": "[+]data_corruption ok\n[+]non_learner ok\nok\n",
		"/version": `{"etcdserver":"3.7.3","etcdcluster":"3.7.0","storage":"3.7.0"}`,
	} {
		if resp, body := b.get(path, nil); resp.StatusCode != http.StatusOK || body != want {
			t.Errorf("%s: %d %q, want %q", path, resp.StatusCode, body, want)
		}
	}
	resp, body := b.get("/metrics", nil)
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	for _, line := range []string{
		"etcd_server_has_leader 1", `etcd_server_version{server_version="3.7.3"} 1`, "etcd_mvcc_put_total 1",
		"etcd_debugging_mvcc_current_revision 2", "etcd_server_quota_backend_bytes 2.147483648e+09",
		"# TYPE etcd_disk_wal_fsync_duration_seconds histogram",
		`grpc_server_handled_total{grpc_code="OK",grpc_method="Put",grpc_service="etcdserverpb.KV",grpc_type="unary"} 1`,
	} {
		if !strings.Contains(body, "\n"+line+"\n") {
			t.Errorf("no line %q in /metrics", line)
		}
	}
	post, err := http.Post("http://"+b.server.Addr+"/v3/kv/range", "application/json", strings.NewReader(`{"key":"YQ=="}`))
	if err != nil {
		t.Fatal(err)
	}
	defer post.Body.Close()
	// protojson puts blanks where it likes.
	if body, err := io.ReadAll(post.Body); err != nil || !strings.Contains(strings.ReplaceAll(string(body), " ", ""), `"key":"YQ==","create_revision":"2","mod_revision":"2","version":"1","value":"MQ=="`) {
		t.Errorf("JSON: %s %v", body, err)
	}
}

func TestTLS(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	certs, err := etcdapi.MakeTLS(dir)
	if err != nil {
		t.Fatal(err)
	}
	store := raftstore.OpenBare()
	server, err := etcdapi.Serve(store, etcdapi.Config{TLS: certs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	b := &bench{t: t, ctx: t.Context(), server: server}
	cfg, err := certs.Client()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addresses()[0].URL}, TLS: cfg, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Put(ctx, "a", "1"); err != nil {
		t.Fatal(err)
	}
	if resp, body := b.get("/health", cfg); body != `{"health":"true","reason":""}` || resp.TLS.Version != tls.VersionTLS13 {
		t.Errorf("health: %s over %x", body, resp.TLS.Version)
	}
	// Nobody without a certificate, with a foreign one, in the clear, or with an old TLS.
	other, err := etcdapi.MakeTLS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.Client()
	if err != nil {
		t.Fatal(err)
	}
	foreign.RootCAs = cfg.RootCAs
	old := cfg.Clone()
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	for what, bad := range map[string]*tls.Config{"no certificate": {RootCAs: cfg.RootCAs}, "a foreign certificate": foreign, "TLS 1.1": old, "no TLS": nil} {
		hc := &http.Client{Transport: &http.Transport{TLSClientConfig: bad}}
		scheme := "https://"
		if bad == nil {
			scheme = "http://"
		}
		if resp, err := hc.Get(scheme + server.Addr + "/health"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				t.Errorf("%s was let in", what)
			}
		}
		hc.CloseIdleConnections()
	}
	// The files stay, and only their owner reads them.
	again, err := etcdapi.MakeTLS(dir)
	if err != nil || again.Cert != certs.Cert {
		t.Fatal(err)
	}
	if later, err := again.Client(); err != nil || string(later.Certificates[0].Certificate[0]) != string(cfg.Certificates[0].Certificate[0]) {
		t.Errorf("the certificates were made anew: %v", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 6 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f.Name(), info.Mode(), err)
		}
	}
	if err := os.WriteFile(certs.CA, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := etcdapi.MakeTLS(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("a damaged certificate: %v", err)
	}
}

// A certificate's common name is a user, as soon as users count.
func TestACertificateCanNameAUser(t *testing.T) {
	certs, err := etcdapi.MakeTLS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store := raftstore.OpenBareWith(raftstore.Config{BcryptCost: 4})
	server, err := etcdapi.Serve(store, etcdapi.Config{TLS: certs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	connect := func(cert, key string) *clientv3.Client {
		cfg, err := certs.Client()
		if err != nil {
			t.Fatal(err)
		}
		if cert != "" {
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Certificates = []tls.Certificate{pair}
		}
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{server.Addresses()[0].URL}, TLS: cfg, Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	nobody := connect("", "")
	root := connect(issue(t, certs, "root"))
	for _, fn := range []func() error{
		func() error { _, err := nobody.UserAdd(ctx, "root", "r"); return err },
		func() error { _, err := nobody.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := nobody.AuthEnable(ctx); return err },
		func() error { _, err := root.Put(ctx, "a", "1"); return err },
	} {
		if err := fn(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := nobody.Get(ctx, "a"); !errors.Is(err, rpctypes.ErrUserEmpty) {
		t.Errorf("nobody: %v", err)
	}
	if _, err := connect(issue(t, certs, "mallory")).Get(ctx, "a"); !errors.Is(err, rpctypes.ErrPermissionDenied) {
		t.Errorf("a user that there is not: %v", err)
	}
	if _, _, err := certs.Issue("../x"); err == nil {
		t.Error("a user's name left the folder")
	}
}

func issue(t *testing.T, certs *etcdapi.TLS, user string) (cert, key string) {
	t.Helper()
	cert, key, err := certs.Issue(user)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}
