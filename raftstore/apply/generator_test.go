package apply

import (
	"fmt"
	"math/rand/v2"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/mvcc"
)

// generator makes requests of every kind that etcd's log knows, valid and not,
// over few keys, users and leases, so that they meet.
type generator struct {
	*rand.Rand
	calm         bool  // no users, no alarms, and little that is wrong
	rev, compact int64 // of the store
	authRev      uint64
	authOn       bool
	hash         string // a password's
	tokens       []string
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 99)), hash: hashOf("secret")}
}

// see takes note of what requests may refer to.
func (g *generator) see(s *State) {
	g.rev, g.compact = s.KV.Revision(), s.KV.CompactRevision()
	g.authRev, g.authOn = s.auth.Revision(), s.auth.IsAuthEnabled()
}

func (g *generator) one(of int) bool { return g.IntN(of) == 0 }

func pick[T any](g *generator, of ...T) T { return of[g.IntN(len(of))] }

func (g *generator) request() *pb.InternalRaftRequest {
	r := g.body()
	switch {
	case g.calm:
	case g.one(8): // nobody
	case g.one(12):
		r.Header = &pb.RequestHeader{Username: pick(g, users...), AuthRevision: max(1, g.authRev) - 1}
	default:
		r.Header = &pb.RequestHeader{Username: pick(g, append([]string{"root", "root", "root"}, users...)...), AuthRevision: g.authRev}
	}
	return r
}

func (g *generator) body() *pb.InternalRaftRequest {
	most := 100
	if g.calm {
		most = 85
	}
	switch n := g.IntN(most); {
	case n < 28:
		return &pb.InternalRaftRequest{Put: g.put()}
	case n < 45:
		return &pb.InternalRaftRequest{Range: g.rangeRequest()}
	case n < 53:
		return &pb.InternalRaftRequest{DeleteRange: g.deleteRange()}
	case n < 75:
		r := g.txn(0)
		bound(r.Success)
		bound(r.Failure)
		return &pb.InternalRaftRequest{Txn: r}
	case n < 77:
		return &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: g.revision(), Physical: g.one(2)}}
	case n < 81:
		return &pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{ID: g.Int64N(6), TTL: pick[int64](g, 0, 1, 2, 60, mvcc.MaxLeaseTTL, mvcc.MaxLeaseTTL+1)}}
	case n < 84:
		return &pb.InternalRaftRequest{LeaseRevoke: &pb.LeaseRevokeRequest{ID: g.Int64N(6)}}
	case n < 85:
		return &pb.InternalRaftRequest{LeaseCheckpoint: &pb.LeaseCheckpointRequest{Checkpoints: []*pb.LeaseCheckpoint{
			{ID: g.Int64N(6), Remaining_TTL: g.Int64N(40)}, {ID: g.Int64N(6), Remaining_TTL: g.Int64N(40)},
		}}}
	case n < 88:
		return &pb.InternalRaftRequest{Alarm: g.alarm()}
	case n < 89 && g.one(3):
		return &pb.InternalRaftRequest{DowngradeVersionTest: &pb.DowngradeVersionTestRequest{}}
	default:
		return g.authRequest()
	}
}

// Keys are few; some requests name none, or one that is no UTF-8.
func (g *generator) key() []byte {
	if g.one(60) && (!g.calm || g.one(20)) {
		return nil
	}
	if g.one(40) {
		return []byte{0xff, byte(g.IntN(3))}
	}
	return fmt.Appendf(nil, "%c%c", 'a'+rune(g.IntN(4)), '0'+rune(g.IntN(8)))
}

func (g *generator) end(key []byte) []byte {
	switch g.IntN(8) {
	case 0:
		return []byte{0}
	case 1, 2:
		return g.key()
	case 3:
		if len(key) > 0 {
			return append(append([]byte(nil), key[:len(key)-1]...), key[len(key)-1]+1)
		}
	case 4:
		return []byte("d")
	}
	return nil
}

func (g *generator) value() []byte {
	switch g.IntN(10) {
	case 0:
		return nil
	case 1:
		return make([]byte, g.IntN(3000))
	}
	return fmt.Appendf(nil, "v%d", g.IntN(5))
}

func (g *generator) revision() int64 {
	switch g.IntN(12) {
	case 0:
		return g.rev + g.Int64N(3)
	case 1:
		return g.compact + g.Int64N(3) - 1
	case 2:
		return -1
	}
	return max(1, g.rev-g.Int64N(40))
}

