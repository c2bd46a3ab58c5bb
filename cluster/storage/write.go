package storage

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// Put is the operation that writes a value, made in one piece.
func Put(key string, value []byte) *pb.RequestOp {
	m := &struct {
		op  pb.RequestOp
		put pb.RequestOp_RequestPut
		req pb.PutRequest
	}{}
	m.req.Key, m.req.Value = []byte(key), value
	m.put.RequestPut = &m.req
	m.op.Request = &m.put
	return &m.op
}

// IfUnmoved is the transaction of every write, made in one piece: op if the
// key's modification revision is rev, else a look at the key.
func IfUnmoved(key []byte, rev int64, op *pb.RequestOp) *pb.TxnRequest {
	m := &struct {
		txn     pb.TxnRequest
		compare pb.Compare
		target  pb.Compare_ModRevision
		look    pb.RequestOp
		ranged  pb.RequestOp_RequestRange
		read    pb.RangeRequest

		compares [1]*pb.Compare
		ops      [2]*pb.RequestOp
	}{}
	m.target.ModRevision = rev
	m.compare.Result, m.compare.Target, m.compare.Key, m.compare.TargetUnion = pb.Compare_EQUAL, pb.Compare_MOD, key, &m.target
	m.read.Key = key
	m.ranged.RequestRange = &m.read
	m.look.Request = &m.ranged
	m.compares[0] = &m.compare
	m.ops = [2]*pb.RequestOp{op, &m.look}
	m.txn.Compare, m.txn.Success, m.txn.Failure = m.compares[:], m.ops[:1:1], m.ops[1:]
	return &m.txn
}
