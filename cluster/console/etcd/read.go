package etcd

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/cluster/trace"
)

// answered puts a member's answer to a read of one key into the trace, in the
// member's lane, as kviz read does.
func (u unaryGate) answered(run *run, req, resp any, err error) {
	r, ok := req.(*pb.RangeRequest)
	if !ok || len(r.RangeEnd) > 0 {
		return
	}
	a := &trace.MemberAnswer{
		Round: run.inv.Cause.Seq, Member: u.member, Serializable: r.Serializable, Key: keyOf(r), Asked: max(r.Revision, 0),
	}
	if err != nil {
		a.Error = run.words(rpctypes.ErrorDesc(err))
	} else if got, ok := resp.(*pb.RangeResponse); ok {
		a.Revision = got.Header.GetRevision()
		if len(got.Kvs) > 0 {
			a.ModRevision, a.Size = got.Kvs[0].ModRevision, len(got.Kvs[0].Value)
		}
	}
	k := u.g.kernel
	k.PostControl(func() {
		k.Emit(trace.Event{
			Lane: trace.Lane{Component: trace.CompMember, Instance: u.member}, Kind: trace.MemberRead,
			Causes: []trace.ID{run.inv.Cause}, Payload: a,
		})
	})
}
