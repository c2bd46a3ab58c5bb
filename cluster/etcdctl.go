package cluster

import (
	"fmt"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"kviz/cluster/console/verbs"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/apply"
	"kviz/raftstore/dbfile"
	"kviz/raftstore/etcdapi"
)

// etcdctl is the store as the console's etcdctl and kviz restore see it.
type etcdctl struct {
	*etcd
	recovery recovery
}

// Members are the members' names now; the bare store shows itself as one.
func (e etcdctl) Members() []string {
	if e.raft == nil {
		return []string{etcdapi.BareName}
	}
	return e.raft.IDs()
}

// Up reports whether a member runs.
func (e etcdctl) Up(member string) bool {
	if e.raft == nil {
		return true
	}
	_, up := e.raft.TermAt(member)
	return up
}

// Serve makes the store answer etcd's clients on the console's listeners.
func (e etcdctl) Serve(cfg etcdapi.Config) (*etcdapi.Server, error) {
	cfg.Contain = e.contain
	return etcdapi.Serve(e.store, cfg)
}

// Revision is the newest visible revision.
func (e etcdctl) Revision() int64 { return e.client.Revision() }

// Do carries a request to the store the way the API server's go, so that its
// place among them is the same in every run.
func (e etcdctl) Do(t *sim.Task, req *pb.InternalRaftRequest) (proto.Message, error) {
	if req.Range != nil {
		resp, err := e.client.RangeAs(t, req.Header, req.Range)
		if err != nil {
			return nil, err
		}
		return resp, nil
	}
	if req.Txn != nil {
		resp, _, err := e.client.Txn(t, req.Txn)
		if err != nil {
			return nil, err
		}
		return resp, nil
	}
	return e.client.Do(t, operation(req), req)
}

// operation names a request as the trace does when it is refused.
func operation(req *pb.InternalRaftRequest) string {
	switch {
	case req.Put != nil:
		return "put"
	case req.DeleteRange != nil:
		return "delete"
	case req.Compaction != nil:
		return "compact"
	case req.LeaseGrant != nil:
		return "lease grant"
	case req.LeaseRevoke != nil:
		return "lease revoke"
	case req.Alarm != nil:
		return "alarm"
	}
	return "auth"
}

// Settle waits until a member has what is visible. Where a fault keeps it from
// that, it answers with what it has, as in reality.
func (e etcdctl) Settle(t *sim.Task, member string) {
	if e.raft == nil || !e.raft.Whole() {
		return
	}
	want := e.client.Revision()
	// Errors: it is asked as it is.
	_ = t.Await(e.client.Cost().Read, e.client.Cost().Timeout, func(done func()) {
		e.k.Beside("settle "+member, func() {
			defer done()
			e.poll(replicaPoll, func() bool {
				return !e.raft.Whole() || slices.ContainsFunc(e.raft.Members(), func(m raftstore.MemberStatus) bool { return m.ID == member && m.Revision >= want })
			})
		})
	})
}

// Restore gives every member a new disk with what a backup holds. What depends
// on the store is stopped before and started afterwards, as it must be in
// reality: the API server's caches, and those of whoever follows it, know revisions
// that the restored store may give out again.
func (e etcdctl) Restore(t *sim.Task, content *dbfile.Content, opt verbs.RestoreOptions) (*trace.Restore, error) {
	if e.raft == nil {
		return nil, fmt.Errorf("the bare store has no disks to restore to; start kviz with raft members")
	}
	state, err := content.State(apply.Limits{})
	if err != nil {
		return nil, err
	}
	return e.recovery.rebuild(t, state, raftstore.RebuildOptions{BumpRevision: opt.BumpRevision, MarkCompacted: opt.MarkCompacted}, "the store is restored")
}
