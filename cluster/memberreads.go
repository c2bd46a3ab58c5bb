package cluster

import (
	"context"
	"errors"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/cluster/console/command"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
)

// memberReads asks single members for keys.
type memberReads struct {
	etcd   *etcd
	rounds uint64 // how often all were asked; kernel's goroutine
}

// readLimit is how long a question to a member waits for a quorum.
const readLimit = time.Second

// ReadMembers asks every member for a key, linearizable and serializable, and
// tells the answers in the trace. A linearizable read that enters at a member
// goes through the leader; one that the member's links keep from it waits in
// vain.
func (r *memberReads) ReadMembers(_ context.Context, key string, cause trace.ID) ([]*trace.MemberAnswer, error) {
	if r.etcd.raft == nil {
		return nil, errors.New("this cluster runs on the bare store, which has no members to ask")
	}
	var answers []*trace.MemberAnswer
	var causes []trace.ID
	if !cause.IsZero() {
		causes = []trace.ID{cause}
	}
	if err := r.etcd.askAs(command.TaskOf(cause), "read", causes, func(t *sim.Task) error {
		r.rounds++
		list := r.etcd.raft.Members()
		for _, m := range list {
			answers = append(answers, r.linearizable(t, m, key), r.serializable(t, m, key))
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return answers, nil
}

func (r *memberReads) linearizable(t *sim.Task, m raftstore.MemberStatus, key string) *trace.MemberAnswer {
	a := &trace.MemberAnswer{Round: r.rounds, Member: m.ID, Key: key}
	began := t.Elapsed()
	res := &raftstore.Result{Err: rpctypes.ErrGRPCTimeout}
	switch {
	case !m.Up:
		res.Err = rpctypes.ErrGRPCStopped
	case !r.etcd.raft.Reaches(m.ID):
		t.Sleep(readLimit) // nobody answers it
	default:
		var got *raftstore.Result
		err := t.Await(r.etcd.client.Cost().Read, readLimit, func(done func()) {
			r.etcd.store.Do(&pb.InternalRaftRequest{Range: &pb.RangeRequest{Key: []byte(key)}}, func(res *raftstore.Result) { got = res; done() })
		})
		if err == nil {
			res = got
		}
	}
	a.Took = t.Elapsed() - began
	resp, _ := res.Response.(*pb.RangeResponse)
	r.answer(t, a, resp, res.Err)
	return a
}

func (r *memberReads) serializable(t *sim.Task, m raftstore.MemberStatus, key string) *trace.MemberAnswer {
	a := &trace.MemberAnswer{Round: r.rounds, Member: m.ID, Key: key, Serializable: true}
	resp, err := r.etcd.raft.RangeAt(m.ID, &pb.RangeRequest{Key: []byte(key), Serializable: true})
	if err != nil && !m.Up {
		err = rpctypes.ErrGRPCStopped
	}
	r.answer(t, a, resp, err)
	return a
}

// answer fills in what came and tells it in the member's lane.
func (r *memberReads) answer(t *sim.Task, a *trace.MemberAnswer, resp *pb.RangeResponse, err error) {
	switch {
	case err != nil:
		a.Error = rpctypes.ErrorDesc(err)
	default:
		a.Revision = resp.Header.Revision
		if len(resp.Kvs) > 0 {
			a.ModRevision, a.Size = resp.Kvs[0].ModRevision, len(resp.Kvs[0].Value)
		}
	}
	r.etcd.k.Emit(trace.Event{
		Lane: trace.Lane{Component: trace.CompMember, Instance: a.Member}, Kind: trace.MemberRead, Causes: t.Causes(), Payload: a,
	})
}
