package mvcc

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// MaxTxnOps is etcd's default limit of compares and of requests in one
// transaction (--max-txn-ops).
const MaxTxnOps = 128

// The checks of this file look at the request alone. They mirror etcd
// server/etcdserver/api/v3rpc/key.go.

// Check refuses a request that no state of the store could grant. [Store.Apply]
// asks it too.
func Check(req *pb.InternalRaftRequest) error {
	switch {
	case req.Range != nil:
		return checkRange(req.Range)
	case req.Put != nil:
		return checkPut(req.Put)
	case req.DeleteRange != nil:
		return checkDelete(req.DeleteRange)
	case req.Txn != nil:
		return checkTxn(req.Txn)
	}
	return nil
}

func checkRange(r *pb.RangeRequest) error {
	if len(r.GetKey()) == 0 {
		return rpctypes.ErrGRPCEmptyKey
	}
	_, order := pb.RangeRequest_SortOrder_name[int32(r.SortOrder)]
	_, target := pb.RangeRequest_SortTarget_name[int32(r.SortTarget)]
	if !order || !target {
		return rpctypes.ErrGRPCInvalidSortOption
	}
	return nil
}

func checkPut(r *pb.PutRequest) error {
	switch {
	case len(r.GetKey()) == 0:
		return rpctypes.ErrGRPCEmptyKey
	case r.IgnoreValue && len(r.Value) != 0:
		return rpctypes.ErrGRPCValueProvided
	case r.IgnoreLease && r.Lease != 0:
		return rpctypes.ErrGRPCLeaseProvided
	}
	return nil
}

func checkDelete(r *pb.DeleteRangeRequest) error {
	if len(r.GetKey()) == 0 {
		return rpctypes.ErrGRPCEmptyKey
	}
	return nil
}

func checkTxn(r *pb.TxnRequest) error {
	if err := checkTxnOps(r, MaxTxnOps); err != nil {
		return err
	}
	for _, ops := range [2][]*pb.RequestOp{r.GetSuccess(), r.GetFailure()} {
		if len(ops) == 1 && ops[0].GetRequestTxn() == nil {
			continue // one request changes no key twice
		}
		if _, _, err := changedKeys(ops); err != nil {
			return err
		}
	}
	return nil
}

func checkTxnOps(r *pb.TxnRequest, most int) error {
	n := max(len(r.GetCompare()), len(r.GetSuccess()), len(r.GetFailure()))
	if n > most {
		return rpctypes.ErrGRPCTooManyOps
	}
	for _, c := range r.GetCompare() {
		if len(c.Key) == 0 {
			return rpctypes.ErrGRPCEmptyKey
		}
	}
	for _, ops := range [2][]*pb.RequestOp{r.GetSuccess(), r.GetFailure()} {
		for _, op := range ops {
			if err := checkOp(op, most-n); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkOp(op *pb.RequestOp, most int) error {
	switch o := op.GetRequest().(type) {
	case *pb.RequestOp_RequestRange:
		return checkRange(o.RequestRange)
	case *pb.RequestOp_RequestPut:
		return checkPut(o.RequestPut)
	case *pb.RequestOp_RequestDeleteRange:
		return checkDelete(o.RequestDeleteRange)
	case *pb.RequestOp_RequestTxn:
		if o.RequestTxn == nil {
			return rpctypes.ErrGRPCKeyNotFound
		}
		return checkTxnOps(o.RequestTxn, most)
	}
	return rpctypes.ErrGRPCKeyNotFound
}

// interval is the keys [from, to) of a delete, or from alone when to is "".
type interval struct{ from, to string }

func (i interval) has(key string) bool {
	if i.to == "" {
		return key == i.from
	}
	return i.from <= key && key < i.to
}

// changedKeys collects what a list of requests puts and deletes, and refuses a
// key that is put twice, or put and deleted: all of a transaction happens at
// one revision, so neither would be last. The two branches of a nested
// transaction exclude one another and may put the same key.
//
// Mirrors etcd server/etcdserver/api/v3rpc/key.go checkIntervals, with its gap:
// an open-ended delete ("\0") is not found to overlap with anything.
func changedKeys(ops []*pb.RequestOp) (puts map[string]bool, dels []interval, err error) {
	if len(ops) == 0 || len(ops) == 1 && ops[0].GetRequestPut() == nil && ops[0].GetRequestTxn() == nil && ops[0].GetRequestDeleteRange() == nil {
		return nil, nil, nil // the hot path of an API server: a failure branch of one range
	}
	puts = map[string]bool{}
	for _, op := range ops {
		if d := op.GetRequestDeleteRange(); d != nil {
			dels = append(dels, interval{string(d.Key), string(d.RangeEnd)})
		}
	}
	add := func(key string, safe map[string]bool) error {
		if puts[key] && !safe[key] {
			return rpctypes.ErrGRPCDuplicateKey
		}
		for _, d := range dels {
			if d.has(key) {
				return rpctypes.ErrGRPCDuplicateKey
			}
		}
		puts[key] = true
		return nil
	}
	for _, op := range ops {
		nested := op.GetRequestTxn()
		if nested == nil {
			continue
		}
		putsThen, delsThen, err := changedKeys(nested.Success)
		if err != nil {
			return nil, nil, err
		}
		putsElse, delsElse, err := changedKeys(nested.Failure)
		if err != nil {
			return nil, nil, err
		}
		for key := range putsThen {
			if err := add(key, nil); err != nil {
				return nil, nil, err
			}
		}
		for key := range putsElse {
			if err := add(key, putsThen); err != nil {
				return nil, nil, err
			}
		}
		dels = append(append(dels, delsThen...), delsElse...)
	}
	for _, op := range ops {
		if p := op.GetRequestPut(); p != nil {
			if err := add(string(p.Key), nil); err != nil {
				return nil, nil, err
			}
		}
	}
	return puts, dels, nil
}

// CheckRange refuses a request that no store can answer, by the request alone,
// as etcd's API does; so do the others.
func CheckRange(r *pb.RangeRequest) error { return checkRange(r) }

// CheckPut is for a Put.
func CheckPut(r *pb.PutRequest) error { return checkPut(r) }

// CheckDelete is for a DeleteRange.
func CheckDelete(r *pb.DeleteRangeRequest) error { return checkDelete(r) }

// CheckTxn is for a Txn and everything nested in it.
func CheckTxn(r *pb.TxnRequest) error { return checkTxn(r) }
