package cluster

import (
	"fmt"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/apply"
)

// rebuild gives every member a new disk with a state, while what depends on the
// store is stopped.
func (c *Cluster) rebuild(t *sim.Task, state *apply.State, opt raftstore.RebuildOptions, why string) (*trace.Restore, error) {
	told := &trace.Restore{Bumped: opt.BumpRevision, MarkCompacted: opt.MarkCompacted}
	return told, c.anew(t, told, why, func() error { return c.raft.Rebuild(state, opt) })
}

// recover goes on from one member's data alone. What is not certain to have
// reached that member may be lost, and its log may hold what nobody was told of:
// then all that depends on the store is started anew, as people do after a
// disaster, and takes over what there is.
func (c *Cluster) recover(t *sim.Task, id string) error {
	do := func() error { return c.raft.Recover(id) }
	for _, m := range c.raft.Members() {
		if m.ID == id && m.Up && m.Revision >= c.etcd.Revision() {
			return c.beside(t, "recover "+id, do)
		}
	}
	return c.anew(t, &trace.Restore{Survivor: id}, "the store goes on from member "+id+" alone", do)
}

// anew changes what the store holds, while what depends on it is stopped: the API
// server's caches, and those of who follows it, know revisions that the store may
// give out again.
func (c *Cluster) anew(t *sim.Task, told *trace.Restore, why string, change func() error) error {
	var stopped []*component
	for _, target := range append([]string{"scheduler", "controller-manager"}, c.serverTargets()...) {
		if m := c.component(target); m != nil && m.up() {
			m.end(c.k, t.Causes(), why)
			stopped = append(stopped, m)
		}
	}
	err := c.beside(t, why, change)
	if err == nil || c.raft.Healthy() {
		c.awaitLeader(t)
		told.ClusterID = c.raft.ClusterID()
		if e := c.etcd.Restored(t, told); err == nil {
			err = e
		}
	}
	for i := len(stopped) - 1; i >= 0; i-- {
		stopped[i].begin(c.k, t.Causes(), why)
		if isServer(stopped[i].target) && err == nil {
			err = c.awaitServer(t, stopped[i].target)
		}
	}
	return err
}

// serverLimit is how long a restored store's API server may take until it serves;
// it takes a second or so.
const serverLimit = 30 * time.Second

// awaitServer waits for the API server on a store with another content. One that
// refuses its writes keeps it from serving until somebody mends that.
func (c *Cluster) awaitServer(t *sim.Task, target string) error {
	if c.backend(target).Server.WaitReadyFor(t, serverLimit) {
		return nil
	}
	why := "the store pane shows what it asks for and is refused"
	if s, ok := c.store.(raftstore.Alarming); ok && len(s.Alarms()) > 0 {
		why = "the content came with an alarm, under which writes are refused: etcdctl alarm list, then etcdctl alarm disarm"
	} else if s, ok := c.store.(raftstore.Authenticating); ok && s.AuthStore().IsAuthEnabled() {
		why = "the content came with users, of whom the API server is none: etcdctl --user root:PASSWORD auth disable"
	}
	return fmt.Errorf("the store holds the new content, but the API server does not serve after %v: %s", serverLimit, why)
}

// beside does something to the store that takes real time.
func (c *Cluster) beside(t *sim.Task, what string, do func() error) error {
	var failed error
	if err := t.Await(0, 0, func(done func()) {
		c.k.Beside(what, func() {
			defer done()
			failed = do()
		})
	}); err != nil {
		return err
	}
	return failed
}