func (g *generator) put() *pb.PutRequest {
	r := &pb.PutRequest{Key: g.key(), PrevKv: g.one(3)}
	r.IgnoreValue, r.IgnoreLease = g.one(12), g.one(12)
	if !r.IgnoreValue || g.one(8) {
		r.Value = g.value()
	}
	if !r.IgnoreLease && g.one(4) || g.one(40) {
		r.Lease = g.Int64N(6)
	}
	return r
}

func (g *generator) deleteRange() *pb.DeleteRangeRequest {
	k := g.key()
	r := &pb.DeleteRangeRequest{Key: k, PrevKv: g.one(3)}
	if g.one(3) {
		r.RangeEnd = g.end(k)
	}
	return r
}

func (g *generator) rangeRequest() *pb.RangeRequest {
	k := g.key()
	r := &pb.RangeRequest{Key: k, RangeEnd: g.end(k), CountOnly: g.one(10), KeysOnly: g.one(6)}
	if g.one(2) {
		r.RangeEnd = []byte{0}
	}
	if g.one(3) {
		r.Revision = g.revision()
	}
	if g.one(3) {
		r.Limit = g.Int64N(6) - 1
	}
	if g.one(3) {
		r.SortTarget = pb.RangeRequest_SortTarget(g.IntN(5))
		r.SortOrder = pb.RangeRequest_SortOrder(g.IntN(3))
	}
	if g.one(50) {
		r.SortTarget = 7
	}
	for _, f := range []*int64{&r.MinModRevision, &r.MaxModRevision, &r.MinCreateRevision, &r.MaxCreateRevision} {
		if g.one(12) {
			*f = g.revision()
		}
	}
	return r
}

func (g *generator) txn(depth int) *pb.TxnRequest {
	r := &pb.TxnRequest{}
	for range g.IntN(3) {
		r.Compare = append(r.Compare, g.compare())
	}
	many := 4
	switch {
	case g.one(120):
		many = 140
	case g.calm:
		many = 3
	}
	r.Success, r.Failure = g.ops(depth, g.IntN(many)), g.ops(depth, g.IntN(4))
	return r
}

func (g *generator) ops(depth, n int) []*pb.RequestOp {
	reading := g.one(5)
	var ops []*pb.RequestOp
	for range n {
		op := &pb.RequestOp{}
		switch k := g.IntN(20); {
		case k == 0 && g.one(8): // no request at all
		case reading || k < 6:
			op.Request = &pb.RequestOp_RequestRange{RequestRange: g.rangeRequest()}
		case k < 13:
			op.Request = &pb.RequestOp_RequestPut{RequestPut: g.put()}
		case k < 16 || depth > 2:
			op.Request = &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: g.deleteRange()}
		default:
			op.Request = &pb.RequestOp_RequestTxn{RequestTxn: g.txn(depth + 1)}
		}
		ops = append(ops, op)
	}
	return ops
}

// bound gives the open-ended deletes of a transaction an end. etcd's check does not
// see that one meets a put of the same transaction; then a key is written and deleted
// at one revision, and after a compaction there etcd 3.7.3 ends the whole process at
// the next range over it ("range failed to find revision pair").
func bound(ops []*pb.RequestOp) {
	for _, op := range ops {
		if d := op.GetRequestDeleteRange(); d != nil && string(d.RangeEnd) == "\x00" {
			d.RangeEnd = []byte{0xff, 0xff}
		}
		if t := op.GetRequestTxn(); t != nil {
			bound(t.Success)
			bound(t.Failure)
		}
	}
}

func (g *generator) compare() *pb.Compare {
	k := g.key()
	c := &pb.Compare{Key: k, Target: pb.Compare_CompareTarget(g.IntN(5)), Result: pb.Compare_CompareResult(g.IntN(4))}
	if g.one(4) {
		c.RangeEnd = g.end(k)
	}
	n := g.Int64N(4)
	if g.one(2) {
		n = g.revision()
	}
	switch c.Target {
	case pb.Compare_VERSION:
		c.TargetUnion = &pb.Compare_Version{Version: g.Int64N(5)}
	case pb.Compare_CREATE:
		c.TargetUnion = &pb.Compare_CreateRevision{CreateRevision: n}
	case pb.Compare_MOD:
		c.TargetUnion = &pb.Compare_ModRevision{ModRevision: n}
	case pb.Compare_VALUE:
		c.TargetUnion = &pb.Compare_Value{Value: g.value()}
	case pb.Compare_LEASE:
		c.TargetUnion = &pb.Compare_Lease{Lease: g.Int64N(6)}
	}
	if g.one(30) {
		c.TargetUnion = nil
	}
	return c
}

