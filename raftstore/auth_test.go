package raftstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/auth"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc/metadata"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

var cheapAuth = raftstore.Config{BcryptCost: bcrypt.MinCost}

// guard makes root, and ann who may read and write keys from a to b, and turns
// auth on.
func guard(t testing.TB, s raftstore.Store) {
	t.Helper()
	for _, r := range []*pb.InternalRaftRequest{
		{AuthUserAdd: &pb.AuthUserAddRequest{Name: "root", Password: "rootpw"}},
		{AuthRoleAdd: &pb.AuthRoleAddRequest{Name: "root"}},
		{AuthUserGrantRole: &pb.AuthUserGrantRoleRequest{User: "root", Role: "root"}},
		{AuthUserAdd: &pb.AuthUserAddRequest{Name: "ann", Password: "annpw"}},
		{AuthRoleAdd: &pb.AuthRoleAddRequest{Name: "as"}},
		{AuthRoleGrantPermission: &pb.AuthRoleGrantPermissionRequest{Name: "as", Perm: &authpb.Permission{PermType: authpb.Permission_READWRITE, Key: []byte("a"), RangeEnd: []byte("b")}}},
		{AuthUserGrantRole: &pb.AuthUserGrantRoleRequest{User: "ann", Role: "as"}},
		{AuthEnable: &pb.AuthEnableRequest{}},
	} {
		if res := call(s, r); res.Err != nil {
			t.Fatalf("%v: %v", r, res.Err)
		}
	}
}

func login(s raftstore.Store, name, password string) (token string, err error) {
	r := call(s, &pb.InternalRaftRequest{Authenticate: &pb.InternalAuthenticateRequest{Name: name, Password: password}})
	if r.Err != nil {
		return "", r.Err
	}
	return r.Response.(*pb.AuthenticateResponse).Token, nil
}

// whose asks an auth store for the owner of a token, as the gRPC layer does.
func whose(as auth.AuthStore, token string) (*pb.RequestHeader, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	info, err := as.AuthInfoFromCtx(metadata.NewIncomingContext(ctx, metadata.Pairs(rpctypes.TokenFieldNameGRPC, token)))
	if err != nil || info == nil {
		return nil, err
	}
	return &pb.RequestHeader{Username: info.Username, AuthRevision: info.Revision}, nil
}

// Who is who, what each may do, and what a token is worth.
func TestUsers(t *testing.T) {
	eachStore(t, cheapAuth, func(t *testing.T, s leaseStore, clock *handClock) {
		mustPut(t, s, "z", "before")
		guard(t, s)
		if r := call(s, putReq("a", "1")); !errors.Is(r.Err, rpctypes.ErrGRPCUserEmpty) {
			t.Errorf("a put by nobody: %v", r.Err)
		}
		if r := call(s, getReq("z")); !errors.Is(r.Err, rpctypes.ErrGRPCUserEmpty) {
			t.Errorf("a range by nobody: %v", r.Err)
		}
		if _, err := login(s, "ann", "wrong"); !errors.Is(err, rpctypes.ErrGRPCAuthFailed) {
			t.Errorf("a wrong password: %v", err)
		}
		token, err := login(s, "ann", "annpw")
		if err != nil {
			t.Fatal(err)
		}
		var ann *pb.RequestHeader
		for _, id := range members(s) {
			as, err := s.AuthStoreAt(id)
			if err != nil {
				t.Fatal(err)
			}
			steady.Until(t, "the member has heard of the token", func() bool {
				ann, err = whose(as, token)
				return ann != nil
			})
			if err != nil || ann.Username != "ann" {
				t.Fatalf("member %q takes the token for %v (%v)", id, ann, err)
			}
		}
		as := func(h *pb.RequestHeader, r *pb.InternalRaftRequest) error {
			return call(s, &pb.InternalRaftRequest{Header: h, Put: r.Put, Range: r.Range, AuthUserAdd: r.AuthUserAdd, LeaseGrant: r.LeaseGrant}).Err
		}
		serializable := getReq("z")
		serializable.Range.Serializable = true
		for what, c := range map[string]struct {
			req  *pb.InternalRaftRequest
			want error
		}{
			"writes what she may":     {putReq("abc", "1"), nil},
			"reads what she may":      {getReq("abc"), nil},
			"writes what she may not": {putReq("z", "1"), rpctypes.ErrGRPCPermissionDenied},
			"reads what she may not":  {getReq("z"), rpctypes.ErrGRPCPermissionDenied},
			"reads it serializably":   {serializable, rpctypes.ErrGRPCPermissionDenied},
			"adds a user":             {&pb.InternalRaftRequest{AuthUserAdd: &pb.AuthUserAddRequest{Name: "eve", Password: "x"}}, rpctypes.ErrGRPCPermissionDenied},
		} {
			if err := as(ann, c.req); err != c.want {
				t.Errorf("ann %s: %v, want %v", what, err, c.want)
			}
		}
		root := &pb.RequestHeader{Username: "root", AuthRevision: s.AuthStore().Revision()}
		if err := as(root, &pb.InternalRaftRequest{AuthUserAdd: &pb.AuthUserAddRequest{Name: "eve", Password: "x"}}); err != nil {
			t.Errorf("root adds a user: %v", err)
		}
		if err := as(ann, putReq("abc", "2")); !errors.Is(err, rpctypes.ErrGRPCAuthOldRevision) {
			t.Errorf("ann, as of before the change of users: %v", err)
		}
		clock.wait(6 * time.Minute)
		if _, err := whose(s.AuthStore(), token); !errors.Is(err, auth.ErrInvalidAuthToken) {
			t.Errorf("a token after five minutes in which nobody used it: %v", err)
		}
	})
}

