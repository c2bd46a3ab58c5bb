package etcd

import (
	"bytes"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// Only what was carried out counts as written: not the branch of a transaction that was
// not taken, not a delete that found nothing.
func TestKeysWrittenAreThoseThatWere(t *testing.T) {
	put := func(key string) *pb.RequestOp {
		return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key)}}}
	}
	get := &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{Key: []byte("k")}}}
	none := func(n int) []*pb.ResponseOp {
		list := make([]*pb.ResponseOp, n)
		for i := range list {
			list[i] = &pb.ResponseOp{}
		}
		return list
	}
	txn := &pb.InternalRaftRequest{Txn: &pb.TxnRequest{Success: []*pb.RequestOp{put("then"), put("too")}, Failure: []*pb.RequestOp{get}}}
	del := &pb.InternalRaftRequest{DeleteRange: &pb.DeleteRangeRequest{Key: []byte("gone")}}
	for name, c := range map[string]struct {
		req      *pb.InternalRaftRequest
		response any
		want     string
	}{
		"a compare that held":   {txn, &pb.TxnResponse{Succeeded: true, Responses: none(2)}, "then too"},
		"a compare that failed": {txn, &pb.TxnResponse{Responses: none(1)}, ""},
		"a delete":              {del, &pb.DeleteRangeResponse{Deleted: 1}, "gone"},
		"a delete of nothing":   {del, &pb.DeleteRangeResponse{}, ""},
		"a delete in a transaction": {
			&pb.InternalRaftRequest{Txn: &pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: del.DeleteRange}}}}},
			&pb.TxnResponse{Succeeded: true, Responses: []*pb.ResponseOp{{Response: &pb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: &pb.DeleteRangeResponse{Deleted: 2}}}}},
			"gone",
		},
	} {
		if got := string(bytes.Join(keysWritten(c.req, c.response), []byte(" "))); got != c.want {
			t.Errorf("%s wrote %q, want %q", name, got, c.want)
		}
	}
}
