package mvcc

import (
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// compact throws away the history before a revision: reads at it stay
// possible, reads before it get "has been compacted". It makes no revision.
//
// Mirrors etcd server/storage/mvcc/kvstore.go Compact and kvstore_compaction.go
// scheduleCompaction, without the batches.
func (s *Store) compact(r *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	if r.Revision <= s.compactRev {
		return nil, rpctypes.ErrGRPCCompacted
	}
	if r.Revision > s.currentRev {
		return nil, rpctypes.ErrGRPCFutureRev
	}
	s.compactTo(r.Revision)
	return &pb.CompactionResponse{Header: header(s.currentRev)}, nil
}

// compactTo is compact for a revision that there is.
func (s *Store) compactTo(rev int64) {
	began := time.Now()
	s.compactRev = rev
	pages, records := s.pages.inUse(), s.revisions.Len()
	var gone []*keyIndex
	s.index.Scan(func(ki *keyIndex) bool {
		for _, v := range ki.compact(rev) {
			s.revisions.Delete(v)
		}
		if ki.gone() {
			gone = append(gone, ki)
		}
		return true
	})
	for _, ki := range gone {
		s.index.Delete(ki)
		delete(s.keys, ki.key)
	}
	s.pages.compacted(rev, pages, records, s.revisions)
	s.counts.Compacted += uint64(records - s.revisions.Len())
	s.counts.LastCompaction = time.Now().Unix()
	s.counts.Compactions.add(time.Since(began))
}
