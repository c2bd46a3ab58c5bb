package etcdapi

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/auth"

	"kviz/raftstore/mvcc"
)

// leaseServer is etcd's Lease service.
//
// Mirrors etcd server/etcdserver/api/v3rpc/lease.go and
// server/etcdserver/v3_server.go.
type leaseServer struct {
	pb.UnimplementedLeaseServer
	*frontend
}

// LeaseGrant makes a lease, with an ID drawn at random if none is given.
func (l *leaseServer) LeaseGrant(ctx context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	if err := l.room(ctx, leaseOverhead); err != nil {
		return nil, err
	}
	if err := l.mustBeSomebody(ctx); err != nil {
		return nil, err
	}
	for r.ID == 0 {
		r.ID = drawID()
	}
	resp, err := answer[*pb.LeaseGrantResponse](l.change(ctx, &pb.InternalRaftRequest{LeaseGrant: r}))
	if err == nil {
		l.numbers.Granted.Inc()
		l.numbers.LeaseTTL.Observe(float64(resp.TTL))
		l.fill(resp.Header)
	}
	return resp, err
}

// drawID is a positive number that nobody has drawn before, as etcd's
// idutil gives.
func drawID() int64 {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err) // the system has no randomness
	}
	return int64(binary.BigEndian.Uint64(b[:]) & math.MaxInt64)
}

// fill adds the revision to the header of an answer that has none.
func (f *frontend) fill(h *pb.ResponseHeader) {
	if h != nil && h.Revision == 0 {
		h.Revision = f.revision()
	}
}

// LeaseRevoke ends a lease and deletes its keys, all in one revision.
func (l *leaseServer) LeaseRevoke(ctx context.Context, r *pb.LeaseRevokeRequest) (*pb.LeaseRevokeResponse, error) {
	if err := l.mustBeSomebody(ctx); err != nil {
		return nil, err
	}
	resp, err := answer[*pb.LeaseRevokeResponse](l.change(ctx, &pb.InternalRaftRequest{LeaseRevoke: r}))
	if err == nil {
		l.numbers.Revoked.Inc()
		l.fill(resp.Header)
	}
	return resp, err
}

// LeaseKeepAlive answers each request with the lease's time to live, 0 if it
// is gone.
func (l *leaseServer) LeaseKeepAlive(stream pb.Lease_LeaseKeepAliveServer) error {
	open := l.open.Load()
	if open == nil {
		return rpctypes.ErrGRPCStopped
	}
	ended := make(chan error, 1)
	l.server.begin("keep leases alive", func() {
		err := errPanicked
		defer func() { ended <- err }()
		err = l.keepAlive(stream)
	})
	select {
	case err := <-ended:
		return err
	case <-stream.Context().Done():
		return stream.Context().Err()
	case <-open.done:
		return rpctypes.ErrGRPCStopped
	}
}

func (l *leaseServer) keepAlive(stream pb.Lease_LeaseKeepAliveServer) error {
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		// The header is from before: no revision after the renewal may be sent, at
		// which the lease could be gone.
		resp := &pb.LeaseKeepAliveResponse{Header: l.header(l.revision()), ID: r.ID}
		resp.TTL, err = l.renew(stream.Context(), r.ID)
		if err != nil {
			return err
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
}

// renew asks the leader's lessor; 0 for a lease that is gone.
func (l *leaseServer) renew(ctx context.Context, id int64) (int64, error) {
	if err := l.reachLeader(ctx); err != nil {
		return 0, err
	}
	if err := l.mayTouch(ctx, id); err != nil {
		return 0, err
	}
	ttl, err := l.server.store.Renew(ctx, id)
	if errors.Is(err, rpctypes.ErrGRPCLeaseNotFound) {
		return 0, nil
	}
	if err == nil {
		l.numbers.Renewed.Inc()
	}
	return ttl, err
}

// reachLeader waits until the member reaches the leader.
func (f *frontend) reachLeader(ctx context.Context) error {
	if f.reaches() {
		return nil
	}
	open := f.open.Load()
	if open == nil {
		return rpctypes.ErrGRPCStopped
	}
	return asTimeout(f.awaitLeader(ctx, open, time.Now().Add(requestTimeout)))
}

// mayTouch asks whether the caller may write every key of a lease.
//
// Mirrors etcd server/etcdserver/v3_server.go checkLeaseRenew.
func (l *leaseServer) mayTouch(ctx context.Context, id int64) error {
	return l.overKeys(ctx, func(users auth.AuthStore, info *auth.AuthInfo) error {
		lease, _, err := l.server.store.Lease(id)
		if err != nil {
			return err
		}
		for _, key := range lease.Keys {
			if err := users.IsPutPermitted(info, []byte(key)); err != nil {
				return err
			}
		}
		return nil
	})
}

// overKeys asks check, unless authentication is off or an administrator asks.
func (l *leaseServer) overKeys(ctx context.Context, check func(auth.AuthStore, *auth.AuthInfo) error) error {
	return l.permitted(ctx, func(users auth.AuthStore, info *auth.AuthInfo) error {
		if info.Username == "" {
			return auth.ErrUserEmpty
		}
		if users.IsAdminPermitted(info) == nil {
			return nil
		}
		return check(users, info)
	})
}

// mayRead asks whether the caller may read every key of a lease.
func (l *leaseServer) mayReadKeys(users auth.AuthStore, info *auth.AuthInfo, lease mvcc.Lease) error {
	for _, key := range lease.Keys {
		if err := users.IsRangePermitted(info, []byte(key), []byte{}); err != nil {
			return err
		}
	}
	return nil
}

// LeaseTimeToLive returns a lease's remaining TTL; -1 if there is no such lease.
func (l *leaseServer) LeaseTimeToLive(ctx context.Context, r *pb.LeaseTimeToLiveRequest) (*pb.LeaseTimeToLiveResponse, error) {
	if err := l.mustBeSomebody(ctx); err != nil {
		return nil, err
	}
	// Whether it is there is the leader's to say, once everything before is applied.
	if _, err := l.barrier(ctx); err != nil {
		return nil, err
	}
	left, lease, ok, err := l.server.store.Remaining(r.ID)
	if err != nil {
		return nil, err
	}
	resp := &pb.LeaseTimeToLiveResponse{Header: l.header(l.revision()), ID: r.ID, TTL: -1}
	if !ok {
		return resp, nil
	}
	if r.Keys {
		err := l.overKeys(ctx, func(users auth.AuthStore, info *auth.AuthInfo) error { return l.mayReadKeys(users, info, lease) })
		if err != nil {
			return nil, err
		}
		for _, k := range lease.Keys {
			resp.Keys = append(resp.Keys, []byte(k))
		}
	}
	resp.TTL, resp.GrantedTTL = int64(left.Seconds()), lease.TTL
	return resp, nil
}

// LeaseLeases lists the leases by ID. It is not linearizable, in etcd neither.
func (l *leaseServer) LeaseLeases(ctx context.Context, _ *pb.LeaseLeasesRequest) (*pb.LeaseLeasesResponse, error) {
	leases, err := l.server.store.Leases()
	if err != nil {
		return nil, err
	}
	err = l.overKeys(ctx, func(users auth.AuthStore, info *auth.AuthInfo) error {
		for _, lease := range leases {
			if err := l.mayReadKeys(users, info, lease); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	resp := &pb.LeaseLeasesResponse{Header: l.header(l.revision())}
	for _, lease := range leases {
		resp.Leases = append(resp.Leases, &pb.LeaseStatus{ID: lease.ID})
	}
	return resp, nil
}