// The lessor revokes as root.
func TestLeasesRunOutUnderAuth(t *testing.T) {
	eachStore(t, cheapAuth, func(t *testing.T, s leaseStore, clock *handClock) {
		id := grant(t, s, 5)
		left(t, s, id)
		putWithLease(t, s, "a", id)
		guard(t, s)
		root := &pb.RequestHeader{Username: "root", AuthRevision: s.AuthStore().Revision()}
		steady.Until(t, "the key's end", func() bool {
			clock.wait(5 * time.Second) // once more for every leader that takes over
			r := call(s, &pb.InternalRaftRequest{Header: root, Range: getReq("a").Range})
			return r.Err == nil && len(r.Response.(*pb.RangeResponse).Kvs) == 0
		})
	})
}

// A member that was away gets users with a snapshot and is the same as the others,
// and what the log holds is no password.
func TestUsersComeWithASnapshot(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		cfg := cheapAuth
		cfg.NoSync, cfg.SnapshotEvery, cfg.SnapshotTrailing = true, 8, 1
		s := open(t, cfg)
		mustPut(t, s, "k", "v")
		away := other(s.Leader())
		if err := s.Stop(away); err != nil {
			t.Fatal(err)
		}
		guard(t, s)
		root := func() *pb.RequestHeader {
			return &pb.RequestHeader{Username: "root", AuthRevision: s.AuthStore().Revision()}
		}
		for range 40 {
			r := call(s, &pb.InternalRaftRequest{Header: root(), Put: &pb.PutRequest{Key: []byte("a")}})
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		for _, id := range s.IDs() {
			if id != away {
				must(t, s.Snapshot(id))
			}
		}
		must(t, s.Restart(away))
		steady.Until(t, "the users", func() bool {
			as, err := s.AuthStoreAt(away)
			return err == nil && as.IsAuthEnabled() && as.Revision() == s.AuthStore().Revision()
		})
		as, err := s.AuthStoreAt(away)
		must(t, err)
		if _, err := as.CheckPassword("ann", "annpw"); err != nil {
			t.Errorf("ann's password at the member that was away: %v", err)
		}
	})
}

func TestTokensThatAreNone(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		if s, err := raftstore.Open(raftstore.Config{NoSync: true, AuthToken: "magic"}); err == nil {
			s.Close()
			t.Error("a store with magic tokens")
		}
	})
}
