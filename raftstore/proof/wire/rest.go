package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3election/v3electionpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

func sortLeases(r *pb.LeaseLeasesResponse) {
	if r != nil {
		slices.SortFunc(r.Leases, func(a, b *pb.LeaseStatus) int { return cmp.Compare(a.ID, b.ID) })
	}
}

// upkeep is the Maintenance service, and what all services have in common. An
// alarm that nobody knows, or an unknown thing done to one, is left out: etcd's
// process ends of it.
func upkeep(s *side) {
	ask(s, s.kv().Put, put("a", "1"))
	ask(s, s.upkeep().Status, &pb.StatusRequest{})
	s.turnTo(1)
	ask(s, s.kv().Range, get("a", "")) // so that the follower has applied something
	behind, err := s.upkeep().Status(s.who(), &pb.StatusRequest{})
	if err == nil {
		behind.Header = nil // etcd's follower may not have applied the last entry yet
	}
	s.say("Status of a follower", s.ended(behind, err))
	ask(s, s.upkeep().MoveLeader, &pb.MoveLeaderRequest{TargetID: 1})
	s.turnTo(0)
	ask(s, s.upkeep().MoveLeader, &pb.MoveLeaderRequest{TargetID: 1})
	ask(s, s.upkeep().MoveLeader, &pb.MoveLeaderRequest{})
	ask(s, s.upkeep().Hash, &pb.HashRequest{})
	ask(s, s.upkeep().HashKV, &pb.HashKVRequest{})
	ask(s, s.upkeep().Defragment, &pb.DefragmentRequest{})
	s.snapshot()
	alarm := func(action pb.AlarmRequest_AlarmAction, member uint64, kind pb.AlarmType) {
		ask(s, s.upkeep().Alarm, &pb.AlarmRequest{Action: action, MemberID: member, Alarm: kind})
	}
	alarm(pb.AlarmRequest_GET, 0, pb.AlarmType_NONE)
	alarm(pb.AlarmRequest_ACTIVATE, 1, pb.AlarmType_NOSPACE)
	alarm(pb.AlarmRequest_ACTIVATE, 1, pb.AlarmType_NOSPACE)
	alarm(pb.AlarmRequest_ACTIVATE, 2, pb.AlarmType_NOSPACE)
	alarm(pb.AlarmRequest_GET, 0, pb.AlarmType_NONE)
	alarm(pb.AlarmRequest_GET, 2, pb.AlarmType_NOSPACE)
	ask(s, s.upkeep().Status, &pb.StatusRequest{})
	ask(s, s.kv().Put, put("a", "2"))
	ask(s, s.kv().Put, put("", "2"))
	ask(s, s.kv().Txn, &pb.TxnRequest{Success: []*pb.RequestOp{opPut("a", "2")}})
	ask(s, s.kv().Txn, &pb.TxnRequest{Success: []*pb.RequestOp{opDelete("b", "")}})
	ask(s, s.kv().Txn, &pb.TxnRequest{Success: []*pb.RequestOp{opGet("a", "")}})
	ask(s, s.lease().LeaseGrant, &pb.LeaseGrantRequest{ID: 5, TTL: 60})
	ask(s, s.kv().DeleteRange, &pb.DeleteRangeRequest{Key: b("a")})
	s.page("GET", "/health", "")
	s.page("GET", "/health?exclude=NOSPACE", "")
	s.page("GET", "/readyz?verbose", "")
	alarm(pb.AlarmRequest_DEACTIVATE, 1, pb.AlarmType_NOSPACE)
	ask(s, s.kv().Put, put("a", "2"))
	alarm(pb.AlarmRequest_DEACTIVATE, 2, pb.AlarmType_NOSPACE)
	alarm(pb.AlarmRequest_DEACTIVATE, 2, pb.AlarmType_NOSPACE)
	ask(s, s.kv().Put, put("a", "2"))
	alarm(pb.AlarmRequest_ACTIVATE, 1, pb.AlarmType_CORRUPT)
	ask(s, s.kv().Put, put("a", "3"))
	ask(s, s.kv().Range, get("a", ""))
	ask(s, s.kv().Range, &pb.RangeRequest{Key: b("a"), Serializable: true})
	ask(s, s.kv().DeleteRange, &pb.DeleteRangeRequest{Key: b("a")})
	ask(s, s.kv().Compact, &pb.CompactionRequest{Revision: 2})
	ask(s, s.lease().LeaseGrant, &pb.LeaseGrantRequest{ID: 6, TTL: 60})
	ask(s, s.lease().LeaseRevoke, &pb.LeaseRevokeRequest{ID: 6})
	s.page("GET", "/health", "")
	s.page("GET", "/readyz?verbose", "")
	s.page("GET", "/livez", "")
	alarm(pb.AlarmRequest_DEACTIVATE, 1, pb.AlarmType_CORRUPT)
	common(s)
}

