package etcdapi

import (
	"context"
	"errors"
	"io"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// leaseServer is etcd's Lease service over leases that do not expire.
type leaseServer struct {
	pb.UnimplementedLeaseServer
	*face
}

// LeaseGrant makes a lease.
func (l *leaseServer) LeaseGrant(ctx context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	return answer[*pb.LeaseGrantResponse](l.do(ctx, &pb.InternalRaftRequest{LeaseGrant: r}))
}

// LeaseRevoke ends a lease and deletes its keys, all in one revision.
func (l *leaseServer) LeaseRevoke(ctx context.Context, r *pb.LeaseRevokeRequest) (*pb.LeaseRevokeResponse, error) {
	return answer[*pb.LeaseRevokeResponse](l.do(ctx, &pb.InternalRaftRequest{LeaseRevoke: r}))
}

// LeaseKeepAlive answers each request with the lease's time to live, 0 if it
// is gone.
func (l *leaseServer) LeaseKeepAlive(stream pb.Lease_LeaseKeepAliveServer) error {
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := l.barrier(stream.Context()); err != nil {
			return err
		}
		// What is not there has a time to live of 0, in the answer too.
		lease, _, err := l.server.history.Lease(r.ID)
		if err != nil {
			return err
		}
		if err := stream.Send(&pb.LeaseKeepAliveResponse{Header: l.header(l.server.history.Revision()), ID: r.ID, TTL: lease.TTL}); err != nil {
			return err
		}
	}
}

// LeaseTimeToLive tells of one lease. No clock runs, so that what remains is
// what was granted; -1 if there is no such lease.
func (l *leaseServer) LeaseTimeToLive(ctx context.Context, r *pb.LeaseTimeToLiveRequest) (*pb.LeaseTimeToLiveResponse, error) {
	if err := l.barrier(ctx); err != nil {
		return nil, err
	}
	lease, ok, err := l.server.history.Lease(r.ID)
	if err != nil {
		return nil, err
	}
	resp := &pb.LeaseTimeToLiveResponse{Header: l.header(l.server.history.Revision()), ID: r.ID, TTL: -1}
	if ok {
		resp.TTL, resp.GrantedTTL = lease.TTL, lease.TTL
		if r.Keys {
			for _, k := range lease.Keys {
				resp.Keys = append(resp.Keys, []byte(k))
			}
		}
	}
	return resp, nil
}

// LeaseLeases lists the leases by ID.
func (l *leaseServer) LeaseLeases(ctx context.Context, _ *pb.LeaseLeasesRequest) (*pb.LeaseLeasesResponse, error) {
	if err := l.barrier(ctx); err != nil {
		return nil, err
	}
	leases, err := l.server.history.Leases()
	if err != nil {
		return nil, err
	}
	resp := &pb.LeaseLeasesResponse{Header: l.header(l.server.history.Revision())}
	for _, lease := range leases {
		resp.Leases = append(resp.Leases, &pb.LeaseStatus{ID: lease.ID})
	}
	return resp, nil
}
