package etcdapi

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kviz/raftstore"
)

// Version is the etcd whose behaviour is served; clients decide by it what
// they may ask for.
const Version = "3.7.3"

// maintenanceServer is etcd's Maintenance service, as far as it goes without a
// database file.
type maintenanceServer struct {
	pb.UnimplementedMaintenanceServer
	*face
}

// Status tells of the member. There is no database file: its size is that of
// the keys, and all of it is in use.
func (m *maintenanceServer) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	size, err := m.server.history.Size(m.member)
	if err != nil {
		return nil, err
	}
	resp := &pb.StatusResponse{
		Header: m.header(m.server.history.Revision()), Version: Version, StorageVersion: "3.7.0",
		Leader: m.id, DbSize: size, DbSizeInUse: size,
	}
	if m.server.raft == nil {
		return resp, nil
	}
	for _, s := range m.server.raft.Members() {
		if s.ID != m.member {
			continue
		}
		resp.Header.Revision = s.Revision
		resp.RaftTerm, resp.RaftIndex, resp.RaftAppliedIndex = s.Term, s.Commit, s.Applied
		resp.Leader = 0
		if s.Leader != "" {
			resp.Leader = raftstore.MemberID(s.Leader)
		} else {
			resp.Errors = append(resp.Errors, "etcdserver: no leader")
		}
	}
	return resp, nil
}

// HashKV is the hash of the member's keys up to a revision: the same at all
// members, and the same as etcd's for the same history.
func (m *maintenanceServer) HashKV(_ context.Context, r *pb.HashKVRequest) (*pb.HashKVResponse, error) {
	h, err := m.server.history.HashKV(m.member, r.Revision)
	if err != nil {
		return nil, err
	}
	return &pb.HashKVResponse{Header: m.header(h.Revision), Hash: h.Hash, HashRevision: h.HashRevision, CompactRevision: h.CompactRevision}, nil
}

// Alarm lists the alarms: there are none, the store has no quota. One that is
// not raised can be disarmed.
func (m *maintenanceServer) Alarm(_ context.Context, r *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	if r.Action == pb.AlarmRequest_ACTIVATE {
		return nil, status.Error(codes.Unimplemented, "this store has no alarms: nothing limits its size, and nothing corrupts it unseen")
	}
	return &pb.AlarmResponse{Header: m.header(m.server.history.Revision())}, nil
}

// MoveLeader makes another member the leader; only the leader can be asked.
func (m *maintenanceServer) MoveLeader(_ context.Context, r *pb.MoveLeaderRequest) (*pb.MoveLeaderResponse, error) {
	if m.server.raft == nil {
		return nil, rpctypes.ErrGRPCBadLeaderTransferee
	}
	if m.server.raft.Leader() != m.member {
		return nil, rpctypes.ErrGRPCNotLeader
	}
	for _, f := range m.server.faces {
		if f.id != r.TargetID {
			continue
		}
		if err := m.server.raft.TransferLeadership(f.member); err != nil {
			return nil, err
		}
		return &pb.MoveLeaderResponse{Header: m.header(m.server.history.Revision())}, nil
	}
	return nil, rpctypes.ErrGRPCBadLeaderTransferee
}