// common is what holds for every call.
func common(s *side) {
	ask(s, s.health().Check, &grpc_health_v1.HealthCheckRequest{})
	ask(s, s.health().Check, &grpc_health_v1.HealthCheckRequest{Service: "etcdserverpb.KV"})
	ask(s, s.health().List, &grpc_health_v1.HealthListRequest{})
	for _, method := range []string{"/etcdserverpb.KV/Nothing", "/nobody.Nothing/Nothing", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"} {
		err := s.conn().Invoke(s.who(), method, &emptypb.Empty{}, &emptypb.Empty{})
		s.say(method, s.ended(nil, err))
	}
	asking(s, metadata.AppendToOutgoingContext(s.ctx, "hasleader", "true"), s.kv().Range, get("a", ""))
	asking(s, metadata.AppendToOutgoingContext(s.ctx, "client-api-version", "\xff-bin"), s.kv().Range, get("a", ""))
	asking(s, metadata.AppendToOutgoingContext(s.ctx, "token", "nobody.1"), s.kv().Range, get("a", ""))
	late, cancel := context.WithDeadline(s.ctx, time.Now().Add(-time.Second))
	defer cancel()
	asking(s, late, s.kv().Range, get("a", ""))
	gone, cancel := context.WithCancel(s.ctx)
	cancel()
	asking(s, gone, s.kv().Put, put("a", ""))
	s.turnTo(1)
	asking(s, metadata.AppendToOutgoingContext(s.ctx, "hasleader", "true"), s.kv().Put, put("a", "4"))
	s.turnTo(0)
}

// snapshot is a backup: its pieces and the checksum at its end.
func (s *side) snapshot() {
	c, err := s.upkeep().Snapshot(s.who(), &pb.SnapshotRequest{})
	if err != nil {
		s.say("Snapshot", s.ended(nil, err))
		return
	}
	var all []byte
	version, last := "", uint64(0)
	for {
		r, err := c.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.say("Snapshot", s.ended(nil, err))
			return
		}
		all, version, last = append(all, r.Blob...), r.Version, r.RemainingBytes
	}
	if len(all) < sha256.Size {
		s.sayf("Snapshot", "%d bytes", len(all))
		return
	}
	body, sum := all[:len(all)-sha256.Size], all[len(all)-sha256.Size:]
	want := sha256.Sum256(body)
	s.sayf("Snapshot", "version %s, whole pages: %v, checksum right: %v, %d remain", version, len(body)%4096 == 0, string(want[:]) == string(sum), last)
}

