package cluster

import (
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/apply"
)

// rebuild gives every member a new disk with a state, while what depends on the
// store is stopped.
func (c *Cluster) rebuild(t *sim.Task, state *apply.State, opt raftstore.RebuildOptions, why string) (*trace.Restore, error) {
	var stopped []*component
	for _, target := range []string{"scheduler", "controller-manager", "apiserver"} {
		if m := c.component(target); m != nil && m.up() {
			m.end(c.k, t.Causes(), why)
			stopped = append(stopped, m)
		}
	}
	var rebuilt error
	if err := t.Await(0, 0, func(done func()) {
		c.k.Beside("rebuild the store", func() {
			defer done()
			rebuilt = c.raft.Rebuild(state, opt)
		})
	}); err != nil {
		return nil, err
	}
	c.awaitLeader(t)
	told := &trace.Restore{ClusterID: c.raft.ClusterID(), Bumped: opt.BumpRevision, MarkCompacted: opt.MarkCompacted}
	if rebuilt == nil {
		rebuilt = c.etcd.Restored(t, told)
	}
	for i := len(stopped) - 1; i >= 0; i-- {
		stopped[i].begin(c.k, t.Causes(), why)
		if stopped[i].target == "apiserver" {
			c.server.WaitReady(t)
		}
	}
	return told, rebuilt
}
