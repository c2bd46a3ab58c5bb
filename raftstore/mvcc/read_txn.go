package mvcc

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// ReadOnly reports whether a transaction only reads, whichever branch it takes.
// One in which another is nested does not count as such.
//
// Mirrors etcd server/etcdserver/txn/txn.go IsTxnReadonly.
func ReadOnly(r *pb.TxnRequest) bool { return onlyRanges(r.Success) && onlyRanges(r.Failure) }

func onlyRanges(ops []*pb.RequestOp) bool {
	for _, op := range ops {
		if op.GetRequestRange() == nil {
			return false
		}
	}
	return true
}

// ReadTxn runs a transaction that only reads ([ReadOnly]). Like [Store.Range] it
// changes nothing: any number may run at a time.
func (s *Store) ReadTxn(r *pb.TxnRequest) (*pb.TxnResponse, error) {
	if err := checkTxn(r); err != nil {
		return nil, err
	}
	var path path
	s.choose(r, &path)
	walk := path
	if err := s.checkTxnState(r, &walk); err != nil {
		return nil, err
	}
	w := s.write(&Result{})
	resp, err := w.execute(r, &path)
	if err != nil {
		return nil, err
	}
	resp.Header = header(w.rev())
	return resp, nil
}
