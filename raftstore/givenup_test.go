package raftstore_test

import (
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
)

// A write is given up while the leader cannot reach anybody, and takes effect
// later: its event names the request that asked for it.
func TestAWriteThatWasGivenUpIsStillKnown(t *testing.T) {
	t.Parallel()
	s := open(t, raftstore.Config{RequestTimeout: 100 * time.Millisecond})
	told := make(chan *raftstore.Result, 64)
	s.OnCommit(func(r *raftstore.Result) { told <- r })
	// On a busy machine the first tries may be given up too, before anybody leads.
	await(t, "the first put", func() bool { return call(s, putReq("k", "0")).Err == nil })
	if r := <-told; r.Request == nil || string(r.Request.Put.Value) != "0" {
		t.Fatalf("told of %v", r.Request)
	}
	must(t, s.SlowElections(100)) // a leader that is lost takes what was given up along
	var leader string
	await(t, "somebody leads", func() bool { leader = s.Leader(); return leader != "" })
	// The followers' disks are slower than the request is patient.
	for _, m := range s.IDs() {
		if m != leader {
			must(t, s.SlowDisk(m, 400*time.Millisecond))
		}
	}
	req := putReq("k", "late")
	if r := call(s, req); r.Err != rpctypes.ErrGRPCTimeout && r.Err != rpctypes.ErrGRPCTimeoutDueToLeaderFail {
		t.Fatalf("the put ended with %v, want %v", r.Err, rpctypes.ErrGRPCTimeout)
	}
	for late := time.After(30 * time.Second); ; {
		select {
		case r := <-told:
			if r.Request == req {
				return
			}
			if r.Request == nil || string(r.Request.Put.Value) != "0" {
				t.Fatalf("the late write is told as that of %v, want %v", r.Request, req)
			}
		case <-late:
			t.Fatal("the late write never took effect")
		}
	}
}
