package apply

import (
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/mvcc"
)

// Apply carries out the committed request at index in the log (0 without one). A
// refused one changes nothing; one that exceeded the quota did happen, as its events
// beside its error show.
//
// Mirrors etcd server/etcdserver/apply/uber_apply.go Apply and dispatch. The checks
// of requests alone (server/etcdserver/api/v3rpc/key.go), which etcd makes before it
// proposes, come first, so that they apply to every way into the store.
func (s *State) Apply(index uint64, req *pb.InternalRaftRequest) *mvcc.Result {
	var r *mvcc.Result
	if keyValue(req) {
		r = s.applyKV(index, req)
	} else {
		r = s.applyRest(index, req)
	}
	s.measure()
	return r
}

// keyValue reports whether the request is one for the key-value machine.
func keyValue(r *pb.InternalRaftRequest) bool {
	return r.Put != nil || r.Txn != nil || r.DeleteRange != nil || r.Range != nil || r.Compaction != nil ||
		r.LeaseGrant != nil || r.LeaseRevoke != nil || r.LeaseCheckpoint != nil
}

// applyKV asks in etcd's order: corrupt, capped, auth, quota.
func (s *State) applyKV(index uint64, req *pb.InternalRaftRequest) *mvcc.Result {
	if s.corrupt || s.capped || s.guarded {
		if err := s.refuse(req); err != nil {
			s.KV.Advance(index)
			return s.refused(err)
		}
	}
	room := s.fits(req)
	r := s.KV.Apply(index, req)
	if r.Err == nil && !room {
		r.Response, r.Err = nil, rpctypes.ErrGRPCNoSpace
	}
	return r
}

// refuse says why a request must not happen, if it must not.
func (s *State) refuse(req *pb.InternalRaftRequest) error {
	if err := mvcc.Check(req); err != nil {
		return err
	}
	switch {
	case s.corrupt && !harmless(req):
		return rpctypes.ErrGRPCCorrupt
	case s.capped && (req.Put != nil || req.LeaseGrant != nil || req.Txn != nil && cost(req) > 0):
		return rpctypes.ErrGRPCNoSpace
	}
	return s.permit(req)
}

// harmless are the requests that etcd lets pass where data is known to be
// corrupt: a checkpoint of leases, and what never gets into its log: a
// transaction that only reads.
func harmless(req *pb.InternalRaftRequest) bool {
	return req.LeaseCheckpoint != nil || req.Txn != nil && mvcc.ReadOnly(req.Txn)
}

func (s *State) refused(err error) *mvcc.Result {
	return &mvcc.Result{Err: rpcError(err), Revision: s.KV.Revision()}
}

// applyRest is for what is not the key-value machine's.
func (s *State) applyRest(index uint64, req *pb.InternalRaftRequest) *mvcc.Result {
	s.KV.Advance(index)
	resp, err := s.dispatch(index, req)
	s.guarded = s.auth.IsAuthEnabled()
	if err != nil {
		return s.refused(err)
	}
	if h, ok := resp.(interface{ GetHeader() *pb.ResponseHeader }); ok {
		h.GetHeader().Revision = s.KV.Revision()
	}
	return &mvcc.Result{Response: resp, Revision: s.KV.Revision()}
}

func (s *State) dispatch(index uint64, req *pb.InternalRaftRequest) (proto.Message, error) {
	switch {
	case req.ClusterVersionSet != nil:
		return nil, s.setClusterVersion(req.ClusterVersionSet)
	case req.DowngradeInfoSet != nil:
		return nil, s.setDowngrade(req.DowngradeInfoSet)
	case req.ClusterMemberAttrSet != nil, req.DowngradeVersionTest != nil:
		return nil, nil // what members are is raft's configuration here
	case req.Alarm != nil:
		return s.alarm(req.Alarm), nil
	}
	return s.applyAuth(index, req)
}

// Range reads, if whoever asks may; h says who does.
//
// Mirrors etcd server/etcdserver/v3_server.go Range.
func (s *State) Range(h *pb.RequestHeader, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	if err := s.MayRead(h, r); err != nil {
		return nil, err
	}
	return s.KV.Range(r)
}

// MayRead says why whoever asks must not read, if it must not.
func (s *State) MayRead(h *pb.RequestHeader, r *pb.RangeRequest) error {
	if !s.guarded {
		return nil
	}
	req := &pb.InternalRaftRequest{Header: h, Range: r}
	if err := mvcc.Check(req); err != nil {
		return err
	}
	return rpcError(s.permit(req))
}

// ReadTxn runs a transaction that only reads, if whoever asks may.
func (s *State) ReadTxn(h *pb.RequestHeader, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	if s.guarded {
		req := &pb.InternalRaftRequest{Header: h, Txn: r}
		if err := mvcc.Check(req); err != nil {
			return nil, err
		}
		if err := s.permit(req); err != nil {
			return nil, rpcError(err)
		}
	}
	return s.KV.ReadTxn(r)
}

// rpcError is the error that etcd's clients see.
//
// Mirrors etcd server/etcdserver/api/v3rpc/util.go togRPCError.
func rpcError(err error) error {
	for _, p := range rpcErrors {
		if errors.Is(err, p.inner) {
			return p.outer
		}
	}
	return err
}
