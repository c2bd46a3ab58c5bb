package etcdapi

import (
	"context"

	"go.etcd.io/etcd/server/v3/etcdserver/api/v3election"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3election/v3electionpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3lock"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3lock/v3lockpb"
)

// lockServer is etcd's lock service: etcd's own code over a client of this
// address.
type lockServer struct {
	v3lockpb.UnimplementedLockServer
	in *inside
}

func (l lockServer) recipe() (v3lockpb.LockServer, error) {
	c, err := l.in.etcd()
	if err != nil {
		return nil, err
	}
	return v3lock.NewLockServer(c), nil
}

// Lock waits until it has the lock.
func (l lockServer) Lock(ctx context.Context, r *v3lockpb.LockRequest) (*v3lockpb.LockResponse, error) {
	s, err := l.recipe()
	if err != nil {
		return nil, err
	}
	return s.Lock(ctx, r)
}

// Unlock gives it back.
func (l lockServer) Unlock(ctx context.Context, r *v3lockpb.UnlockRequest) (*v3lockpb.UnlockResponse, error) {
	s, err := l.recipe()
	if err != nil {
		return nil, err
	}
	return s.Unlock(ctx, r)
}

// electionServer is etcd's election service, likewise.
type electionServer struct {
	v3electionpb.UnimplementedElectionServer
	in *inside
}

func (e electionServer) recipe() (v3electionpb.ElectionServer, error) {
	c, err := e.in.etcd()
	if err != nil {
		return nil, err
	}
	return v3election.NewElectionServer(c), nil
}

// Campaign waits until it is elected.
func (e electionServer) Campaign(ctx context.Context, r *v3electionpb.CampaignRequest) (*v3electionpb.CampaignResponse, error) {
	s, err := e.recipe()
	if err != nil {
		return nil, err
	}
	return s.Campaign(ctx, r)
}

// Proclaim changes what the elected one says.
func (e electionServer) Proclaim(ctx context.Context, r *v3electionpb.ProclaimRequest) (*v3electionpb.ProclaimResponse, error) {
	s, err := e.recipe()
	if err != nil {
		return nil, err
	}
	return s.Proclaim(ctx, r)
}

// Leader returns the elected leader.
func (e electionServer) Leader(ctx context.Context, r *v3electionpb.LeaderRequest) (*v3electionpb.LeaderResponse, error) {
	s, err := e.recipe()
	if err != nil {
		return nil, err
	}
	return s.Leader(ctx, r)
}

// Observe streams the elected leaders.
func (e electionServer) Observe(r *v3electionpb.LeaderRequest, stream v3electionpb.Election_ObserveServer) error {
	s, err := e.recipe()
	if err != nil {
		return err
	}
	return s.Observe(r, stream)
}

// Resign gives the leadership back.
func (e electionServer) Resign(ctx context.Context, r *v3electionpb.ResignRequest) (*v3electionpb.ResignResponse, error) {
	s, err := e.recipe()
	if err != nil {
		return nil, err
	}
	return s.Resign(ctx, r)
}
