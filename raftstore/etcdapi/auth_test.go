package etcdapi_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// onCheap runs a test over both stores, which hash passwords cheaply.
func onCheap(t *testing.T, test func(t *testing.T, b *bench)) {
	both(t, raftstore.Config{NoSync: true, BcryptCost: 4}, test)
}

// guarded is a store with root and ann, who may read r to s, write w to x and
// do both with the key "both"; authentication is on.
type guarded struct {
	*bench
	auth pb.AuthClient
}

func guard(b *bench) *guarded {
	b.t.Helper()
	g := &guarded{b, pb.NewAuthClient(b.conns[0])}
	must := func(_ any, err error) {
		b.t.Helper()
		if err != nil {
			b.t.Fatal(err)
		}
	}
	for _, user := range []string{"root", "ann"} {
		must(g.auth.UserAdd(b.ctx, &pb.AuthUserAddRequest{Name: user, Password: user + "'s"}))
		must(g.auth.RoleAdd(b.ctx, &pb.AuthRoleAddRequest{Name: user}))
		must(g.auth.UserGrantRole(b.ctx, &pb.AuthUserGrantRoleRequest{User: user, Role: user}))
	}
	for _, p := range []*authpb.Permission{
		{PermType: authpb.READ, Key: []byte("r"), RangeEnd: []byte("s")},
		{PermType: authpb.WRITE, Key: []byte("w"), RangeEnd: []byte("x")},
		{PermType: authpb.READWRITE, Key: []byte("both")},
	} {
		must(g.auth.RoleGrantPermission(b.ctx, &pb.AuthRoleGrantPermissionRequest{Name: "ann", Perm: p}))
	}
	must(g.auth.AuthEnable(b.ctx, &pb.AuthEnableRequest{}))
	return g
}

// login gives a token.
func (g *guarded) login(user string) string {
	g.t.Helper()
	r, err := g.auth.Authenticate(g.ctx, &pb.AuthenticateRequest{Name: user, Password: user + "'s"})
	if err != nil {
		g.t.Fatalf("%s logs in: %v", user, err)
	}
	return r.Token
}

func (g *guarded) with(token string) context.Context {
	return metadata.AppendToOutgoingContext(g.ctx, rpctypes.TokenFieldNameGRPC, token)
}

func (g *guarded) as(user string) context.Context { return g.with(g.login(user)) }

// same reports whether an error is one of etcd's; nil is none.
func same(err, want error) bool {
	return status.Code(err) == status.Code(want) && status.Convert(err).Message() == status.Convert(want).Message()
}

// Every part of a range must be permitted, and what a Txn compares, reads and
// deletes as well.
func TestPermissionsAreOfRanges(t *testing.T) { onCheap(t, testPermissions) }

