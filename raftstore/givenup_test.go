package raftstore_test

import (
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// A write is given up while the leader cannot reach anybody, and takes effect
// later: its event names the request that asked for it.
func TestAWriteThatWasGivenUpIsStillKnown(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true, RequestTimeout: 100 * time.Millisecond})
		told := make(chan *raftstore.Result, 64)
		s.OnCommit(func(r *raftstore.Result) { told <- r })
		mustPut(t, s, "k", "0")
		if r := <-told; r.Request == nil || string(r.Request.Put.Value) != "0" {
			t.Fatalf("told of %v", r.Request)
		}
		leader := s.Leader()
		// The followers' disks are slower than the request is patient.
		for _, m := range s.IDs() {
			if m != leader {
				must(t, s.SlowDisk(m, 400*time.Millisecond))
			}
		}
		req := putReq("k", "late")
		if r := call(s, req); r.Err != rpctypes.ErrGRPCTimeout {
			t.Fatalf("the put ended with %v, want %v", r.Err, rpctypes.ErrGRPCTimeout)
		}
		select {
		case r := <-told:
			if r.Request != req {
				t.Fatalf("the late write is told as that of %v, want %v", r.Request, req)
			}
		case <-time.After(time.Second):
			t.Fatal("the late write never took effect")
		}
	})
}
