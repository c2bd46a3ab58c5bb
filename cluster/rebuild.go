package cluster

import (
	"fmt"
	"time"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/apply"
)

// recovery changes what the store holds, with everybody who depends on it stopped.
type recovery struct {
	etcd       *etcd
	components *components
	servers    *apiServers
}

// rebuild gives every member a new disk with a state, while what depends on the
// store is stopped.
func (r recovery) rebuild(t *sim.Task, state *apply.State, opt raftstore.RebuildOptions, why string) (*trace.Restore, error) {
	told := &trace.Restore{Bumped: opt.BumpRevision, MarkCompacted: opt.MarkCompacted}
	return told, r.anew(t, told, why, func() error { return r.etcd.raft.Rebuild(state, opt) })
}

// recover goes on from one member's data alone. What is not certain to have
// reached that member may be lost, and its log may hold what nobody has been answered:
// then all that depends on the store is started again, as people do after a
// disaster, and takes over what there is.
func (r recovery) recover(t *sim.Task, id string) error {
	do := func() error { return r.etcd.raft.Recover(id) }
	for _, m := range r.etcd.raft.Members() {
		if m.ID == id && m.Up && m.Revision >= r.etcd.client.Revision() {
			return r.etcd.beside(t, "recover "+id, do)
		}
	}
	return r.anew(t, &trace.Restore{Survivor: id}, "the store goes on from member "+id+" alone", do)
}

// anew changes what the store holds, while what depends on it is stopped: the API
// server's caches, and those of whoever follows it, know revisions that the store may
// give out again.
func (r recovery) anew(t *sim.Task, told *trace.Restore, why string, change func() error) error {
	var stopped []*component
	for _, kind := range []string{"scheduler", "controller-manager", trace.CompAPIServer} {
		for _, m := range r.components.ofKind(kind) {
			if m.up() {
				m.end(t.Causes(), why)
				stopped = append(stopped, m)
			}
		}
	}
	err := r.etcd.beside(t, why, change)
	if err == nil || r.etcd.raft.Healthy() {
		r.etcd.awaitLeader(t)
		told.ClusterID = r.etcd.raft.ClusterID()
		if e := r.etcd.client.Restored(t, told); err == nil {
			err = e
		}
	}
	for i := len(stopped) - 1; i >= 0; i-- {
		stopped[i].begin(t.Causes(), why)
		if isServer(stopped[i].target) && err == nil {
			err = r.awaitServer(t, stopped[i].target)
		}
	}
	return err
}

// serverLimit is how long a restored store's API server may take until it serves;
// it takes a second or so.
const serverLimit = 30 * time.Second

// awaitServer waits for the API server on a store with another content. One that
// refuses its writes keeps it from serving until somebody mends that.
func (r recovery) awaitServer(t *sim.Task, target string) error {
	if r.servers.backend(target).Server.WaitReadyFor(t, serverLimit) {
		return nil
	}
	why := "the store pane shows what it asks for and is refused"
	if s, ok := r.etcd.store.(raftstore.Alarming); ok && len(s.Alarms()) > 0 {
		why = "the content came with an alarm, under which writes are refused: etcdctl alarm list, then etcdctl alarm disarm"
	} else if s, ok := r.etcd.store.(raftstore.Authenticating); ok && s.AuthStore().IsAuthEnabled() {
		why = "the content came with users, of whom the API server is none: etcdctl --user root:PASSWORD auth disable"
	}
	return fmt.Errorf("the store holds the new content, but the API server does not serve after %v: %s", serverLimit, why)
}
