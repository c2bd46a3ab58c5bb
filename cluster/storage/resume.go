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
	r, err := c.everything(t)
	if err != nil || r.Revision <= c.revision {
		return err
	}
	c.revision = r.Revision
	c.tell(t, r)
	return nil
}

// everything is all that the store holds, whatever users it has, as a revision
// that made it.
func (c *Client) everything(t *sim.Task) (*raftstore.Result, error) {
	req := &pb.InternalRaftRequest{Range: &pb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}}}
	if s, ok := c.store.(raftstore.Authenticating); ok {
		req.Header = raftstore.AsRoot(s)
	}
	var res *raftstore.Result
	err := t.Await(0, c.cost.Timeout, func(done func()) {
		c.store.Do(req, func(got *raftstore.Result) { res = got; done() })
	})
	switch {
	case err != nil:
		return nil, rpctypes.ErrGRPCTimeout
	case res.Err != nil:
		return nil, rpctypes.Error(res.Err)
	}
	resp := res.Response.(*pb.RangeResponse)
	r := &raftstore.Result{Revision: resp.Header.Revision, Index: res.Index}
	for _, kv := range resp.Kvs {
		r.Events = append(r.Events, &mvccpb.Event{Type: mvccpb.PUT, Kv: kv})
	}
	return r, nil
}

// tell is the event that makes those who fold the trace know everything.
func (c *Client) tell(t *sim.Task, everything *raftstore.Result) {
	if len(everything.Events) > 0 {
		m := c.commit(everything)
		t.Emit(trace.Event{Lane: lane, Kind: trace.StoreCommit, Object: m.Changes[0].Object, Payload: m})
	}
}
