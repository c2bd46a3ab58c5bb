package storage

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
)

// Resume takes over what a store holds from a run before: from now on that is
// what reads see, and one store.commit event tells it all, for whoever folds
// the trace. It does nothing for a store that nobody has written to, nor after
// the first revision of this run, and takes no virtual time.
func (c *Client) Resume(t *sim.Task) error {
	if c.revision > 1 {
		return nil
	}
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
	if resp.Header.Revision <= c.revision {
		return nil
	}
	r := &raftstore.Result{Revision: resp.Header.Revision, Index: res.Index}
	for _, kv := range resp.Kvs {
		r.Events = append(r.Events, &mvccpb.Event{Type: mvccpb.PUT, Kv: kv})
	}
	c.revision = r.Revision
	if len(r.Events) > 0 {
		m := c.commit(r)
		t.Emit(trace.Event{Lane: lane, Kind: trace.StoreCommit, Object: m.Changes[0].Object, Payload: m})
	}
	return nil
}
