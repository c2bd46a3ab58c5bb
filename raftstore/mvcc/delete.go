package mvcc

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

func (s *Store) deleteRange(r *pb.DeleteRangeRequest, res *Result) (*pb.DeleteRangeResponse, error) {
	if err := checkDelete(r); err != nil {
		return nil, err
	}
	w := s.write(res)
	defer w.end()
	return w.deleteRequest(r), nil
}

// deleteRequest executes a checked delete. Deleting nothing makes no revision.
func (w *writeTxn) deleteRequest(r *pb.DeleteRangeRequest) *pb.DeleteRangeResponse {
	var doomed []*keyIndex
	w.s.scan(r.Key, r.RangeEnd, func(ki *keyIndex) bool {
		if ki.live() != nil {
			doomed = append(doomed, ki)
		}
		return true
	})
	resp := &pb.DeleteRangeResponse{Deleted: int64(len(doomed))}
	for _, ki := range doomed {
		if r.PrevKv {
			resp.PrevKvs = append(resp.PrevKvs, ki.live())
		}
		w.delete(ki)
	}
	resp.Header = header(w.rev())
	return resp
}