func (g *generator) alarm() *pb.AlarmRequest {
	r := &pb.AlarmRequest{Action: pick(g, pb.AlarmRequest_GET, pb.AlarmRequest_ACTIVATE, pb.AlarmRequest_DEACTIVATE, pb.AlarmRequest_DEACTIVATE, pb.AlarmRequest_DEACTIVATE)}
	r.Alarm = pick(g, pb.AlarmType_NONE, pb.AlarmType_NOSPACE, pb.AlarmType_NOSPACE, pb.AlarmType_CORRUPT)
	r.MemberID = pick[uint64](g, 1, 2)
	return r
}

var (
	users = []string{"root", "ann", "bob", ""}
	roles = []string{"root", "reader", "writer", ""}
)

func (g *generator) authRequest() *pb.InternalRaftRequest {
	user, role := pick(g, users...), pick(g, roles...)
	switch g.IntN(18) {
	case 0, 1:
		return &pb.InternalRaftRequest{AuthEnable: &pb.AuthEnableRequest{}}
	case 2:
		return &pb.InternalRaftRequest{AuthDisable: &pb.AuthDisableRequest{}}
	case 3:
		return &pb.InternalRaftRequest{AuthStatus: &pb.AuthStatusRequest{}}
	case 4, 5:
		g.tokens = append(g.tokens, fmt.Sprintf("token%d", len(g.tokens)))
		return &pb.InternalRaftRequest{Authenticate: &pb.InternalAuthenticateRequest{Name: user, SimpleToken: g.tokens[len(g.tokens)-1]}}
	case 6, 7:
		r := &pb.AuthUserAddRequest{Name: user, HashedPassword: g.hash, Options: pick(g, userOptions...)}
		if g.one(10) {
			r.HashedPassword = "not base64!"
		}
		return &pb.InternalRaftRequest{AuthUserAdd: r}
	case 8:
		if g.one(3) {
			return &pb.InternalRaftRequest{AuthUserDelete: &pb.AuthUserDeleteRequest{Name: user}}
		}
		return &pb.InternalRaftRequest{AuthUserChangePassword: &pb.AuthUserChangePasswordRequest{Name: user, HashedPassword: g.hash}}
	case 9, 10:
		return &pb.InternalRaftRequest{AuthUserGrantRole: &pb.AuthUserGrantRoleRequest{User: user, Role: role}}
	case 11:
		return &pb.InternalRaftRequest{AuthUserGet: &pb.AuthUserGetRequest{Name: user}}
	case 12:
		if g.one(2) {
			return &pb.InternalRaftRequest{AuthUserList: &pb.AuthUserListRequest{}}
		}
		return &pb.InternalRaftRequest{AuthRoleList: &pb.AuthRoleListRequest{}}
	case 13:
		if g.one(3) {
			return &pb.InternalRaftRequest{AuthUserRevokeRole: &pb.AuthUserRevokeRoleRequest{Name: user, Role: role}}
		}
		return &pb.InternalRaftRequest{AuthRoleAdd: &pb.AuthRoleAddRequest{Name: role}}
	case 14:
		return &pb.InternalRaftRequest{AuthRoleAdd: &pb.AuthRoleAddRequest{Name: role}}
	case 15:
		return &pb.InternalRaftRequest{AuthRoleGet: &pb.AuthRoleGetRequest{Role: role}}
	case 16:
		if g.one(4) {
			return &pb.InternalRaftRequest{AuthRoleDelete: &pb.AuthRoleDeleteRequest{Role: role}}
		}
		if k := g.key(); g.one(2) {
			return &pb.InternalRaftRequest{AuthRoleRevokePermission: &pb.AuthRoleRevokePermissionRequest{Role: role, Key: k, RangeEnd: g.end(k)}}
		}
	}
	p := &authpb.Permission{PermType: authpb.Permission_Type(g.IntN(3)), Key: g.key()}
	p.RangeEnd = g.end(p.Key)
	if g.one(3) {
		p.Key, p.RangeEnd = []byte{0}, []byte{0}
	}
	if g.one(30) {
		p = nil
	}
	return &pb.InternalRaftRequest{AuthRoleGrantPermission: &pb.AuthRoleGrantPermissionRequest{Name: role, Perm: p}}
}
