package mvcc

import (
	"bytes"
	"cmp"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

func (s *Store) holdAll(cmps []*pb.Compare) bool {
	for _, c := range cmps {
		if !s.holds(c) {
			return false
		}
	}
	return true
}

// holds evaluates one compare. Over a range every key must satisfy it. A key
// that does not exist compares as zero revisions, version and lease; its value
// compares to nothing, so a VALUE compare of it never holds, not even "!=".
func (s *Store) holds(c *pb.Compare) bool {
	found, all := false, true
	s.scan(c.Key, c.RangeEnd, func(ki *keyIndex) bool {
		if kv := ki.live(); kv != nil {
			found = true
			all = compare(c, kv)
		}
		return all
	})
	if !found {
		return c.Target != pb.Compare_VALUE && compare(c, &mvccpb.KeyValue{})
	}
	return all
}

// compare mirrors etcd server/etcdserver/txn/txn.go compareKV.
func compare(c *pb.Compare, kv *mvccpb.KeyValue) bool {
	var d int
	switch c.Target {
	case pb.Compare_VALUE:
		d = bytes.Compare(kv.Value, c.GetValue())
	case pb.Compare_CREATE:
		d = cmp.Compare(kv.CreateRevision, c.GetCreateRevision())
	case pb.Compare_MOD:
		d = cmp.Compare(kv.ModRevision, c.GetModRevision())
	case pb.Compare_VERSION:
		d = cmp.Compare(kv.Version, c.GetVersion())
	case pb.Compare_LEASE:
		d = cmp.Compare(kv.Lease, c.GetLease())
	}
	switch c.Result {
	case pb.Compare_EQUAL:
		return d == 0
	case pb.Compare_NOT_EQUAL:
		return d != 0
	case pb.Compare_GREATER:
		return d > 0
	case pb.Compare_LESS:
		return d < 0
	}
	return true
}
