package apply

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/authpb"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/crypto/bcrypt"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/transcript"
)

// TestStories runs the stories in testdata: "# comment" lines, requests ("ann: put
// a 1", or without a name nobody's), "----", and what the state machine answered.
// KVIZ_REWRITE=1 writes the answers anew.
func TestStories(t *testing.T) { transcript.Run(t, tell) }

func tell(_ testing.TB, text string) string {
	s := New(Limits{Quota: 1 << 20, BcryptCost: bcrypt.MinCost})
	var out, answers strings.Builder
	answering := false
	index := uint64(0)
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case line == "----":
			out.WriteString("----\n" + answers.String())
			answers.Reset()
			answering = true
		case answering && line == "":
			answering = false
			out.WriteString("\n")
		case answering: // the old answer
		default:
			out.WriteString(line + "\n")
			if line != "" && !strings.HasPrefix(line, "#") {
				index++
				answers.WriteString(line + " → " + run(s, index, line) + "\n")
			}
		}
	}
	return out.String()
}

func run(s *State, index uint64, line string) string {
	who, rest, named := strings.Cut(line, ": ")
	if !named {
		who, rest = "", line
	}
	f := strings.Fields(rest)
	switch f[0] {
	case "size":
		return fmt.Sprintf("%d KiB, %d KiB in use", s.Size()>>10, s.SizeInUse()>>10)
	case "defragment":
		s.Defragment()
		return run(s, index, "size")
	case "fill":
		return fill(s)
	}
	req := parse(s, f)
	if named {
		req.Header = &pb.RequestHeader{Username: who, AuthRevision: s.auth.Revision()}
	}
	r := s.Apply(index, req)
	answer := "done"
	if r.Response != nil {
		answer = responseText(r.Response)
	}
	if r.Err != nil {
		answer = "refused: " + status.Convert(r.Err).Message()
	}
	if r.Err != nil && len(r.Events) > 0 {
		answer += ", and yet it happened"
	}
	return answer
}

// fill writes values of 100,000 bytes until one is refused.
func fill(s *State) string {
	for n := 0; ; n++ {
		req := &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: fmt.Appendf(nil, "big%d", n%3), Value: make([]byte, 100_000)}}
		fits := s.Available(req)
		if r := s.Apply(0, req); r.Err != nil {
			return fmt.Sprintf("%d values written; the server would have taken the next: %v; applied: %s, %d event", n, fits, status.Convert(r.Err).Message(), len(r.Events))
		}
	}
}

func parse(s *State, f []string) *pb.InternalRaftRequest {
	number := func(x string) int64 {
		n, err := strconv.ParseInt(x, 10, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	switch f[0] {
	case "put":
		r := &pb.PutRequest{Key: []byte(f[1]), Value: []byte(f[2])}
		if len(f) > 3 {
			r.Lease = number(f[3])
		}
		return &pb.InternalRaftRequest{Put: r}
	case "get":
		return &pb.InternalRaftRequest{Range: &pb.RangeRequest{Key: []byte(f[1])}}
	case "del":
		return &pb.InternalRaftRequest{DeleteRange: &pb.DeleteRangeRequest{Key: []byte(f[1])}}
	case "txn-put":
		return &pb.InternalRaftRequest{Txn: &pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(f[1])}}}}}}
	case "txn-get":
		return &pb.InternalRaftRequest{Txn: &pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte(f[1])}}}}}}
	case "compact":
		return &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: s.KV.Revision()}}
	case "grant":
		return &pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{ID: number(f[1]), TTL: 60}}
	case "revoke":
		return &pb.InternalRaftRequest{LeaseRevoke: &pb.LeaseRevokeRequest{ID: number(f[1])}}
	case "alarm":
		r := &pb.AlarmRequest{Action: pb.AlarmRequest_AlarmAction(pb.AlarmRequest_AlarmAction_value[f[1]])}
		if len(f) > 2 {
			r.Alarm, r.MemberID = pb.AlarmType(pb.AlarmType_value[f[2]]), uint64(number(f[3]))
		}
		return &pb.InternalRaftRequest{Alarm: r}
	}
	return parseAuth(f)
}

func parseAuth(f []string) *pb.InternalRaftRequest {
	switch f[0] + " " + f[1] {
	case "auth enable":
		return &pb.InternalRaftRequest{AuthEnable: &pb.AuthEnableRequest{}}
	case "auth disable":
		return &pb.InternalRaftRequest{AuthDisable: &pb.AuthDisableRequest{}}
	case "auth status":
		return &pb.InternalRaftRequest{AuthStatus: &pb.AuthStatusRequest{}}
	case "user add":
		return &pb.InternalRaftRequest{AuthUserAdd: &pb.AuthUserAddRequest{Name: f[2], HashedPassword: hashOf("secret")}}
	case "user plain":
		return &pb.InternalRaftRequest{AuthUserAdd: &pb.AuthUserAddRequest{Name: f[2], Password: "secret"}}
	case "user get":
		return &pb.InternalRaftRequest{AuthUserGet: &pb.AuthUserGetRequest{Name: f[2]}}
	case "user delete":
		return &pb.InternalRaftRequest{AuthUserDelete: &pb.AuthUserDeleteRequest{Name: f[2]}}
	case "user grant":
		return &pb.InternalRaftRequest{AuthUserGrantRole: &pb.AuthUserGrantRoleRequest{User: f[2], Role: f[3]}}
	case "role add":
		return &pb.InternalRaftRequest{AuthRoleAdd: &pb.AuthRoleAddRequest{Name: f[2]}}
	case "role get":
		return &pb.InternalRaftRequest{AuthRoleGet: &pb.AuthRoleGetRequest{Role: f[2]}}
	case "role permit":
		kind := authpb.Permission_Type(authpb.Permission_Type_value[f[3]])
		return &pb.InternalRaftRequest{AuthRoleGrantPermission: &pb.AuthRoleGrantPermissionRequest{
			Name: f[2], Perm: &authpb.Permission{PermType: kind, Key: []byte(f[4]), RangeEnd: []byte(f[5])},
		}}
	case "log in":
		return &pb.InternalRaftRequest{Authenticate: &pb.InternalAuthenticateRequest{Name: f[2], SimpleToken: "abc"}}
	}
	panic(strings.Join(f, " "))
}

func responseText(m proto.Message) string {
	switch r := m.(type) {
	case *pb.PutResponse:
		return fmt.Sprintf("revision %d", r.Header.Revision)
	case *pb.RangeResponse:
		if len(r.Kvs) == 0 {
			return "nothing"
		}
		return string(r.Kvs[0].Value)
	case *pb.AuthenticateResponse:
		return "token " + r.Token
	case *pb.AuthStatusResponse:
		return fmt.Sprintf("enabled %v, revision %d", r.Enabled, r.AuthRevision)
	case *pb.AuthUserGetResponse:
		return fmt.Sprintf("roles %v", r.Roles)
	case *pb.AuthRoleGetResponse:
		var b []string
		for _, p := range r.Perm {
			b = append(b, fmt.Sprintf("%v %q to %q", p.PermType, p.Key, p.RangeEnd))
		}
		return strings.Join(b, ", ")
	case *pb.AlarmResponse:
		var b []string
		for _, a := range r.Alarms {
			b = append(b, fmt.Sprintf("%v of member %d", a.Alarm, a.MemberID))
		}
		return strings.TrimSpace("alarms: " + strings.Join(b, ", "))
	}
	return "done"
}
