package storage

import (
	"go.etcd.io/etcd/api/v3/mvccpb"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
)

// Reset says, from any goroutine, that what the store told is not its history
// any more. Nothing more is shown until [Client.Restored] takes over what it
// holds: revisions may be given anew, and would be taken for those already
// shown.
func (c *Client) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reset = true
}

func (c *Client) isReset() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reset
}

// Restored takes over a store that was given another content (etcdutl snapshot
// restore) or has lost some (etcd --force-new-cluster): what was visible is not
// any more, every watch ends, and after the event that says so, one store.commit
// event tells all there is now. It fills in told's revisions and keys. The API
// server, whose watches these are, must not run.
func (c *Client) Restored(t *sim.Task, told *trace.Restore) error {
	for len(c.watches) > 0 {
		c.watches[0].Stop(t.Causes()...)
	}
	c.mu.Lock()
	c.arrived = nil // of the store that was
	c.mu.Unlock()
	clear(c.own)
	clear(c.leases)
	c.givenUp, c.compacted = 0, 0
	var res *raftstore.Result
	err := t.Await(0, c.cost.Timeout, func(done func()) {
		all := &pb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}}
		c.store.Do(&pb.InternalRaftRequest{Range: all}, func(got *raftstore.Result) { res = got; done() })
	})
	switch {
	case err != nil:
		return rpctypes.ErrGRPCTimeout
	case res.Err != nil:
		return rpctypes.Error(res.Err)
	}
	resp := res.Response.(*pb.RangeResponse)
	told.Shown = c.revision
	c.mu.Lock()
	c.reset = false
	c.mu.Unlock()
	c.revision = resp.Header.Revision
	told.Revision, told.Keys = c.revision, len(resp.Kvs)
	t.SetCauses(t.Emit(trace.Event{Lane: lane, Kind: trace.StoreRestored, Payload: told}))
	r := &raftstore.Result{Revision: c.revision, Index: res.Index}
	for _, kv := range resp.Kvs {
		r.Events = append(r.Events, &mvccpb.Event{Type: mvccpb.PUT, Kv: kv})
	}
	if len(r.Events) > 0 {
		m := c.commit(r)
		t.Emit(trace.Event{Lane: lane, Kind: trace.StoreCommit, Object: m.Changes[0].Object, Payload: m})
	}
	return nil
}