// versions is the downgrade of a cluster in which every member is a 3.7.
func versions(s *side) {
	downgrade := func(action pb.DowngradeRequest_DowngradeAction, version string) {
		ask(s, s.upkeep().Downgrade, &pb.DowngradeRequest{Action: action, Version: version})
	}
	for _, v := range []string{"", "x", "3", "3.6", "3.6.1", "3.6.0", "3.5", "3.7", "3.8.0", "4.6", "3.6.0.0", "3.6-rc", "3.6.0-rc.1", "-3.6", "03.6"} {
		downgrade(pb.DowngradeRequest_VALIDATE, v)
	}
	downgrade(17, "3.6")
	downgrade(pb.DowngradeRequest_ENABLE, "3.5")
	downgrade(pb.DowngradeRequest_ENABLE, "nothing")
	downgrade(pb.DowngradeRequest_CANCEL, "")
	s.page("GET", "/version", "")
	downgrade(pb.DowngradeRequest_ENABLE, "3.6")
	for at := range 3 {
		s.turnTo(at)
		s.until(func(r *pb.StatusResponse) bool { return r.StorageVersion == "3.6.0" && r.DowngradeInfo.GetEnabled() })
		s.page("GET", "/version", "")
	}
	s.turnTo(1)
	downgrade(pb.DowngradeRequest_ENABLE, "3.6")
	downgrade(pb.DowngradeRequest_VALIDATE, "3.6")
	downgrade(pb.DowngradeRequest_VALIDATE, "3.5")
	ask(s, s.kv().Put, put("during", "it"))
	stream := &pb.RangeRequest{Key: b("during")}
	c, err := s.kv().RangeStream(s.who(), stream)
	if err == nil {
		_, err = c.Recv()
	}
	s.say("RangeStream during it", s.ended(nil, err))
	s.snapshot()
	s.turnTo(0)
	downgrade(pb.DowngradeRequest_CANCEL, "")
	for at := range 3 {
		s.turnTo(at)
		s.until(func(r *pb.StatusResponse) bool { return r.StorageVersion == "3.7.0" && !r.DowngradeInfo.GetEnabled() })
		s.page("GET", "/version", "")
	}
	s.turnTo(0)
	downgrade(pb.DowngradeRequest_CANCEL, "")
	ask(s, s.kv().Range, get("during", ""))
}

