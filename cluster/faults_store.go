package cluster

import (
	"fmt"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/cluster/fault"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/apply"
)

// storeTarget is the store as a whole.
type storeTarget struct {
	etcd      *etcd
	recovery  recovery
	reinstall func(*sim.Task) error // makes a cluster usable whose API was emptied
}

var _ interface {
	fault.Members
	fault.Group
	fault.Database
} = storeTarget{}

// Raft is an error on the bare store.
func (t storeTarget) Raft() error {
	if t.etcd.raft == nil {
		return bare("store")
	}
	return nil
}

func (t storeTarget) Stop([]trace.ID) error  { return t.each(true, t.etcd.raft.Stop) }
func (t storeTarget) Crash([]trace.ID) error { return t.each(true, t.etcd.raft.Kill) }
func (t storeTarget) Start([]trace.ID) error { return t.each(false, t.etcd.raft.Restart) }

// each does something to every member that is up, or to every one that is down.
func (t storeTarget) each(up bool, do func(string) error) error {
	for _, m := range t.etcd.raft.Members() {
		if m.Up != up {
			continue
		}
		if err := do(m.ID); err != nil {
			return err
		}
	}
	return nil
}

func (t storeTarget) Heal([]trace.ID) error {
	for _, m := range t.etcd.raft.Members() {
		if err := t.etcd.raft.HealMember(m.ID); err != nil {
			return err
		}
	}
	return nil
}

// Groups reads "a,b c" as groups of members. Who is not named is in the last.
func (t storeTarget) Groups(words []string) (groups [][]string, err error) {
	rest := t.etcd.otherMembers("")
	for _, arg := range words {
		var g []string
		for _, id := range strings.Split(arg, ",") {
			id = strings.TrimPrefix(strings.TrimSpace(id), "member/")
			i := slices.Index(rest, id)
			switch {
			case i < 0 && t.etcd.hasMember(id):
				return nil, fmt.Errorf("member %s is named twice", id)
			case i < 0:
				return nil, fmt.Errorf("there is no member %q: the members are %s", id, strings.Join(t.etcd.otherMembers(""), ", "))
			}
			rest = slices.Delete(rest, i, i+1)
			g = append(g, id)
		}
		groups = append(groups, g)
	}
	if len(rest) > 0 {
		groups = append(groups, rest)
	}
	if len(groups) < 2 {
		return nil, fmt.Errorf("partition wants groups of members, such as: partition store a,b")
	}
	return groups, nil
}

func (t storeTarget) Partition(groups [][]string, _ []trace.ID) error {
	for i, g := range groups {
		for j, other := range groups {
			if i == j {
				continue
			}
			for _, a := range g {
				for _, b := range other {
					if err := t.etcd.raft.Cut(a, b); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

func (t storeTarget) SplitVote([]trace.ID) error { return t.etcd.raft.SplitVote() }

func (t storeTarget) SlowElections(factor int, _ []trace.ID) error {
	return t.etcd.raft.SlowElections(factor)
}

func (t storeTarget) AddMember(learner bool, _ []trace.ID) error {
	_, err := t.etcd.raft.AddMember(learner)
	return err
}

func (t storeTarget) Revision() int64 { return t.etcd.client.Revision() }

func (t storeTarget) Compact(revision int64, why []trace.ID) error {
	return t.etcd.ask("compact", why, func(task *sim.Task) error { return t.etcd.client.Compact(task, revision) })
}

func (t storeTarget) Disarm(why []trace.ID) error { return t.etcd.ask("disarm", why, t.etcd.disarm) }

func (t storeTarget) Reinstall(why []trace.ID) error {
	return t.etcd.ask("reinstall", why, t.reinstall)
}

// Quota sets the quota of a running store; etcd reads it when it starts.
func (t storeTarget) Quota(bytes int64, _ []trace.ID) error {
	t.etcd.quota.Store(bytes)
	return nil
}

func (t storeTarget) Defragment([]trace.ID) error { return t.etcd.defragment() }

// Wipe loses every member's disk. What is begun then is another cluster,
// with nothing in it.
func (t storeTarget) Wipe(why []trace.ID) error {
	return t.etcd.ask("wipe", why, func(task *sim.Task) error {
		_, err := t.recovery.rebuild(task, apply.New(apply.Limits{}), raftstore.RebuildOptions{}, "every disk of the store is lost")
		return err
	})
}

// disarm clears every alarm of every member, one after another, as etcdctl does.
func (e *etcd) disarm(t *sim.Task) error {
	s, ok := e.store.(raftstore.Alarming)
	if !ok {
		return fmt.Errorf("this store has no alarms")
	}
	for _, a := range s.Alarms() {
		off := &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: a.MemberID, Alarm: a.Alarm}
		if _, err := e.client.Do(t, "alarm disarm", &pb.InternalRaftRequest{Alarm: off}); err != nil {
			return err
		}
	}
	return nil
}

// defragment has one member after another do it, the leader last, as people do.
func (e *etcd) defragment() error {
	s, ok := e.store.(raftstore.Defragmenting)
	switch {
	case !ok:
		return fmt.Errorf("this store has no database that could be defragmented")
	case e.raft == nil:
		return s.Defragment("")
	}
	list := e.raft.Members()
	slices.SortStableFunc(list, func(a, b raftstore.MemberStatus) int { return leads(a) - leads(b) })
	for _, m := range list {
		if !m.Up {
			continue
		}
		if err := s.Defragment(m.ID); err != nil {
			return err
		}
	}
	return nil
}

func leads(m raftstore.MemberStatus) int {
	if m.Role == "leader" {
		return 1
	}
	return 0
}
