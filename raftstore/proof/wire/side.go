// Package wire has real etcd and kviz answer the same calls: three members
// each, one script of every service's calls, good and bad, over gRPC and HTTP,
// and the answers side by side. What two clusters cannot have in common (IDs,
// addresses, terms, sizes, tokens) is written as a placeholder; everything else,
// revisions, counts, errors with their codes and texts, must be the same.
//
// Start reading at TestTheyAnswerTheSame, then the scripts.
package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3election/v3electionpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// side is one of the two that are compared, and what it has answered.
type side struct {
	name      string
	ctx       context.Context
	patience  time.Duration // how long an answer may take
	endpoints []string      // of the members, the leader's first
	conns     []*grpc.ClientConn
	at        int // the member that is asked: 0 is the leader
	token     string
	said      []said
	term      uint64
	ids       []uint64 // of the members, in order of their being heard of
}

// said is one call and its answer.
type said struct{ call, answer string }

func newSide(ctx context.Context, patience time.Duration, name string, endpoints []string, options ...grpc.DialOption) (*side, error) {
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	s := &side{name: name, ctx: ctx, patience: patience}
	for _, e := range endpoints {
		conn, err := grpc.NewClient(e, options...)
		if err != nil {
			return nil, err
		}
		s.conns, s.endpoints = append(s.conns, conn), append(s.endpoints, e)
	}
	return s, s.leaderFirst()
}

// leaderFirst waits until the members agree on a leader, and has it be asked first.
func (s *side) leaderFirst() error {
	for ; ; time.Sleep(10 * time.Millisecond) {
		leader, agree := -1, map[uint64]bool{}
		for i, c := range s.conns {
			r, err := pb.NewMaintenanceClient(c).Status(s.ctx, &pb.StatusRequest{})
			if err != nil {
				return fmt.Errorf("%s: %w", s.endpoints[i], err)
			}
			if r.Leader == r.Header.MemberId {
				leader, s.term = i, r.RaftTerm
			}
			agree[r.Leader] = true
		}
		if leader >= 0 && len(agree) == 1 {
			s.conns[0], s.conns[leader] = s.conns[leader], s.conns[0]
			s.endpoints[0], s.endpoints[leader] = s.endpoints[leader], s.endpoints[0]
			return nil
		}
	}
}

// steady reports whether the same member has led all the time: on a busy machine
// an election can come between.
func (s *side) steady() bool {
	r, err := pb.NewMaintenanceClient(s.conns[0]).Status(s.ctx, &pb.StatusRequest{})
	return err == nil && r.Leader == r.Header.MemberId && r.RaftTerm == s.term
}

func (s *side) close() {
	for _, c := range s.conns {
		_ = c.Close() // nothing is lost with it
	}
}

// who is the call's context, with the caller's token.
func (s *side) who() context.Context {
	if s.token == "" {
		return s.ctx
	}
	return metadata.AppendToOutgoingContext(s.ctx, "token", s.token)
}

// turnTo has another member be asked from now on, once it has applied what the others
// answered: only a linearizable read waits for that by itself.
func (s *side) turnTo(at int) {
	s.at = at
	// Where it is refused, by users or an alarm, nothing is waited for.
	_, _ = s.kv().Range(s.who(), &pb.RangeRequest{Key: b("\x00"), CountOnly: true})
}

func (s *side) conn() *grpc.ClientConn       { return s.conns[s.at] }
func (s *side) kv() pb.KVClient              { return pb.NewKVClient(s.conn()) }
func (s *side) lease() pb.LeaseClient        { return pb.NewLeaseClient(s.conn()) }
func (s *side) cluster() pb.ClusterClient    { return pb.NewClusterClient(s.conn()) }
func (s *side) upkeep() pb.MaintenanceClient { return pb.NewMaintenanceClient(s.conn()) }
func (s *side) auth() pb.AuthClient          { return pb.NewAuthClient(s.conn()) }
func (s *side) lock() v3lockpb.LockClient    { return v3lockpb.NewLockClient(s.conn()) }
func (s *side) election() v3electionpb.ElectionClient {
	return v3electionpb.NewElectionClient(s.conn())
}
func (s *side) health() grpc_health_v1.HealthClient { return grpc_health_v1.NewHealthClient(s.conn()) }
func (s *side) say(call, answer string)             { s.said = append(s.said, said{call, answer}) }
func (s *side) sayf(call, format string, arguments ...any) {
	s.say(call, fmt.Sprintf(format, arguments...))
}

// ask makes a call and writes down how it ended.
func ask[Q, R proto.Message](s *side, method func(context.Context, Q, ...grpc.CallOption) (R, error), req Q) R {
	return asking(s, s.who(), method, req)
}