// until waits for a status, and writes it down.
func (s *side) until(ok func(*pb.StatusResponse) bool) {
	var r *pb.StatusResponse
	var err error
	for end := time.Now().Add(s.patience); time.Now().Before(end); {
		if r, err = s.upkeep().Status(s.who(), &pb.StatusRequest{}); err != nil || ok(r) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.say(fmt.Sprintf("Status of member %d after a while", s.at), s.ended(r, err))
}

// users is the Auth service, and everything under it.
func users(s *side) {
	ask(s, s.auth().AuthStatus, &pb.AuthStatusRequest{})
	ask(s, s.auth().AuthEnable, &pb.AuthEnableRequest{})
	ask(s, s.auth().Authenticate, &pb.AuthenticateRequest{Name: "root", Password: "x"})
	add := func(name, password string) {
		ask(s, s.auth().UserAdd, &pb.AuthUserAddRequest{Name: name, Password: password})
	}
	add("", "x")
	add("root", "secret")
	add("root", "secret")
	add("ann", "pw")
	add("bob", "")
	ask(s, s.auth().UserAdd, &pb.AuthUserAddRequest{Name: "cert", Options: &authpb.UserAddOptions{NoPassword: true}})
	ask(s, s.auth().UserAdd, &pb.AuthUserAddRequest{Name: "cert2", Password: "given", Options: &authpb.UserAddOptions{NoPassword: true}})
	ask(s, s.auth().AuthEnable, &pb.AuthEnableRequest{})
	role := func(name string) { ask(s, s.auth().RoleAdd, &pb.AuthRoleAddRequest{Name: name}) }
	role("")
	role("root")
	role("root")
	role("reader")
	role("writer")
	role("gone")
	grant := func(user, role string) {
		ask(s, s.auth().UserGrantRole, &pb.AuthUserGrantRoleRequest{User: user, Role: role})
	}
	grant("root", "root")
	grant("root", "root")
	grant("nobody", "reader")
	grant("ann", "nothing")
	grant("ann", "reader")
	grant("ann", "writer")
	grant("ann", "gone")
	grant("bob", "reader")
	perm := func(role string, p *authpb.Permission) {
		ask(s, s.auth().RoleGrantPermission, &pb.AuthRoleGrantPermissionRequest{Name: role, Perm: p})
	}
	perm("reader", &authpb.Permission{PermType: authpb.READ, Key: b("r"), RangeEnd: b("s")})
	perm("writer", &authpb.Permission{PermType: authpb.WRITE, Key: b("w"), RangeEnd: b("x")})
	perm("writer", &authpb.Permission{PermType: authpb.READWRITE, Key: b("both")})
	perm("writer", &authpb.Permission{PermType: authpb.READ, Key: b("both")})
	perm("writer", &authpb.Permission{PermType: authpb.READWRITE, Key: b("both")})
	perm("writer", nil)
	perm("writer", &authpb.Permission{PermType: authpb.READ, Key: b("z"), RangeEnd: b("a")})
	perm("writer", &authpb.Permission{PermType: authpb.READ, RangeEnd: b("a")})
	perm("writer", &authpb.Permission{PermType: 9, Key: b("odd")})
	perm("nothing", &authpb.Permission{PermType: authpb.READ, Key: b("z")})
	perm("root", &authpb.Permission{PermType: authpb.READ, Key: b("z")})
	ask(s, s.auth().RoleRevokePermission, &pb.AuthRoleRevokePermissionRequest{Role: "writer", Key: b("nothing")})
	ask(s, s.auth().RoleRevokePermission, &pb.AuthRoleRevokePermissionRequest{Role: "nothing", Key: b("nothing")})
	ask(s, s.auth().UserRevokeRole, &pb.AuthUserRevokeRoleRequest{Name: "ann", Role: "nothing"})
	ask(s, s.auth().UserRevokeRole, &pb.AuthUserRevokeRoleRequest{Name: "bob", Role: "writer"})
	ask(s, s.auth().UserRevokeRole, &pb.AuthUserRevokeRoleRequest{Name: "nobody", Role: "writer"})
	ask(s, s.auth().RoleDelete, &pb.AuthRoleDeleteRequest{Role: "gone"})
	ask(s, s.auth().RoleDelete, &pb.AuthRoleDeleteRequest{Role: "gone"})
	ask(s, s.auth().UserChangePassword, &pb.AuthUserChangePasswordRequest{Name: "nobody", Password: "x"})
	ask(s, s.auth().UserChangePassword, &pb.AuthUserChangePasswordRequest{Name: "bob", Password: "new"})
	ask(s, s.auth().UserDelete, &pb.AuthUserDeleteRequest{Name: "nobody"})
	ask(s, s.auth().UserGet, &pb.AuthUserGetRequest{Name: "ann"})
	ask(s, s.auth().UserGet, &pb.AuthUserGetRequest{Name: "nobody"})
	ask(s, s.auth().UserList, &pb.AuthUserListRequest{})
	ask(s, s.auth().RoleGet, &pb.AuthRoleGetRequest{Role: "writer"})
	ask(s, s.auth().RoleGet, &pb.AuthRoleGetRequest{Role: "root"})
	ask(s, s.auth().RoleGet, &pb.AuthRoleGetRequest{Role: "nothing"})
	ask(s, s.auth().RoleList, &pb.AuthRoleListRequest{})
	ask(s, s.kv().Put, put("r1", "1"))
	ask(s, s.kv().Put, put("w1", "1"))
	ask(s, s.auth().AuthEnable, &pb.AuthEnableRequest{})
	guarded(s)
}

func (s *side) login(name, password string) string {
	r := ask(s, s.auth().Authenticate, &pb.AuthenticateRequest{Name: name, Password: password})
	return r.GetToken()
}

// guarded is the calls while authentication is on; at its end it is off.
func guarded(s *side) {
	s.login("root", "wrong")
	s.login("nobody", "x")
	s.login("", "")
	s.login("cert", "")
	s.login("cert2", "given")
	s.login("bob", "")
	root, ann := s.login("root", "secret"), s.login("ann", "pw")
	bob := s.login("bob", "new")
	for _, token := range []string{"", "nonsense", "abc.1", ann, bob, root} {
		s.token = token
		everything(s)
	}
	opened(s, root, ann)
	s.token = root
	ask(s, s.auth().AuthEnable, &pb.AuthEnableRequest{})
	ask(s, s.auth().UserDelete, &pb.AuthUserDeleteRequest{Name: "root"})
	ask(s, s.auth().UserRevokeRole, &pb.AuthUserRevokeRoleRequest{Name: "root", Role: "root"})
	ask(s, s.auth().RoleDelete, &pb.AuthRoleDeleteRequest{Role: "root"})
	ask(s, s.auth().UserChangePassword, &pb.AuthUserChangePasswordRequest{Name: "ann", Password: "other"})
	s.token = ann
	ask(s, s.kv().Range, get("r1", ""))
	s.token = root
	ask(s, s.auth().AuthDisable, &pb.AuthDisableRequest{})
	ask(s, s.auth().AuthStatus, &pb.AuthStatusRequest{})
	s.token = ""
	ask(s, s.kv().Range, get("r1", ""))
	ask(s, s.auth().AuthDisable, &pb.AuthDisableRequest{})
}

// everything is one call of every kind.
func everything(s *side) {
	for at := range 2 {
		s.turnTo(at)
		ask(s, s.kv().Range, get("r1", ""))
		ask(s, s.kv().Range, get("r", "s"))
		ask(s, s.kv().Range, get("r", "t"))
		ask(s, s.kv().Range, &pb.RangeRequest{Key: b("w1"), Serializable: true})
		ask(s, s.kv().Put, put("w1", "2"))
		ask(s, s.kv().Put, &pb.PutRequest{Key: b("w1"), PrevKv: true})
		ask(s, s.kv().Put, put("r1", "1"))
	}
	s.turnTo(0)
	ask(s, s.kv().Range, &pb.RangeRequest{})
	ask(s, s.kv().Range, get("r1", "\x00"))
	ask(s, s.kv().Put, put("", ""))
	ask(s, s.kv().DeleteRange, &pb.DeleteRangeRequest{Key: b("w"), RangeEnd: b("y")})
	ask(s, s.kv().DeleteRange, &pb.DeleteRangeRequest{Key: b("w5"), PrevKv: true})
	ask(s, s.kv().Txn, &pb.TxnRequest{Compare: []*pb.Compare{whereVersion("w1", 0)}, Success: []*pb.RequestOp{opPut("w1", "2")}})
	ask(s, s.kv().Txn, &pb.TxnRequest{Compare: []*pb.Compare{whereVersion("r1", 0)}, Success: []*pb.RequestOp{opGet("r1", "")}})
	ask(s, s.kv().Txn, &pb.TxnRequest{Success: []*pb.RequestOp{opGet("w1", "")}})
	ask(s, s.kv().Txn, &pb.TxnRequest{Success: []*pb.RequestOp{opDelete("r1", "")}})
	ask(s, s.kv().Txn, &pb.TxnRequest{Success: []*pb.RequestOp{opTxn(&pb.TxnRequest{Success: []*pb.RequestOp{opPut("r1", "")}})}})
	ask(s, s.kv().Compact, &pb.CompactionRequest{Revision: 1 << 40})
	streamed, err := s.kv().RangeStream(s.who(), get("r1", ""))
	if err == nil {
		_, err = streamed.Recv()
	}
	s.say("RangeStream", s.ended(&emptypb.Empty{}, err))
	w := s.watch("guarded")
	w.create(1, watching("r", "s"))
	w.create(1, watching("w", "x"))
	w.create(1, watching("", "\x00"))
	w.cancel()
	ask(s, s.lease().LeaseGrant, &pb.LeaseGrantRequest{ID: 77, TTL: 600})
	ask(s, s.kv().Put, &pb.PutRequest{Key: b("w1"), Lease: 77})
	ask(s, s.kv().Put, &pb.PutRequest{Key: b("both"), Lease: 77})
	keepAlive(s, 77, 78)
	ttl, err := s.lease().LeaseTimeToLive(s.who(), &pb.LeaseTimeToLiveRequest{ID: 77, Keys: true})
	slices.SortFunc(ttl.GetKeys(), bytes.Compare)
	s.say("LeaseTimeToLive of 77 with keys", s.ended(&pb.LeaseTimeToLiveResponse{Header: ttl.GetHeader(), Keys: ttl.GetKeys(), GrantedTTL: ttl.GetGrantedTTL()}, err))
	ttl, err = s.lease().LeaseTimeToLive(s.who(), &pb.LeaseTimeToLiveRequest{ID: 78, Keys: true})
	s.say("LeaseTimeToLive of 78 with keys", s.ended(ttl, err))
	leases, err := s.lease().LeaseLeases(s.who(), &pb.LeaseLeasesRequest{})
	sortLeases(leases)
	s.say("LeaseLeases", s.ended(leases, err))
	ask(s, s.lease().LeaseRevoke, &pb.LeaseRevokeRequest{ID: 77})
	ask(s, s.lease().LeaseRevoke, &pb.LeaseRevokeRequest{ID: 78})
	members, err := s.cluster().MemberList(s.who(), &pb.MemberListRequest{})
	s.say("MemberList", s.ended(&pb.MemberListResponse{Header: members.GetHeader()}, err))
	members, err = s.cluster().MemberList(s.who(), &pb.MemberListRequest{Linearizable: true})
	s.say("MemberList, linearizable", s.ended(&pb.MemberListResponse{Header: members.GetHeader()}, err))
	ask(s, s.cluster().MemberRemove, &pb.MemberRemoveRequest{ID: 5})
	ask(s, s.cluster().MemberPromote, &pb.MemberPromoteRequest{ID: 5})
	ask(s, s.cluster().MemberUpdate, &pb.MemberUpdateRequest{ID: 5})
	ask(s, s.upkeep().Status, &pb.StatusRequest{})
	ask(s, s.upkeep().Hash, &pb.HashRequest{})
	ask(s, s.upkeep().HashKV, &pb.HashKVRequest{Revision: 3})
	ask(s, s.upkeep().Alarm, &pb.AlarmRequest{})
	ask(s, s.upkeep().Alarm, &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE})
	ask(s, s.upkeep().MoveLeader, &pb.MoveLeaderRequest{})
	ask(s, s.upkeep().Downgrade, &pb.DowngradeRequest{Version: "3.5"})
	ask(s, s.upkeep().Defragment, &pb.DefragmentRequest{})
	s.snapshot()
	ask(s, s.auth().AuthStatus, &pb.AuthStatusRequest{})
	ask(s, s.auth().UserGet, &pb.AuthUserGetRequest{Name: "ann"})
	ask(s, s.auth().UserGet, &pb.AuthUserGetRequest{Name: "bob"})
	ask(s, s.auth().UserList, &pb.AuthUserListRequest{})
	ask(s, s.auth().RoleGet, &pb.AuthRoleGetRequest{Role: "reader"})
	ask(s, s.auth().RoleGet, &pb.AuthRoleGetRequest{Role: "writer"})
	ask(s, s.auth().RoleList, &pb.AuthRoleListRequest{})
	ask(s, s.auth().UserAdd, &pb.AuthUserAddRequest{Name: "ann", Password: "x"})
	ask(s, s.auth().UserChangePassword, &pb.AuthUserChangePasswordRequest{Name: "nobody", Password: "x"})
	if s.token == "" {
		ask(s, s.auth().AuthDisable, &pb.AuthDisableRequest{})
	}
	s.page("GET", "/health", "")
	s.page("POST", "/v3/kv/range", `{"key":"cjE="}`)
}

