package etcdapi

import (
	"context"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// clusterServer is etcd's Cluster service. A member that is added is also
// started, in this process: its name is there as soon as it is listed.
//
// Mirrors etcd server/etcdserver/api/v3rpc/member.go.
type clusterServer struct {
	pb.UnimplementedClusterServer
	*frontend
}

// clusterHeader has no revision, as in etcd.
func (f *frontend) clusterHeader() *pb.ResponseHeader { return f.header(0) }

// MemberList lists the members in order of joining.
func (c *clusterServer) MemberList(ctx context.Context, r *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	if r.Linearizable {
		if _, err := c.barrier(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.mustBeSomebody(ctx); err != nil {
		return nil, err
	}
	return &pb.MemberListResponse{Header: c.clusterHeader(), Members: c.server.memberList()}, nil
}

func (s *Server) memberList() []*pb.Member {
	var list []*pb.Member
	for _, a := range s.Addresses() {
		list = append(list, &pb.Member{ID: a.ID, Name: a.Member, PeerURLs: a.peerURLs(), ClientURLs: []string{a.URL}, IsLearner: a.Learner})
	}
	return list
}

// peerURLs says where the others reach the member. Members of one process meet
// in memory: they have no such address, and get one that says so.
func (a Address) peerURLs() []string {
	if len(a.PeerURLs) > 0 {
		return a.PeerURLs
	}
	return []string{"http://" + a.Member + ".kviz.invalid:2380"}
}

// may refuses users who may not change the members, and a member that cannot reach
// the leader.
func (c *clusterServer) may(ctx context.Context) (membership, error) {
	if err := c.mustBeAdmin(ctx); err != nil {
		return nil, err
	}
	m, ok := c.server.store.(membership)
	if !ok || c.server.group == nil {
		return nil, status.Error(codes.Unimplemented, "this store has no members to change")
	}
	return m, c.reachLeader(ctx)
}

// MemberAdd adds a member, a voter or a learner, and starts it. Where members are
// processes of their own, one that belongs to no group must listen at its peer URL.
func (c *clusterServer) MemberAdd(ctx context.Context, r *pb.MemberAddRequest) (*pb.MemberAddResponse, error) {
	urls, err := types.NewURLs(r.PeerURLs)
	if err != nil {
		return nil, rpctypes.ErrGRPCMemberBadURLs
	}
	m, err := c.may(ctx)
	if err != nil {
		return nil, err
	}
	if c.taken(urls.StringSlice(), 0) {
		return nil, rpctypes.ErrGRPCPeerURLExist
	}
	name, err := m.AddMemberAt(r.IsLearner, urls.StringSlice())
	if err != nil {
		return nil, err
	}
	if err := c.server.follow(); err != nil {
		return nil, err
	}
	list := c.server.memberList()
	i := slices.IndexFunc(list, func(m *pb.Member) bool { return m.Name == name })
	if i < 0 {
		return nil, rpctypes.ErrGRPCMemberNotFound // removed meanwhile
	}
	added := &pb.Member{ID: list[i].ID, PeerURLs: list[i].PeerURLs, IsLearner: list[i].IsLearner}
	return &pb.MemberAddResponse{Header: c.clusterHeader(), Member: added, Members: list}, nil
}

// taken reports whether another member has one of the URLs.
func (c *clusterServer) taken(urls []string, but uint64) bool {
	for _, a := range c.server.Addresses() {
		for _, u := range a.PeerURLs {
			if a.ID != but && slices.Contains(urls, u) {
				return true
			}
		}
	}
	return false
}

// named is the name of a member, by its ID.
func (c *clusterServer) named(id uint64) (string, error) {
	if f := c.server.frontend(id); f != nil {
		return f.member, nil
	}
	return "", rpctypes.ErrGRPCMemberNotFound
}

// MemberRemove removes a member, which stops. The answer of one that removes
// itself may be lost.
func (c *clusterServer) MemberRemove(ctx context.Context, r *pb.MemberRemoveRequest) (*pb.MemberRemoveResponse, error) {
	m, err := c.may(ctx)
	if err != nil {
		return nil, err
	}
	name, err := c.named(r.ID)
	if err == nil {
		err = m.RemoveMember(name)
	}
	if err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(c.server.memberList(), func(m *pb.Member) bool { return m.ID == r.ID })
	if r.ID == c.id {
		// The member has to answer before its address closes.
		time.AfterFunc(100*time.Millisecond, c.server.wake)
	} else {
		c.server.wake()
	}
	return &pb.MemberRemoveResponse{Header: c.clusterHeader(), Members: left}, nil
}

// MemberUpdate changes a member's peer URLs.
func (c *clusterServer) MemberUpdate(ctx context.Context, r *pb.MemberUpdateRequest) (*pb.MemberUpdateResponse, error) {
	m, err := c.may(ctx)
	if err != nil {
		return nil, err
	}
	name, err := c.named(r.ID)
	if err != nil {
		return nil, err
	}
	if c.taken(r.PeerURLs, r.ID) {
		return nil, rpctypes.ErrGRPCPeerURLExist
	}
	if err := m.UpdateMember(name, r.PeerURLs); err != nil {
		return nil, err
	}
	return &pb.MemberUpdateResponse{Header: c.clusterHeader(), Members: c.server.memberList()}, nil
}

// MemberPromote makes a learner that has caught up a voter.
func (c *clusterServer) MemberPromote(ctx context.Context, r *pb.MemberPromoteRequest) (*pb.MemberPromoteResponse, error) {
	m, err := c.may(ctx)
	if err != nil {
		return nil, err
	}
	name, err := c.named(r.ID)
	if err == nil {
		err = m.PromoteMember(name)
	}
	if err != nil {
		c.numbers.PromoteFailed.WithLabelValues(status.Convert(asStatus(err)).Message()).Inc()
		return nil, err
	}
	c.numbers.Promoted.Inc()
	if err := c.server.follow(); err != nil {
		return nil, err
	}
	return &pb.MemberPromoteResponse{Header: c.clusterHeader(), Members: c.server.memberList()}, nil
}