func testPermissions(t *testing.T, b *bench) {
	g := guard(b)
	ann := g.as("ann")
	denied := rpctypes.ErrGRPCPermissionDenied
	for _, c := range []struct {
		key, end string
		want     error
	}{
		{"r", "s", nil},
		{"r1", "", nil},
		{"rz", "s", nil},
		{"both", "", nil},
		{"r", "s1", denied},
		{"q", "s", denied},
		{"s", "", denied},
		{"r", "\x00", denied},
		{"w", "x", denied},
		{"both", "both1", denied},
		{"\x00", "\x00", denied},
	} {
		if _, err := g.kv().Range(ann, &pb.RangeRequest{Key: []byte(c.key), RangeEnd: []byte(c.end)}); !same(err, c.want) {
			t.Errorf("read %q to %q: %v, want %v", c.key, c.end, err, c.want)
		}
	}
	for _, c := range []struct {
		what string
		req  func() error
		want error
	}{
		{"put", func() error { _, err := g.kv().Put(ann, &pb.PutRequest{Key: []byte("w")}); return err }, nil},
		{"put and read what was", func() error { _, err := g.kv().Put(ann, &pb.PutRequest{Key: []byte("w"), PrevKv: true}); return err }, denied},
		{"put both and read what was", func() error { _, err := g.kv().Put(ann, &pb.PutRequest{Key: []byte("both"), PrevKv: true}); return err }, nil},
		{"delete too much", func() error {
			_, err := g.kv().DeleteRange(ann, &pb.DeleteRangeRequest{Key: []byte("w"), RangeEnd: []byte("y")})
			return err
		}, denied},
		{"compare what may not be read", func() error {
			_, err := g.kv().Txn(ann, &pb.TxnRequest{Compare: []*pb.Compare{{Key: []byte("w")}}, Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte("w")}}}}})
			return err
		}, denied},
		{"a branch that is not taken", func() error {
			_, err := g.kv().Txn(ann, &pb.TxnRequest{Failure: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte("r")}}}}})
			return err
		}, denied},
		{"compact", func() error { _, err := g.kv().Compact(ann, &pb.CompactionRequest{Revision: 1}); return err }, denied},
		{"nobody", func() error { _, err := g.kv().Range(g.ctx, &pb.RangeRequest{Key: []byte("r")}); return err }, rpctypes.ErrGRPCUserEmpty},
	} {
		if err := c.req(); !same(err, c.want) {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
}

// Who may not read may not watch. What is open stays open when the role is taken
// away; nothing new can be opened.
func TestWatchUnderAuth(t *testing.T) { onCheap(t, testWatchUnderAuth) }

func testWatchUnderAuth(t *testing.T, b *bench) {
	g := guard(b)
	stream, err := pb.NewWatchClient(b.conns[0]).Watch(g.as("ann"))
	if err != nil {
		t.Fatal(err)
	}
	w := &watch{t, stream}
	refused := func(r *pb.WatchCreateRequest, want error) {
		t.Helper()
		if got := w.create(r); !got.Canceled || got.WatchId != -1 || got.CancelReason != want.Error() {
			t.Errorf("%v: %v", r, got)
		}
	}
	refused(&pb.WatchCreateRequest{Key: []byte("w")}, rpctypes.ErrGRPCPermissionDenied)
	refused(&pb.WatchCreateRequest{Key: []byte("r"), RangeEnd: []byte{0}}, rpctypes.ErrGRPCPermissionDenied)
	w.create(&pb.WatchCreateRequest{Key: []byte("r"), RangeEnd: []byte("s")})
	root := g.as("root")
	if _, err := g.auth.UserRevokeRole(root, &pb.AuthUserRevokeRoleRequest{Name: "ann", Role: "ann"}); err != nil {
		t.Fatal(err)
	}
	if _, err := g.kv().Put(root, &pb.PutRequest{Key: []byte("r1"), Value: []byte("after")}); err != nil {
		t.Fatal(err)
	}
	w.expect("0: 2 PUT r1=after")
	refused(&pb.WatchCreateRequest{Key: []byte("r"), RangeEnd: []byte("s")}, rpctypes.ErrGRPCPermissionDenied)
	if _, err := g.kv().Range(g.as("ann"), &pb.RangeRequest{Key: []byte("r1")}); !same(err, rpctypes.ErrGRPCPermissionDenied) {
		t.Errorf("a read after the role was taken: %v", err)
	}
}

// A lease is its keys': who may not write them all may not renew or revoke it.
func TestLeaseUnderAuth(t *testing.T) { onCheap(t, testLeaseUnderAuth) }

func testLeaseUnderAuth(t *testing.T, b *bench) {
	g := guard(b)
	root, ann := g.as("root"), g.as("ann")
	leases := pb.NewLeaseClient(b.conns[0])
	for id := range int64(2) {
		if _, err := leases.LeaseGrant(ann, &pb.LeaseGrantRequest{ID: id + 1, TTL: 600}); err != nil {
			t.Fatal(err)
		}
	}
	for key, id := range map[string]int64{"both": 1, "secret": 2} {
		if _, err := g.kv().Put(root, &pb.PutRequest{Key: []byte(key), Lease: id}); err != nil {
			t.Fatal(err)
		}
	}
	renew := func(ctx context.Context, id int64) error {
		s, err := leases.LeaseKeepAlive(ctx)
		if err == nil {
			err = s.Send(&pb.LeaseKeepAliveRequest{ID: id})
		}
		if err == nil {
			_, err = s.Recv()
		}
		return err
	}
	keys := func(ctx context.Context, id int64) error {
		_, err := leases.LeaseTimeToLive(ctx, &pb.LeaseTimeToLiveRequest{ID: id, Keys: true})
		return err
	}
	list := func(ctx context.Context) error {
		_, err := leases.LeaseLeases(ctx, &pb.LeaseLeasesRequest{})
		return err
	}
	denied, empty := rpctypes.ErrGRPCPermissionDenied, rpctypes.ErrGRPCUserEmpty
	for what, c := range map[string]struct{ got, want error }{
		"ann renews her own":         {renew(ann, 1), nil},
		"ann renews the other":       {renew(ann, 2), denied},
		"nobody renews":              {renew(g.ctx, 1), empty},
		"root renews":                {renew(root, 2), nil},
		"ann sees the other's keys":  {keys(ann, 2), denied},
		"ann lists the leases":       {list(ann), denied},
		"root lists the leases":      {list(root), nil},
		"nobody lists the leases":    {list(g.ctx), empty},
		"ann puts into the other":    {g.attach(ann, "w1", 2), denied},
		"root sees the other's keys": {keys(root, 2), nil},
	} {
		if !same(c.got, c.want) {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
	for id, want := range map[int64]error{2: denied, 1: nil} {
		if _, err := leases.LeaseRevoke(ann, &pb.LeaseRevokeRequest{ID: id}); !same(err, want) {
			t.Errorf("ann revokes %d: %v, want %v", id, err, want)
		}
	}
}

func (g *guarded) attach(ctx context.Context, key string, lease int64) error {
	_, err := g.kv().Put(ctx, &pb.PutRequest{Key: []byte(key), Lease: lease})
	return err
}

// A simple token is forgotten after five minutes in which nobody used it.
func TestASimpleTokenIsForgotten(t *testing.T) { steady.Bubble(t, testASimpleTokenIsForgotten) }

func testASimpleTokenIsForgotten(t *testing.T) {
	clock := &stillClock{}
	g := guard(newBench(t, raftstore.OpenBareWith(raftstore.Config{Clock: clock, BcryptCost: 4})))
	ann := g.as("ann")
	read := func(want error) {
		t.Helper()
		if _, err := g.kv().Range(ann, &pb.RangeRequest{Key: []byte("r")}); !same(err, want) {
			t.Errorf("after %v: %v, want %v", clock.Now(), err, want)
		}
	}
	for range 3 {
		clock.pass(4 * time.Minute)
		read(nil)
	}
	clock.pass(5*time.Minute + time.Second)
	read(rpctypes.ErrGRPCInvalidAuthToken)
	ann = g.as("ann")
	read(nil)
}

// stillClock stands still unless it is told how much time passes.
type stillClock struct {
	mu  sync.Mutex
	now time.Duration
}

func (c *stillClock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *stillClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += d
}

// AfterFunc never calls: no lease runs out.
func (c *stillClock) AfterFunc(time.Duration, func()) (stop func()) { return func() {} }

// Signed tokens, with real keys: whoever has one is known at every member; one
// that another key signed, or that has run out, is worth nothing; and one from
// before users changed has to be asked for anew.
func TestSignedTokens(t *testing.T) {
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, foreign, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for method, keys := range map[jwt.SigningMethod][2]any{
		jwt.SigningMethodEdDSA: {ed, ed.Public()},
		jwt.SigningMethodRS256: {rs, &rs.PublicKey},
	} {
		t.Run(method.Alg(), func(t *testing.T) {
			dir := t.TempDir()
			config := fmt.Sprintf("jwt,pub-key=%s,priv-key=%s,sign-method=%s,ttl=10m", pemFile(t, dir, "public", keys[1]), pemFile(t, dir, "private", keys[0]), method.Alg())
			steady.Bubble(t, func(t *testing.T) {
				s, err := raftstore.Open(raftstore.Config{NoSync: true, AuthToken: config, BcryptCost: 4})
				if err != nil {
					t.Fatal(err)
				}
				testSigned(t, guard(newBench(t, s)), method, keys, foreign)
			})
		})
	}
}

func testSigned(t *testing.T, g *guarded, method jwt.SigningMethod, keys [2]any, foreign ed25519.PrivateKey) {
	token := g.login("ann")
	claims := jwt.MapClaims{}
	if _, err := jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return keys[1], nil }); err != nil || claims["username"] != "ann" {
		t.Fatalf("%v: %v", claims, err)
	}
	read := func(at int, token string) error {
		_, err := pb.NewKVClient(g.conns[at]).Range(g.with(token), &pb.RangeRequest{Key: []byte("r")})
		return err
	}
	for at := range g.conns {
		if err := read(at, token); err != nil {
			t.Errorf("member %d: %v", at, err)
		}
	}
	sign := func(method jwt.SigningMethod, key any, expires time.Time) string {
		t.Helper()
		signed, err := jwt.NewWithClaims(method, jwt.MapClaims{"username": "root", "revision": claims["revision"], "exp": expires.Unix()}).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return signed
	}
	for what, forged := range map[string]string{
		"another key's": sign(jwt.SigningMethodEdDSA, foreign, time.Now().Add(time.Hour)),
		"yesterday's":   sign(method, keys[0], time.Now().Add(-24*time.Hour)),
		"no token":      "ann.1",
	} {
		if err := read(0, forged); !same(err, rpctypes.ErrGRPCInvalidAuthToken) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := g.auth.Authenticate(g.ctx, &pb.AuthenticateRequest{Name: "ann", Password: "wrong"}); !same(err, rpctypes.ErrGRPCAuthFailed) {
		t.Errorf("a wrong password: %v", err)
	}
	if _, err := g.auth.RoleAdd(g.as("root"), &pb.AuthRoleAddRequest{Name: "more"}); err != nil {
		t.Fatal(err)
	}
	if err := read(0, token); !same(err, rpctypes.ErrGRPCAuthOldRevision) {
		t.Errorf("from before users changed: %v", err)
	}
	if err := read(0, g.login("ann")); err != nil {
		t.Error(err)
	}
}

func pemFile(t *testing.T, dir, name string, key any) string {
	t.Helper()
	var block pem.Block
	var err error
	if name == "public" {
		block.Type = "PUBLIC KEY"
		block.Bytes, err = x509.MarshalPKIXPublicKey(key)
	} else {
		block.Type = "PRIVATE KEY"
		block.Bytes, err = x509.MarshalPKCS8PrivateKey(key)
	}
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name+".pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&block), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
