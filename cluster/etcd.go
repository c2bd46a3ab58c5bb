package cluster

import (
	"fmt"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"kviz/cluster/console"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/apply"
	"kviz/raftstore/dbfile"
	"kviz/raftstore/etcdapi"
)

// etcd is the store as the console's etcdctl and kviz restore see it.
type etcd struct{ c *Cluster }

var _ console.Etcd = etcd{}

// Members are the members' names now; the bare store shows itself as one.
func (e etcd) Members() []string {
	if e.c.raft == nil {
		return []string{etcdapi.BareName}
	}
	return e.c.raft.IDs()
}

// Up reports whether a member runs.
func (e etcd) Up(member string) bool {
	if e.c.raft == nil {
		return true
	}
	_, up := e.c.raft.TermAt(member)
	return up
}

// Serve makes the store answer etcd's clients on the console's listeners.
func (e etcd) Serve(cfg etcdapi.Config) (*etcdapi.Server, error) {
	cfg.Contain = e.c.k.Contain
	return etcdapi.Serve(e.c.store, cfg)
}

// Revision is the newest visible revision.
func (e etcd) Revision() int64 { return e.c.etcd.Revision() }

// Do carries a request to the store the way the API server's go, so that its
// place among them is the same in every run.
func (e etcd) Do(t *sim.Task, req *pb.InternalRaftRequest) (proto.Message, error) {
	if req.Range != nil {
		resp, err := e.c.etcd.RangeAs(t, req.Header, req.Range)
		if err != nil {
			return nil, err
		}
		return resp, nil
	}
	if req.Txn != nil {
		resp, _, err := e.c.etcd.Txn(t, req.Txn)
		if err != nil {
			return nil, err
		}
		return resp, nil
	}
	return e.c.etcd.Do(t, operation(req), req)
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
func (e etcd) Settle(t *sim.Task, member string) {
	c := e.c
	if c.raft == nil || !c.raft.Whole() {
		return
	}
	want := c.etcd.Revision()
	// Errors: it is asked as it is.
	_ = t.Await(c.etcd.Cost().Read, c.etcd.Cost().Timeout, func(done func()) {
		c.k.Beside("settle "+member, func() {
			defer done()
			for c.raft.Whole() {
				for _, m := range c.raft.Members() {
					if m.ID == member && m.Revision >= want {
						return
					}
				}
				select {
				case <-c.ended:
					return
				case <-time.After(time.Millisecond): // of real time: members replicate by the machine's clock
				}
			}
		})
	})
}

// Restore gives every member a new disk with what a backup holds. What depends
// on the store is stopped before and started afterwards, as it must be in
// reality: the API server's caches, and those of who follows it, know revisions
// that the restored store may give out again.
func (e etcd) Restore(t *sim.Task, content *dbfile.Content, opt console.RestoreOptions) (*trace.Restore, error) {
	if e.c.raft == nil {
		return nil, fmt.Errorf("the bare store has no disks to restore to; start kviz with raft members")
	}
	state, err := content.State(apply.Limits{})
	if err != nil {
		return nil, err
	}
	return e.c.rebuild(t, state, raftstore.RebuildOptions{BumpRevision: opt.BumpRevision, MarkCompacted: opt.MarkCompacted}, "the store is restored")
}
