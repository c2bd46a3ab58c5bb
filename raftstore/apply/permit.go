package apply

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/auth"
)

// permit says whether whoever asks may have what a key-value request touches.
//
// Mirrors etcd server/etcdserver/apply/auth.go authApplierV3.
func (s *State) permit(req *pb.InternalRaftRequest) error {
	who := whoAsks(req)
	switch {
	case req.Range != nil:
		return s.auth.IsRangePermitted(who, req.Range.Key, req.Range.RangeEnd)
	case req.Put != nil:
		return s.permitPut(who, req.Put)
	case req.DeleteRange != nil:
		r := req.DeleteRange
		if err := s.auth.IsDeleteRangePermitted(who, r.Key, r.RangeEnd); err != nil {
			return err
		}
		if r.PrevKv {
			return s.auth.IsRangePermitted(who, r.Key, r.RangeEnd)
		}
	case req.Txn != nil:
		return s.permitTxn(who, req.Txn)
	case req.LeaseRevoke != nil:
		return s.permitLease(who, req.LeaseRevoke.ID)
	}
	return nil
}

func whoAsks(req *pb.InternalRaftRequest) *auth.AuthInfo {
	return &auth.AuthInfo{Username: req.GetHeader().GetUsername(), Revision: req.GetHeader().GetAuthRevision()}
}

func (s *State) permitPut(who *auth.AuthInfo, r *pb.PutRequest) error {
	if err := s.auth.IsPutPermitted(who, r.Key); err != nil {
		return err
	}
	// Who must not write a key of the lease cannot revoke the lease, and so must
	// not hang another key on it.
	if err := s.permitLease(who, r.Lease); err != nil {
		return err
	}
	if r.PrevKv {
		return s.auth.IsRangePermitted(who, r.Key, nil)
	}
	return nil
}

func (s *State) permitLease(who *auth.AuthInfo, id int64) error {
	if id == 0 || s.auth.IsAdminPermitted(who) == nil {
		return nil
	}
	l, ok := s.KV.Lease(id)
	if !ok {
		return nil
	}
	for _, key := range l.Keys {
		if err := s.auth.IsPutPermitted(who, []byte(key)); err != nil {
			return err
		}
	}
	return nil
}

// permitTxn looks at both branches, also at the one that will not be taken.
func (s *State) permitTxn(who *auth.AuthInfo, r *pb.TxnRequest) error {
	for _, c := range r.Compare {
		if err := s.auth.IsRangePermitted(who, c.Key, c.RangeEnd); err != nil {
			return err
		}
	}
	for _, ops := range [][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range ops {
			if err := s.permitOp(who, op); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *State) permitOp(who *auth.AuthInfo, op *pb.RequestOp) error {
	switch o := op.Request.(type) {
	case *pb.RequestOp_RequestRange:
		return s.auth.IsRangePermitted(who, o.RequestRange.Key, o.RequestRange.RangeEnd)
	case *pb.RequestOp_RequestPut:
		return s.permitPut(who, o.RequestPut)
	case *pb.RequestOp_RequestDeleteRange:
		r := o.RequestDeleteRange
		if r.PrevKv {
			if err := s.auth.IsRangePermitted(who, r.Key, r.RangeEnd); err != nil {
				return err
			}
		}
		return s.auth.IsDeleteRangePermitted(who, r.Key, r.RangeEnd)
	case *pb.RequestOp_RequestTxn:
		return s.permitTxn(who, o.RequestTxn)
	}
	return nil
}

// onlyAdmin are the requests that only root's role may make.
//
// Mirrors etcd server/etcdserver/apply/auth.go needAdminPermission.
func onlyAdmin(r *pb.InternalRaftRequest) bool {
	return r.AuthEnable != nil || r.AuthDisable != nil ||
		r.AuthUserAdd != nil || r.AuthUserDelete != nil || r.AuthUserChangePassword != nil ||
		r.AuthUserGrantRole != nil || r.AuthUserRevokeRole != nil || r.AuthUserList != nil ||
		r.AuthRoleAdd != nil || r.AuthRoleDelete != nil || r.AuthRoleList != nil ||
		r.AuthRoleGrantPermission != nil || r.AuthRoleRevokePermission != nil
}