func asking[Q, R proto.Message](s *side, ctx context.Context, method func(context.Context, Q, ...grpc.CallOption) (R, error), req Q) R {
	call := s.text(req)
	if len(call) > 200 {
		call = call[:200] + "…"
	}
	if s.at != 0 {
		call += " (of a follower)"
	}
	resp, err := method(ctx, req)
	s.say(string(req.ProtoReflect().Descriptor().Name())+" "+call, s.ended(resp, err))
	return resp
}

func (s *side) ended(m proto.Message, err error) string {
	if err != nil {
		e := status.Convert(err)
		return fmt.Sprintf("%v: %s", e.Code(), s.local(e.Message()))
	}
	if m == nil {
		return "well"
	}
	return s.text(m)
}

// text is a message as JSON without what is the side's own.
func (s *side) text(m proto.Message) string {
	m = proto.Clone(m)
	s.strip(m.ProtoReflect())
	b, err := protojson.Marshal(m)
	if err != nil {
		return "cannot be written: " + err.Error()
	}
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		return "cannot be read: " + err.Error()
	}
	return s.local(out.String())
}

// measured are the fields that say how much, not what.
var measured = []protoreflect.Name{"raft_term", "raftTerm", "raftIndex", "raftAppliedIndex", "dbSize", "dbSizeInUse"}

// strip takes out of a message what is the side's own: IDs, addresses, what is
// measured, and the order of lists of members and alarms (etcd's is by ID, and by
// chance).
func (s *side) strip(m protoreflect.Message) {
	own := m.Descriptor().Name()
	defer putInOrder(m.Interface())
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case own == "ResponseHeader" && f.Name() != "revision":
			m.Clear(f)
		case slices.Contains(measured, f.Name()):
			m.Set(f, one(f))
		case f.Name() == "leader" && f.Kind() == protoreflect.Uint64Kind, f.Name() == "ID" && own == "Member", f.Name() == "memberID", f.Name() == "targetID",
			f.Name() == "ID" && f.Kind() == protoreflect.Uint64Kind && strings.HasPrefix(string(own), "Member"):
			m.Set(f, protoreflect.ValueOfUint64(s.number(v.Uint())))
		case own == "Member" && f.Name() == "name":
			m.Set(f, protoreflect.ValueOfString("<name>"))
		case f.Name() == "token":
			m.Set(f, protoreflect.ValueOfString("<token>"))
		case f.Name() == "hash" && own == "HashResponse":
			m.Clear(f)
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			for i := range v.List().Len() {
				s.strip(v.List().Get(i).Message())
			}
		case f.Kind() == protoreflect.MessageKind && !f.IsMap():
			s.strip(v.Message())
		}
		return true
	})
}

func putInOrder(m proto.Message) {
	if list, ok := m.(interface{ GetMembers() []*pb.Member }); ok {
		slices.SortFunc(list.GetMembers(), func(a, b *pb.Member) int { return cmp.Compare(a.ID, b.ID) })
	}
	if list, ok := m.(*pb.AlarmResponse); ok {
		slices.SortFunc(list.Alarms, func(a, b *pb.AlarmMember) int { return cmp.Compare(a.MemberID, b.MemberID) })
	}
	if status, ok := m.(*pb.StatusResponse); ok {
		// Alarms come last, in the order of a map; what comes before them has its place.
		last := len(status.Errors)
		for last > 0 && strings.Contains(status.Errors[last-1], "alarm:") {
			last--
		}
		slices.Sort(status.Errors[last:])
	}
}

func one(f protoreflect.FieldDescriptor) protoreflect.Value {
	if f.Kind() == protoreflect.Int64Kind {
		return protoreflect.ValueOfInt64(1)
	}
	return protoreflect.ValueOfUint64(1)
}

// number is the place of a member's ID; small ones, which no member has, stay.
func (s *side) number(id uint64) uint64 {
	if id < 1000 {
		return id
	}
	i := slices.Index(s.ids, id)
	if i < 0 {
		i = len(s.ids)
		s.ids = append(s.ids, id)
	}
	return uint64(900_000 + i)
}

var (
	address = regexp.MustCompile(`127\.0\.0\.1:\d+|\b[a-z]\w*(?:\.kviz\.invalid)?:2380`)
	inJSON  = regexp.MustCompile(`"(cluster_id|member_id|raft_term)":\s*"\d+",?\s*`)
)

// local takes addresses and IDs out of a text.
func (s *side) local(text string) string {
	text = address.ReplaceAllString(text, "<address>")
	text = inJSON.ReplaceAllString(text, "")
	for i, id := range s.ids {
		text = strings.ReplaceAll(text, fmt.Sprintf("%x", id), fmt.Sprintf("<member %d>", i))
	}
	return text
}
