package etcdapi

import (
	"context"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/api/v3/version"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kviz/raftstore"
)

// Version is the etcd whose behaviour is served; clients decide by it what
// they may ask for.
const Version = "3.7.3"

// Versions without the patch level, as etcd tells them.
const (
	clusterVersion = "3.7.0"
	storageVersion = "3.7.0"
)

// maintenanceServer is etcd's Maintenance service.
//
// Mirrors etcd server/etcdserver/api/v3rpc/maintenance.go.
type maintenanceServer struct {
	pb.UnimplementedMaintenanceServer
	*face
}

// Status tells of the member.
func (m *maintenanceServer) Status(ctx context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	if err := m.mustBeSomebody(ctx); err != nil {
		return nil, err
	}
	size, inUse, err := m.server.store.DBSize(m.member)
	if err != nil {
		return nil, err
	}
	resp := &pb.StatusResponse{
		Header: m.header(m.revision()), Version: Version, StorageVersion: storageVersion,
		Leader: m.id, DbSize: size, DbSizeInUse: inUse, DbSizeQuota: m.quota(),
		DowngradeInfo: &pb.DowngradeInfo{},
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

// Alarm tells of alarms, raises or disarms them. All of it goes through the
// log, as in etcd.
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
	to := m.server.face(r.TargetID)
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

// Downgrade is what a cluster of 3.7 says as long as every member is one: there
// is no older program here that could take over.
//
// Mirrors etcd server/etcdserver/v3_server.go Downgrade.
func (m *maintenanceServer) Downgrade(ctx context.Context, r *pb.DowngradeRequest) (*pb.DowngradeResponse, error) {
	if err := m.mustBeAdmin(ctx); err != nil {
		return nil, err
	}
	resp := &pb.DowngradeResponse{Version: version.Cluster(clusterVersion)}
	switch r.Action {
	case pb.DowngradeRequest_VALIDATE, pb.DowngradeRequest_ENABLE:
		minor, ok := majorMinor(r.Version)
		if !ok {
			return nil, rpctypes.ErrGRPCWrongDowngradeVersionFormat
		}
		if _, err := m.barrier(ctx); err != nil {
			return nil, err
		}
		if minor != "3.6" {
			return nil, rpctypes.ErrGRPCInvalidDowngradeTargetVersion
		}
		if r.Action == pb.DowngradeRequest_ENABLE {
			return nil, status.Error(codes.FailedPrecondition, "kviz serves etcd 3.7 only: there is no older member that could take over")
		}
	case pb.DowngradeRequest_CANCEL:
		// That none is under way etcd only writes to its log.
	default:
		return nil, status.Error(codes.Unknown, "etcdserver: unknown method")
	}
	resp.Header = m.header(m.revision())
	return resp, nil
}

// majorMinor reads 3.6 or 3.6.1 as 3.6.
func majorMinor(v string) (string, bool) {
	parts := strings.Split(v, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return "", false
	}
	bad := func(s string) bool { _, err := strconv.ParseUint(s, 10, 32); return err != nil }
	if slices.ContainsFunc(parts, bad) {
		return "", false
	}
	return parts[0] + "." + parts[1], true
}