// opened is streams that are open while what their user may do changes.
func opened(s *side, root, ann string) {
	s.token = ann
	w := s.watch("opened")
	defer w.cancel()
	w.create(1, watching("r", "s"))
	s.token = root
	ask(s, s.auth().UserRevokeRole, &pb.AuthUserRevokeRoleRequest{Name: "ann", Role: "reader"})
	ask(s, s.kv().Put, put("r2", "after"))
	w.read("what is open stays open", 1)
	w.create(1, watching("r", "s"))
	s.token = ann
	ask(s, s.kv().Range, get("r1", ""))
	ask(s, s.kv().Put, put("w2", "still"))
	s.token = root
	ask(s, s.auth().UserGrantRole, &pb.AuthUserGrantRoleRequest{User: "ann", Role: "reader"})
	s.token = ann
	ask(s, s.kv().Range, get("r1", ""))
	s.token = root
	ask(s, s.auth().RoleRevokePermission, &pb.AuthRoleRevokePermissionRequest{Role: "writer", Key: b("w"), RangeEnd: b("x")})
	s.token = ann
	ask(s, s.kv().Put, put("w2", "not any more"))
	s.token = root
	ask(s, s.auth().UserDelete, &pb.AuthUserDeleteRequest{Name: "bob"})
	ask(s, s.kv().Put, put("r3", "after"))
	w.read("and goes on", 1)
}

