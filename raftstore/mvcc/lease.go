package mvcc

import (
	"cmp"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// Limits of a lease's time to live, in seconds: etcd's own maximum, and the
// minimum it computes for the default election timeout of 1 s.
const (
	MinLeaseTTL = 2
	MaxLeaseTTL = 9_000_000_000
)

// lease is a promise to delete some keys together. Its TTL is only remembered here;
// whoever watches the clock proposes the revocation.
//
// Mirrors etcd server/lease/lessor.go Lease.
type lease struct {
	id, ttl   int64
	remaining int64 // seconds it had left at the last checkpoint; 0: all
	keys      map[string]struct{}
}

// Lease is a granted lease as seen from outside.
type Lease struct {
	ID   int64
	TTL  int64    // seconds, as granted
	Keys []string // attached keys, sorted

	// RemainingTTL is what it had left at the last LeaseCheckpoint; 0: all.
	RemainingTTL int64
}

// Lease looks up one lease.
func (s *Store) Lease(id int64) (Lease, bool) {
	l, ok := s.leases.Get(&lease{id: id})
	if !ok {
		return Lease{}, false
	}
	return l.seen(), true
}

// Leases lists the granted leases by ID.
func (s *Store) Leases() []Lease {
	var ls []Lease
	s.leases.Scan(func(l *lease) bool {
		ls = append(ls, l.seen())
		return true
	})
	return ls
}

// LeaseTTL is how many seconds a lease has from a renewal on: what is left of
// it at the last checkpoint, or all. It costs nothing.
func (s *Store) LeaseTTL(id int64) (ttl int64, ok bool) {
	l, ok := s.leases.Get(&lease{id: id})
	if !ok {
		return 0, false
	}
	return cmp.Or(l.remaining, l.ttl), true
}

func (l *lease) seen() Lease {
	return Lease{ID: l.id, TTL: l.ttl, RemainingTTL: l.remaining, Keys: l.sortedKeys()}
}

func (l *lease) sortedKeys() []string {
	keys := make([]string, 0, len(l.keys))
	for k := range l.keys {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// leaseGrant makes a lease. The ID must be given: in etcd the server that
// receives the request draws one before it proposes.
func (s *Store) leaseGrant(r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	if r.ID == 0 {
		return nil, rpctypes.ErrGRPCLeaseNotFound
	}
	if r.TTL > MaxLeaseTTL {
		return nil, rpctypes.ErrGRPCLeaseTTLTooLarge
	}
	if _, ok := s.leases.Get(&lease{id: r.ID}); ok {
		return nil, rpctypes.ErrGRPCLeaseExist
	}
	l := &lease{id: r.ID, ttl: max(r.TTL, MinLeaseTTL), keys: map[string]struct{}{}}
	s.leases.Set(l)
	return &pb.LeaseGrantResponse{Header: header(s.currentRev), ID: l.id, TTL: l.ttl}, nil
}

// leaseRevoke ends a lease and deletes its keys, all in one revision.
func (s *Store) leaseRevoke(r *pb.LeaseRevokeRequest, res *Result) (*pb.LeaseRevokeResponse, error) {
	l, ok := s.leases.Get(&lease{id: r.ID})
	if !ok {
		return nil, rpctypes.ErrGRPCLeaseNotFound
	}
	w := s.write(res)
	for _, key := range l.sortedKeys() {
		if ki := s.keys[key]; ki != nil && ki.live() != nil {
			w.delete(ki)
		}
	}
	w.end()
	s.leases.Delete(l)
	return &pb.LeaseRevokeResponse{Header: header(s.currentRev)}, nil
}

// leaseCheckpoint notes how long leases still have. Leases are shared with
// snapshots, so one that changes is replaced.
func (s *Store) leaseCheckpoint(r *pb.LeaseCheckpointRequest) (*pb.LeaseCheckpointResponse, error) {
	for _, c := range r.Checkpoints {
		if l, ok := s.leases.Get(&lease{id: c.ID}); ok {
			s.leases.Set(&lease{id: l.id, ttl: l.ttl, remaining: c.Remaining_TTL, keys: l.keys})
		}
	}
	return &pb.LeaseCheckpointResponse{Header: header(s.currentRev)}, nil
}

func (s *Store) attach(id int64, key string) {
	if l, ok := s.leases.Get(&lease{id: id}); ok {
		l.keys[key] = struct{}{}
	}
}

func (s *Store) detach(id int64, key string) {
	if id == 0 {
		return
	}
	if l, ok := s.leases.Get(&lease{id: id}); ok {
		delete(l.keys, key)
	}
}
