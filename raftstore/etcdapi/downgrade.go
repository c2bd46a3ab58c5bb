package etcdapi

import (
	"context"

	"github.com/coreos/go-semver/semver"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/membershippb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/api/v3/version"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kviz/raftstore"
	"kviz/raftstore/apply"
)

// versionsAt is what a member knows of the cluster's version.
func (f *frontend) versionsAt(member string) apply.Versions {
	if s, ok := f.server.store.(raftstore.Versioned); ok {
		if v, err := s.VersionsAt(member); err == nil {
			return v
		}
	}
	return apply.Versions{Cluster: apply.ClusterVersion} // it is down: nobody gets to see it
}

// Downgrade prepares the cluster for members of the version before, as etcd: the
// log says that it is to happen, then which version the cluster has, and from
// then on every member's storage says that version too.
//
// What would follow with etcd does not here: there is no older program of kviz
// that could take a member's place. The downgrade stays under way until it is
// canceled, and then the cluster is of 3.7 again.
//
// Mirrors etcd server/etcdserver/v3_server.go Downgrade and
// server/etcdserver/version/version.go Manager.
func (m *maintenanceServer) Downgrade(ctx context.Context, r *pb.DowngradeRequest) (*pb.DowngradeResponse, error) {
	if err := m.mustBeAdmin(ctx); err != nil {
		return nil, err
	}
	resp := &pb.DowngradeResponse{Version: version.Cluster(m.versionsAt(m.member).Cluster)}
	var err error
	switch r.Action {
	case pb.DowngradeRequest_VALIDATE:
		_, err = m.downgradable(ctx, r.Version)
	case pb.DowngradeRequest_ENABLE:
		err = m.downgrade(ctx, r.Version)
	case pb.DowngradeRequest_CANCEL:
		m.stay(ctx)
	default:
		err = status.Error(codes.Unknown, "etcdserver: unknown method")
	}
	if err != nil {
		return nil, err
	}
	resp.Header = m.header(m.revision())
	return resp, nil
}

// downgradable says whether the cluster can be downgraded to a version.
func (m *maintenanceServer) downgradable(ctx context.Context, text string) (target *semver.Version, err error) {
	if target, err = semver.NewVersion(text); err != nil {
		if target, err = semver.NewVersion(text + ".0"); err != nil {
			return nil, rpctypes.ErrGRPCWrongDowngradeVersionFormat
		}
	}
	target = &semver.Version{Major: target.Major, Minor: target.Minor}
	now, err := m.newestVersions(ctx)
	if err != nil {
		return nil, err
	}
	cluster := semver.New(now.Cluster)
	if !target.Equal(semver.Version{Major: cluster.Major, Minor: cluster.Minor - 1}) {
		return nil, rpctypes.ErrGRPCInvalidDowngradeTargetVersion
	}
	if now.Downgrading {
		return nil, rpctypes.ErrGRPCDowngradeInProcess
	}
	return target, nil
}

// newestVersions is the cluster's version as all members know it. If that is not the
// version that the cluster should have by now, it is set first. In etcd the leader
// looks every four seconds whether it should; here nothing but a downgrade changes
// what it should be, so whoever asks for one sees to it.
//
// Mirrors etcd server/etcdserver/version/monitor.go UpdateClusterVersionIfNeeded.
func (m *maintenanceServer) newestVersions(ctx context.Context) (now apply.Versions, err error) {
	if _, err := m.barrier(ctx); err != nil {
		return now, err
	}
	at := m.member
	if m.server.group != nil {
		at = m.server.group.Leader()
	}
	now = m.versionsAt(at)
	if now.Cluster != now.Wanted() {
		now.Cluster = now.Wanted()
		_, err = m.change(ctx, &pb.InternalRaftRequest{ClusterVersionSet: &membershippb.ClusterVersionSetRequest{Ver: now.Cluster}})
	}
	return now, err
}

func (m *maintenanceServer) downgrade(ctx context.Context, text string) error {
	target, err := m.downgradable(ctx, text)
	if err != nil {
		return err
	}
	set := &membershippb.DowngradeInfoSetRequest{Enabled: true, Ver: target.String()}
	if _, err := m.change(ctx, &pb.InternalRaftRequest{DowngradeInfoSet: set}); err != nil {
		return err
	}
	_, err = m.newestVersions(ctx)
	return err
}

// stay ends a downgrade. Why it could not etcd only writes to its log.
func (m *maintenanceServer) stay(ctx context.Context) {
	if now, err := m.newestVersions(ctx); err != nil || !now.Downgrading {
		return
	}
	if _, err := m.change(ctx, &pb.InternalRaftRequest{DowngradeInfoSet: &membershippb.DowngradeInfoSetRequest{}}); err == nil {
		_, _ = m.newestVersions(ctx)
	}
}
