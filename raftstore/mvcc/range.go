package mvcc

import (
	"bytes"
	"slices"
	"sort"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// Range reads keys. Count is the number of keys in the range, whatever the
// limit and the revision filters leave of them; the header carries the current
// revision even for a read in the past.
//
// Mirrors etcd server/etcdserver/txn/range.go executeRange.
func (s *Store) Range(r *pb.RangeRequest) (*pb.RangeResponse, error) {
	if err := checkRange(r); err != nil {
		return nil, err
	}
	return s.rangeAt(r, s.currentRev)
}

// checkRevision refuses revisions that are not there yet or no more.
func (s *Store) checkRevision(rev, current int64) error {
	switch {
	case rev > current:
		return rpctypes.ErrGRPCFutureRev
	case rev > 0 && rev < s.compactRev:
		return rpctypes.ErrGRPCCompacted
	}
	return nil
}

// checkTxnRevision is checkRevision for a range inside a transaction. As in etcd,
// that one takes a revision below zero for one that was compacted, once anything
// was; anywhere else it means the present.
//
// Mirrors etcd server/etcdserver/txn/range.go checkRange.
func (s *Store) checkTxnRevision(rev int64) error {
	switch {
	case rev > s.currentRev:
		return rpctypes.ErrGRPCFutureRev
	case rev != 0 && rev < s.compactRev:
		return rpctypes.ErrGRPCCompacted
	}
	return nil
}

// rangeAt reads as of current, the revision the reader takes for the newest.
func (s *Store) rangeAt(r *pb.RangeRequest, current int64) (*pb.RangeResponse, error) {
	if err := s.checkRevision(r.Revision, current); err != nil {
		return nil, err
	}
	resp := &pb.RangeResponse{Header: header(current)}
	// Sorting and filtering need every key; else one more is taken than asked
	// for, to know whether there are more.
	all := !defaultOrder(r) || filtered(r)
	limit := int(r.Limit)
	s.scan(r.Key, r.RangeEnd, func(ki *keyIndex) bool {
		kv := ki.at(r.Revision, s.currentRev)
		if kv == nil {
			return true
		}
		resp.Count++
		if !r.CountOnly && (all || limit <= 0 || len(resp.Kvs) <= limit) {
			resp.Kvs = append(resp.Kvs, kv)
		}
		return true
	})
	if r.CountOnly {
		return resp, nil
	}
	if filtered(r) {
		resp.Kvs = slices.DeleteFunc(resp.Kvs, func(kv *mvccpb.KeyValue) bool { return !passes(r, kv) })
	}
	if !defaultOrder(r) || r.SortTarget != pb.RangeRequest_KEY {
		order(r, resp.Kvs)
	}
	if limit > 0 && len(resp.Kvs) > limit {
		resp.More = true
		resp.Kvs = resp.Kvs[:limit]
	}
	if r.KeysOnly {
		for i, kv := range resp.Kvs {
			resp.Kvs[i] = withoutValue(kv, r.SortTarget == pb.RangeRequest_VALUE)
		}
	}
	return resp, nil
}

// at is the state at rev, or the present one when rev is not in the past.
func (ki *keyIndex) at(rev, current int64) *mvccpb.KeyValue {
	if rev <= 0 || rev > current {
		return ki.live()
	}
	return ki.get(rev)
}

// scan calls fn for every key of [key, end) in order, dead ones too: end empty
// is the key alone, "\0" everything from key on.
func (s *Store) scan(key, end []byte, fn func(*keyIndex) bool) {
	if len(end) == 0 {
		if ki := s.keys[string(key)]; ki != nil {
			fn(ki)
		}
		return
	}
	last, unbounded := string(end), len(end) == 1 && end[0] == 0
	s.index.Ascend(&keyIndex{key: string(key)}, func(ki *keyIndex) bool {
		return (unbounded || ki.key < last) && fn(ki)
	})
}

// defaultOrder reports whether a limit may be applied before sorting. As in
// etcd that is so whenever no order is given: then only the first limit + 1 keys
// are sorted by another target than the key.
func defaultOrder(r *pb.RangeRequest) bool {
	return r.SortOrder == pb.RangeRequest_NONE || r.SortOrder == pb.RangeRequest_ASCEND && r.SortTarget == pb.RangeRequest_KEY
}

func filtered(r *pb.RangeRequest) bool {
	return r.MinModRevision != 0 || r.MaxModRevision != 0 || r.MinCreateRevision != 0 || r.MaxCreateRevision != 0
}

func passes(r *pb.RangeRequest, kv *mvccpb.KeyValue) bool {
	return (r.MaxModRevision == 0 || kv.ModRevision <= r.MaxModRevision) &&
		(r.MinModRevision == 0 || kv.ModRevision >= r.MinModRevision) &&
		(r.MaxCreateRevision == 0 || kv.CreateRevision <= r.MaxCreateRevision) &&
		(r.MinCreateRevision == 0 || kv.CreateRevision >= r.MinCreateRevision)
}

// order sorts as the request asks. Which of several keys that tie comes first is
// left open by etcd's API; sorting with its very algorithm gives its very order.
func order(r *pb.RangeRequest, kvs []*mvccpb.KeyValue) {
	o := sorter{kvs: kvs}
	switch r.SortTarget {
	case pb.RangeRequest_VERSION:
		o.less = func(a, b *mvccpb.KeyValue) bool { return a.Version < b.Version }
	case pb.RangeRequest_CREATE:
		o.less = func(a, b *mvccpb.KeyValue) bool { return a.CreateRevision < b.CreateRevision }
	case pb.RangeRequest_MOD:
		o.less = func(a, b *mvccpb.KeyValue) bool { return a.ModRevision < b.ModRevision }
	case pb.RangeRequest_VALUE:
		o.less = func(a, b *mvccpb.KeyValue) bool { return bytes.Compare(a.Value, b.Value) < 0 }
	default:
		o.less = func(a, b *mvccpb.KeyValue) bool { return bytes.Compare(a.Key, b.Key) < 0 }
	}
	if r.SortOrder == pb.RangeRequest_DESCEND {
		sort.Sort(sort.Reverse(o))
		return
	}
	sort.Sort(o)
}

type sorter struct {
	kvs  []*mvccpb.KeyValue
	less func(a, b *mvccpb.KeyValue) bool
}

func (o sorter) Len() int           { return len(o.kvs) }
func (o sorter) Less(i, j int) bool { return o.less(o.kvs[i], o.kvs[j]) }
func (o sorter) Swap(i, j int)      { o.kvs[i], o.kvs[j] = o.kvs[j], o.kvs[i] }

// withoutValue is what keys_only shows of a key. etcd takes it from its index,
// where the lease is not, unless it had to look at the values to sort them.
func withoutValue(kv *mvccpb.KeyValue, lease bool) *mvccpb.KeyValue {
	k := &mvccpb.KeyValue{Key: kv.Key, CreateRevision: kv.CreateRevision, ModRevision: kv.ModRevision, Version: kv.Version}
	if lease {
		k.Lease = kv.Lease
	}
	return k
}
