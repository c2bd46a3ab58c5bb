package member

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// A member that has the entry which removes it in its log, but has not seen it
// committed, may be needed: where the others that know of the change are down, its
// log is the only one that can win an election. Raft's dissertation (§4.2.2) has
// such a member stand for election; hashicorp/raft does not ("not part of a stable
// configuration … not triggering a leader election"), and the group would wait for
// ever: of a and b, a leads and is being removed, b is down; a steps down; b, back
// again, asks for the vote of a, whose log is longer.
//
// So it stands here, when it has heard of no leader for a while. Whoever has been
// removed for good cannot disturb: the others refuse one that they do not know
// before they look at its term.

// strandedAfter is how many election timeouts it waits. The removal is then long
// since committed, or will not be.
const strandedAfter = 4

func voterIn(servers []raft.Server, id string) bool {
	for _, sv := range servers {
		if string(sv.ID) == id {
			return sv.Suffrage == raft.Voter
		}
	}
	return false
}

func (inc *incarnation) removedBy(servers []raft.Server) bool {
	for _, sv := range servers {
		if string(sv.ID) == inc.m.cfg.ID {
			return false
		}
	}
	return len(servers) > 0
}

// foundGroups are the last two groups in the log with which a member starts. They are
// noted as the log is read, and by raft, which may be sent another while the member is
// still starting.
type foundGroups struct {
	mu             sync.Mutex
	before, latest []raft.Server
	index          uint64 // of the latest
}

func (f *foundGroups) note(servers []raft.Server, index uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.latest, f.index = f.latest, servers, index
}

// get is the group before the latest, and the latest's index.
func (f *foundGroups) get() (before []raft.Server, index uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.before, f.index
}

// noteGroup is called with every change of the group that is appended.
func (d *disk) noteGroup(l *raft.Log) {
	servers := raft.DecodeConfiguration(l.Data).Servers
	d.groupIndex.Store(l.Index)
	if !d.inc.live.Load() {
		d.found.note(servers, l.Index)
		return
	}
	if d.inc.removedBy(servers) && voterIn(d.inc.servers(), d.inc.m.cfg.ID) {
		d.inc.mayBeStranded()
	}
}

// startStranded looks at the log with which the member starts.
func (inc *incarnation) startStranded() {
	before, latest := inc.disk.found.get()
	if before == nil {
		// A folder that could not be read would not have let the member start.
		list, _ := inc.snapshots.all()
		for _, meta := range list {
			if meta.ConfigurationIndex < latest {
				before = meta.Configuration.Servers
				break
			}
		}
	}
	if inc.removedBy(inc.servers()) && voterIn(before, inc.m.cfg.ID) {
		inc.mayBeStranded()
	}
}

// mayBeStranded makes the member stand for election when nobody else does.
func (inc *incarnation) mayBeStranded() {
	inc.m.cfg.Go("watch over the removal of "+inc.m.cfg.ID, func() {
		for {
			timer := time.NewTimer(inc.m.slowed(strandedAfter * ElectionTimeout))
			select {
			case <-timer.C:
			case <-inc.stopped:
				timer.Stop()
				return
			}
			if !inc.removedBy(inc.servers()) {
				return // the entry was overruled
			}
			_, leader := inc.raft.LeaderWithID()
			if leader == "" && inc.raft.State() == raft.Follower && !inc.m.held.Load() {
				inc.endpoint.Campaign()
			}
		}
	})
}
