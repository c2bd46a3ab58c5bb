package etcd

import (
	"bytes"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// note remembers writes to keys that are the API server's.
func (r *run) note(req *pb.InternalRaftRequest, response any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keysWritten(req, response) {
		if bytes.HasPrefix(key, []byte("/registry/")) {
			r.wrote = append(r.wrote, string(key))
		}
	}
}

// keysWritten are the keys that a request has changed, by what the store answered: a
// transaction carries out one of its branches only, and a delete may find nothing.
func keysWritten(req *pb.InternalRaftRequest, response any) (keys [][]byte) {
	switch {
	case req.Put != nil:
		return [][]byte{req.Put.Key}
	case req.DeleteRange != nil:
		if r, ok := response.(*pb.DeleteRangeResponse); ok && r.GetDeleted() > 0 {
			return [][]byte{req.DeleteRange.Key}
		}
	case req.Txn != nil:
		r, ok := response.(*pb.TxnResponse)
		if !ok {
			return nil
		}
		branch := req.Txn.Failure
		if r.Succeeded {
			branch = req.Txn.Success
		}
		for i, op := range branch[:min(len(branch), len(r.Responses))] {
			inner := &pb.InternalRaftRequest{Put: op.GetRequestPut(), DeleteRange: op.GetRequestDeleteRange(), Txn: op.GetRequestTxn()}
			var answered any
			switch {
			case inner.DeleteRange != nil:
				answered = r.Responses[i].GetResponseDeleteRange()
			case inner.Txn != nil:
				answered = r.Responses[i].GetResponseTxn()
			}
			keys = append(keys, keysWritten(inner, answered)...)
		}
	}
	return keys
}