// members is the Cluster service, as far as it does not need a process to be
// started.
func members(s *side) {
	list := ask(s, s.cluster().MemberList, &pb.MemberListRequest{})
	s.sayf("members", "%d", len(list.GetMembers()))
	ask(s, s.cluster().MemberAdd, &pb.MemberAddRequest{PeerURLs: []string{"nonsense"}})
	ask(s, s.cluster().MemberAdd, &pb.MemberAddRequest{})
	ask(s, s.cluster().MemberAdd, &pb.MemberAddRequest{PeerURLs: []string{"http://10.0.0.1"}})
	ask(s, s.cluster().MemberAdd, &pb.MemberAddRequest{PeerURLs: []string{"ftp://10.0.0.1:2380"}})
	ask(s, s.cluster().MemberAdd, &pb.MemberAddRequest{PeerURLs: []string{"http://10.0.0.1:2380/path"}})
	ask(s, s.cluster().MemberRemove, &pb.MemberRemoveRequest{ID: 5})
	ask(s, s.cluster().MemberUpdate, &pb.MemberUpdateRequest{ID: 5, PeerURLs: []string{"http://10.0.0.1:2380"}})
	ask(s, s.cluster().MemberUpdate, &pb.MemberUpdateRequest{ID: 5, PeerURLs: []string{"nonsense"}})
	ask(s, s.cluster().MemberUpdate, &pb.MemberUpdateRequest{ID: 5})
	ask(s, s.cluster().MemberPromote, &pb.MemberPromoteRequest{ID: 5})
	ask(s, s.cluster().MemberPromote, &pb.MemberPromoteRequest{ID: list.GetMembers()[0].GetID()})
	s.turnTo(1)
	ask(s, s.cluster().MemberRemove, &pb.MemberRemoveRequest{ID: 5})
	ask(s, s.cluster().MemberPromote, &pb.MemberPromoteRequest{ID: list.GetMembers()[0].GetID()})
	s.turnTo(0)
	added := s.joined(&pb.MemberAddRequest{PeerURLs: []string{"http://10.0.0.1:2380"}, IsLearner: true})
	ask(s, s.cluster().MemberAdd, &pb.MemberAddRequest{PeerURLs: []string{"http://10.0.0.2:2380"}, IsLearner: true})
	ask(s, s.cluster().MemberAdd, &pb.MemberAddRequest{PeerURLs: []string{"http://10.0.0.1:2380", "http://10.0.0.9:2380"}})
	ask(s, s.cluster().MemberUpdate, &pb.MemberUpdateRequest{ID: added.GetMember().GetID(), PeerURLs: []string{"http://10.0.0.3:2380"}})
	ask(s, s.upkeep().MoveLeader, &pb.MoveLeaderRequest{TargetID: added.GetMember().GetID()})
	ask(s, s.cluster().MemberRemove, &pb.MemberRemoveRequest{ID: added.GetMember().GetID()})
	ask(s, s.cluster().MemberRemove, &pb.MemberRemoveRequest{ID: added.GetMember().GetID()})
	ask(s, s.cluster().MemberPromote, &pb.MemberPromoteRequest{ID: added.GetMember().GetID()})
	ask(s, s.cluster().MemberList, &pb.MemberListRequest{Linearizable: true})
}

