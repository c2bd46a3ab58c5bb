package mvcc

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// txn executes a transaction: if all compares hold the success branch, else
// the failure branch. Every compare, those of nested transactions too, is
// evaluated before anything is written, against the store as it was.
//
// Mirrors etcd server/etcdserver/txn/txn.go Txn.
func (s *Store) txn(r *pb.TxnRequest, res *Result) (*pb.TxnResponse, error) {
	if err := checkTxn(r); err != nil {
		return nil, err
	}
	var path path
	s.choose(r, &path)
	walk := path
	if err := s.checkTxnState(r, &walk); err != nil {
		return nil, err
	}
	w := s.write(res)
	defer w.end()
	resp, err := w.execute(r, &path)
	if err != nil {
		return nil, err
	}
	resp.Header = header(w.rev())
	return resp, nil
}

// path is which branch each transaction takes, in the order in which they are
// met: the outer one, then those nested in its chosen branch.
type path []bool

func (p *path) next() bool {
	b := (*p)[0]
	*p = (*p)[1:]
	return b
}

// choose evaluates the compares of r and of everything nested in the branch it
// takes.
func (s *Store) choose(r *pb.TxnRequest, p *path) {
	holds := s.holdAll(r.Compare)
	*p = append(*p, holds)
	for _, op := range branch(r, holds) {
		if nested := op.GetRequestTxn(); nested != nil {
			s.choose(nested, p)
		}
	}
}

func branch(r *pb.TxnRequest, succeeded bool) []*pb.RequestOp {
	if succeeded {
		return r.Success
	}
	return r.Failure
}

// checkTxnState refuses a transaction if one of its requests could not be executed,
// before any of them is.
func (s *Store) checkTxnState(r *pb.TxnRequest, p *path) error {
	for _, op := range branch(r, p.next()) {
		var err error
		switch o := op.Request.(type) {
		case *pb.RequestOp_RequestRange:
			err = s.checkTxnRevision(o.RequestRange.Revision)
		case *pb.RequestOp_RequestPut:
			err = s.checkPutState(o.RequestPut)
		case *pb.RequestOp_RequestTxn:
			err = s.checkTxnState(o.RequestTxn, p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// execute runs a checked transaction. Requests see what earlier ones wrote.
func (w *writeTxn) execute(r *pb.TxnRequest, p *path) (*pb.TxnResponse, error) {
	succeeded := p.next()
	ops := branch(r, succeeded)
	resp := &pb.TxnResponse{Succeeded: succeeded, Responses: make([]*pb.ResponseOp, len(ops))}
	for i, op := range ops {
		switch o := op.Request.(type) {
		case *pb.RequestOp_RequestRange:
			rr, err := w.s.rangeAt(o.RequestRange, w.rev())
			if err != nil {
				return nil, err
			}
			resp.Responses[i] = &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: rr}}
		case *pb.RequestOp_RequestPut:
			resp.Responses[i] = &pb.ResponseOp{Response: &pb.ResponseOp_ResponsePut{ResponsePut: w.putRequest(o.RequestPut)}}
		case *pb.RequestOp_RequestDeleteRange:
			resp.Responses[i] = &pb.ResponseOp{Response: &pb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: w.deleteRequest(o.RequestDeleteRange)}}
		case *pb.RequestOp_RequestTxn:
			nested, err := w.execute(o.RequestTxn, p)
			if err != nil {
				return nil, err
			}
			nested.Header = &pb.ResponseHeader{}
			resp.Responses[i] = &pb.ResponseOp{Response: &pb.ResponseOp_ResponseTxn{ResponseTxn: nested}}
		}
	}
	return resp, nil
}
