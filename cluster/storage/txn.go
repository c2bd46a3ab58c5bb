package storage

import (
	"fmt"
	"strconv"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// unmet tells of a transaction whose comparison did not hold: nothing was
// written. The failure branch of the API server's transactions reads the key,
// so what was found is known.
func (c *Client) unmet(t *sim.Task, r *pb.TxnRequest, resp *pb.TxnResponse) trace.ID {
	p := &trace.Txn{If: comparisons(r.Compare), Then: operations(r.Success), Else: operations(r.Failure), Revision: resp.Header.Revision}
	for i, op := range r.Failure {
		got := resp.Responses[i].GetResponseRange()
		if op.GetRequestRange() == nil || got == nil {
			continue
		}
		for j := range p.If {
			if p.If[j].Key == string(op.GetRequestRange().Key) && p.If[j].Target == "mod" && len(got.Kvs) > 0 {
				p.If[j].Found = strconv.FormatInt(got.Kvs[0].ModRevision, 10)
			}
		}
	}
	return t.Emit(trace.Event{Lane: lane, Kind: trace.StoreUnmet, Payload: p})
}

var compareOps = map[pb.Compare_CompareResult]string{pb.Compare_EQUAL: "=", pb.Compare_GREATER: ">", pb.Compare_LESS: "<", pb.Compare_NOT_EQUAL: "!="}

// comparisons are a transaction's conditions in words.
func comparisons(list []*pb.Compare) []trace.Comparison {
	out := make([]trace.Comparison, len(list))
	for i, x := range list {
		o := &out[i]
		o.Key, o.Op = string(x.Key), compareOps[x.Result]
		switch u := x.TargetUnion.(type) {
		case *pb.Compare_ModRevision:
			o.Target, o.Want = "mod", strconv.FormatInt(u.ModRevision, 10)
		case *pb.Compare_CreateRevision:
			o.Target, o.Want = "create", strconv.FormatInt(u.CreateRevision, 10)
		case *pb.Compare_Version:
			o.Target, o.Want = "version", strconv.FormatInt(u.Version, 10)
		case *pb.Compare_Lease:
			o.Target, o.Want = "lease", strconv.FormatInt(u.Lease, 16)
		case *pb.Compare_Value:
			o.Target, o.Want = "value", fmt.Sprintf("%q", cut(u.Value))
		}
	}
	return out
}

func cut(b []byte) []byte { return b[:min(len(b), 40)] }

// operations are the branches of a transaction in words.
func operations(list []*pb.RequestOp) []string {
	out := make([]string, len(list))
	for i, op := range list {
		switch x := op.Request.(type) {
		case *pb.RequestOp_RequestPut:
			out[i] = "put " + string(x.RequestPut.Key)
		case *pb.RequestOp_RequestDeleteRange:
			out[i] = "delete " + string(x.RequestDeleteRange.Key)
		case *pb.RequestOp_RequestRange:
			out[i] = "get " + string(x.RequestRange.Key)
		case *pb.RequestOp_RequestTxn:
			out[i] = "transaction"
		}
	}
	return out
}