// joined adds a member. For its first seconds etcd calls itself unhealthy.
func (s *side) joined(r *pb.MemberAddRequest) *pb.MemberAddResponse {
	for end := time.Now().Add(s.patience); ; time.Sleep(100 * time.Millisecond) {
		resp, err := s.cluster().MemberAdd(s.who(), r)
		if status.Code(err) != codes.Unavailable || time.Now().After(end) {
			s.say("MemberAdd "+s.text(r), s.ended(resp, err))
			return resp
		}
	}
}

// recipes is the lock and the election service.
func recipes(s *side) {
	ask(s, s.lease().LeaseGrant, &pb.LeaseGrantRequest{ID: 1000, TTL: 600})
	ask(s, s.lease().LeaseGrant, &pb.LeaseGrantRequest{ID: 1001, TTL: 600})
	locked := ask(s, s.lock().Lock, &v3lockpb.LockRequest{Name: b("mine"), Lease: 1000})
	ask(s, s.lock().Lock, &v3lockpb.LockRequest{Name: b("mine"), Lease: 1000})
	ask(s, s.lock().Lock, &v3lockpb.LockRequest{Name: b("other"), Lease: 4711})
	ask(s, s.lock().Unlock, &v3lockpb.UnlockRequest{Key: locked.GetKey()})
	ask(s, s.lock().Unlock, &v3lockpb.UnlockRequest{Key: locked.GetKey()})
	ask(s, s.lock().Unlock, &v3lockpb.UnlockRequest{})
	ask(s, s.election().Leader, &v3electionpb.LeaderRequest{Name: b("office")})
	won := ask(s, s.election().Campaign, &v3electionpb.CampaignRequest{Name: b("office"), Lease: 1000, Value: b("me")})
	ask(s, s.election().Campaign, &v3electionpb.CampaignRequest{Name: b("office"), Lease: 4711, Value: b("me")})
	ask(s, s.election().Leader, &v3electionpb.LeaderRequest{Name: b("office")})
	ask(s, s.election().Proclaim, &v3electionpb.ProclaimRequest{Leader: won.GetLeader(), Value: b("still me")})
	ask(s, s.election().Proclaim, &v3electionpb.ProclaimRequest{})
	ctx, cancel := context.WithTimeout(s.ctx, s.patience)
	defer cancel()
	observed, err := s.election().Observe(ctx, &v3electionpb.LeaderRequest{Name: b("office")})
	if err == nil {
		var r *v3electionpb.LeaderResponse
		r, err = observed.Recv()
		s.say("Observe", s.ended(r, err))
	}
	ask(s, s.election().Resign, &v3electionpb.ResignRequest{Leader: won.GetLeader()})
	ask(s, s.election().Resign, &v3electionpb.ResignRequest{Leader: won.GetLeader()})
	ask(s, s.election().Resign, &v3electionpb.ResignRequest{})
	ask(s, s.election().Proclaim, &v3electionpb.ProclaimRequest{Leader: won.GetLeader()})
}
