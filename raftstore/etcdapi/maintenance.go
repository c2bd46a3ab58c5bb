package etcdapi

import (
	"context"
	"hash/crc32"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kviz/raftstore"
)

// Version is the etcd whose behaviour is served; clients decide by it what
// they may ask for.
const Version = "3.7.3"

// maintenanceServer is etcd's Maintenance service.
//
// Mirrors etcd server/etcdserver/api/v3rpc/maintenance.go.
type maintenanceServer struct {
	pb.UnimplementedMaintenanceServer
	*frontend
}

// Status returns the member's status.
func (m *maintenanceServer) Status(ctx context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	if err := m.mustBeSomebody(ctx); err != nil {
		return nil, err
	}
	size, inUse, err := m.server.store.DBSize(m.member)
	if err != nil {
		return nil, err
	}
	versions := m.versionsAt(m.member)
	resp := &pb.StatusResponse{
		Header: m.header(m.revision()), Version: Version, StorageVersion: versions.Cluster,
		Leader: m.id, DbSize: size, DbSizeInUse: inUse, DbSizeQuota: m.quota(),
		DowngradeInfo: &pb.DowngradeInfo{Enabled: versions.Downgrading, TargetVersion: versions.Target},
	}
	if s, ok := m.server.status(m.member); ok {
		resp.Header.Revision = max(s.Revision, m.shown.Load())
		resp.RaftTerm, resp.RaftIndex, resp.RaftAppliedIndex, resp.IsLearner = s.Term, s.Commit, s.Applied, s.Learner
		resp.Leader = 0
		if s.Leader != "" {
			resp.Leader = raftstore.MemberID(s.Leader)
		} else {
			resp.Errors = append(resp.Errors, rpctypes.ErrorDesc(rpctypes.ErrGRPCNoLeader))
		}
	}
	for _, a := range m.server.store.Alarms() {
		resp.Errors = append(resp.Errors, a.String())
	}
	return resp, nil
}

// Hash is of the member's database file, as a backup of it would be. Members
// that agree may differ in it; HashKV compares them.
func (m *maintenanceServer) Hash(ctx context.Context, _ *pb.HashRequest) (*pb.HashResponse, error) {
	if err := m.mustBeAdmin(ctx); err != nil {
		return nil, err
	}
	b, err := m.backuper()
	if err != nil {
		return nil, err
	}
	m.settle(ctx)
	rev := m.revision()
	began := time.Now()
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if err := b.Backup(m.member, h); err != nil {
		return nil, err
	}
	m.numbers.HashSeconds.Observe(time.Since(began).Seconds())
	return &pb.HashResponse{Header: m.header(rev), Hash: h.Sum32()}, nil
}

// HashKV is the hash of the member's keys up to a revision: the same at all
// members, and the same as etcd's for the same history.
func (m *maintenanceServer) HashKV(ctx context.Context, r *pb.HashKVRequest) (*pb.HashKVResponse, error) {
	if err := m.mustBeAdmin(ctx); err != nil {
		return nil, err
	}
	m.settle(ctx)
	began := time.Now()
	h, err := m.server.store.HashKV(m.member, r.Revision)
	if err != nil {
		return nil, err
	}
	m.numbers.HashRevSeconds.Observe(time.Since(began).Seconds())
	return &pb.HashKVResponse{Header: m.header(h.Revision), Hash: h.Hash, HashRevision: h.HashRevision, CompactRevision: h.CompactRevision}, nil
}

// Defragment gives back what the member's database holds and does not use.
func (m *maintenanceServer) Defragment(ctx context.Context, _ *pb.DefragmentRequest) (*pb.DefragmentResponse, error) {
	if err := m.mustBeAdmin(ctx); err != nil {
		return nil, err
	}
	m.settle(ctx)
	began := time.Now()
	m.numbers.DefragInflight.Set(1)
	defer m.numbers.DefragInflight.Set(0)
	if err := m.server.store.Defragment(m.member); err != nil {
		return nil, err
	}
	m.numbers.DefragSeconds.Observe(time.Since(began).Seconds())
	m.size.forget()
	return &pb.DefragmentResponse{}, nil
}

func (g *sizeGuess) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked = time.Time{}
}

// Alarm lists, raises or disarms alarms. All of it goes through the log, as in etcd.
func (m *maintenanceServer) Alarm(ctx context.Context, r *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	may := m.mustBeAdmin
	if r.Action == pb.AlarmRequest_GET {
		may = m.mustBeSomebody
	}
	if err := may(ctx); err != nil {
		return nil, err
	}
	resp, err := answer[*pb.AlarmResponse](m.change(ctx, &pb.InternalRaftRequest{Alarm: r}))
	if err != nil {
		return nil, err
	}
	if resp.Header == nil {
		resp.Header = m.header(0)
	}
	m.fill(resp.Header)
	return resp, nil
}

// MoveLeader makes another member the leader; only the leader can be asked.
func (m *maintenanceServer) MoveLeader(ctx context.Context, r *pb.MoveLeaderRequest) (*pb.MoveLeaderResponse, error) {
	if err := m.mustBeAdmin(ctx); err != nil {
		return nil, err
	}
	g := m.server.group
	if g == nil {
		return nil, rpctypes.ErrGRPCBadLeaderTransferee
	}
	if !g.Glance(m.member).Leads {
		return nil, rpctypes.ErrGRPCNotLeader
	}
	to := m.server.frontend(r.TargetID)
	if to == nil || to.learner() {
		return nil, rpctypes.ErrGRPCBadLeaderTransferee
	}
	if err := g.TransferLeadership(to.member); err != nil {
		if _, ok := status.FromError(err); !ok {
			err = status.Error(codes.Unknown, "etcdserver: request timed out, leader transfer took too long")
		}
		return nil, err
	}
	return &pb.MoveLeaderResponse{}, nil
}
