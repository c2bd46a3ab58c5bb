package raftstore_test

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
)

func TestBareTellsOfACommitBeforeItAnswers(t *testing.T) {
	s := raftstore.OpenBare()
	var order []string
	s.OnCommit(func(r *raftstore.Result) {
		if r.Revision != 2 || len(r.Events) != 1 {
			t.Errorf("commit %+v", r)
		}
		order = append(order, "commit")
	})
	put := &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte("a")}}
	s.Do(put, func(r *raftstore.Result) {
		order = append(order, "done")
		s.Do(&pb.InternalRaftRequest{Range: &pb.RangeRequest{Key: []byte("a")}}, func(r *raftstore.Result) {
			if n := r.Response.(*pb.RangeResponse).Count; n != 1 || r.Events != nil {
				t.Errorf("read %+v", r)
			}
			order = append(order, "read")
		})
	})
	if len(order) != 3 || order[0] != "commit" || order[2] != "read" {
		t.Errorf("order %v", order)
	}
	if !s.Healthy() {
		t.Error("not healthy")
	}
	s.Close()
	s.Do(put, func(r *raftstore.Result) {
		if r.Err != rpctypes.ErrGRPCStopped {
			t.Errorf("after Close: %+v", r)
		}
	})
}

func TestBareGivesOutLeaseIDs(t *testing.T) {
	s := raftstore.OpenBare()
	seen := map[int64]bool{}
	for range 3 {
		s.Do(&pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{TTL: 60}}, func(r *raftstore.Result) {
			seen[r.Response.(*pb.LeaseGrantResponse).ID] = true
		})
	}
	if len(seen) != 3 || seen[0] {
		t.Errorf("lease ids %v", seen)
	}
}
