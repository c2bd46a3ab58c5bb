package mvcc

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

func (s *Store) put(r *pb.PutRequest, res *Result) (*pb.PutResponse, error) {
	if err := checkPut(r); err != nil {
		return nil, err
	}
	if err := s.checkPutState(r); err != nil {
		return nil, err
	}
	w := s.write(res)
	defer w.end()
	return w.putRequest(r), nil
}

// checkPutState refuses what cannot be written to the store as it is now.
// Inside a transaction it is asked of the store before the transaction, as
// etcd does, because half a transaction must not happen.
func (s *Store) checkPutState(r *pb.PutRequest) error {
	if r.Lease != 0 {
		if _, ok := s.leases.Get(&lease{id: r.Lease}); !ok {
			return rpctypes.ErrGRPCLeaseNotFound
		}
	}
	if (r.IgnoreValue || r.IgnoreLease) && s.live(r.Key) == nil {
		return rpctypes.ErrGRPCKeyNotFound
	}
	return nil
}

// putRequest executes a checked put.
func (w *writeTxn) putRequest(r *pb.PutRequest) *pb.PutResponse {
	resp := &pb.PutResponse{Header: header(w.beginRev + 1)}
	value, leaseID := r.Value, r.Lease
	if r.IgnoreValue || r.IgnoreLease || r.PrevKv {
		prev := w.s.live(r.Key)
		if r.IgnoreValue {
			value = prev.GetValue()
		}
		if r.IgnoreLease {
			leaseID = prev.GetLease()
		}
		if r.PrevKv {
			resp.PrevKv = prev
		}
	}
	w.put(r.Key, value, leaseID)
	return resp
}

// live is a key's present state, nil if it does not exist.
func (s *Store) live(key []byte) *mvccpb.KeyValue {
	return s.keys[string(key)].live()
}
