package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kviz/cluster/fault"
	"kviz/cluster/nearest"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/member"
)

// bare is what faults of members are refused with where there are none.
func bare(target string) error {
	return fmt.Errorf("there is no %q: this cluster runs on the bare store, without members", target)
}

func (e *etcd) hasMember(id string) bool {
	return slices.ContainsFunc(e.raft.Members(), func(m raftstore.MemberStatus) bool { return m.ID == id })
}

// otherMembers are the members except for one, in order.
func (e *etcd) otherMembers(id string) (others []string) {
	for _, m := range e.raft.Members() {
		if m.ID != id {
			others = append(others, m.ID)
		}
	}
	return others
}

// members are the targets member/a, member/b …
type members struct{ recovery recovery }

func (ms members) names() (names []string) {
	if raft := ms.recovery.etcd.raft; raft != nil {
		for _, m := range raft.Members() {
			names = append(names, "member/"+m.ID)
		}
	}
	return names
}

func (ms members) find(name string) (any, error) {
	e, id := ms.recovery.etcd, strings.TrimPrefix(name, "member/")
	if e.raft == nil {
		return nil, bare(name)
	}
	if !e.hasMember(id) {
		return nil, nil
	}
	return memberTarget{e, ms.recovery, id}, nil
}

// memberTarget is a member of the store as faults see it.
type memberTarget struct {
	etcd     *etcd
	recovery recovery
	id       string
}

var _ interface {
	fault.Process
	fault.Slow
	fault.Healer
	fault.Peers
	fault.Links
	fault.MemberDisk
	fault.Membership
	fault.Upkeep
} = memberTarget{}

// Peers are the other members.
func (t memberTarget) Peers() []string { return t.etcd.otherMembers(t.id) }

// Peer finds another member by its name.
func (t memberTarget) Peer(name string) (string, error) {
	others := t.Peers()
	switch {
	case slices.Contains(others, name):
		return name, nil
	case name == t.id:
		return "", fmt.Errorf("member/%s has no link to itself: name another member", t.id)
	}
	text := fmt.Sprintf("%q is no member that member/%s has a link to (%s)", name, t.id, strings.Join(others, ", "))
	if near := nearest.To(name, others); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return "", errors.New(text)
}

// Linked is an error where it is the only member.
func (t memberTarget) Linked() error {
	if len(t.Peers()) == 0 {
		return fmt.Errorf("member/%s is the only member: it has no link that could be broken", t.id)
	}
	return nil
}

func (t memberTarget) Stop([]trace.ID) error     { return t.etcd.raft.Stop(t.id) }
func (t memberTarget) Crash([]trace.ID) error    { return t.etcd.raft.Kill(t.id) }
func (t memberTarget) PowerCut([]trace.ID) error { return t.etcd.raft.Crash(t.id) }
func (t memberTarget) Start([]trace.ID) error    { return t.etcd.raft.Restart(t.id) }

func (t memberTarget) Restart([]trace.ID) error {
	return errors.Join(t.etcd.raft.Stop(t.id), t.etcd.raft.Restart(t.id))
}

func (t memberTarget) Heal([]trace.ID) error { return t.etcd.raft.HealMember(t.id) }
func (t memberTarget) Fill([]trace.ID) error { return t.etcd.raft.FillDisk(t.id) }
func (t memberTarget) Free([]trace.ID) error { return t.etcd.raft.FreeDisk(t.id) }
func (t memberTarget) Lead([]trace.ID) error { return t.etcd.raft.TransferLeadership(t.id) }
func (t memberTarget) Wipe([]trace.ID) error { return t.etcd.raft.Wipe(t.id) }

// Promote waits until the learner has caught up. An entry that is on its disk counts only when
// the leader has heard of it, which on a paused cluster it has not.
func (t memberTarget) Promote([]trace.ID) error { return t.etcd.raft.PromoteWhenReady(t.id) }

func (t memberTarget) Remove([]trace.ID) error     { return t.etcd.raft.RemoveMember(t.id) }
func (t memberTarget) Snapshot([]trace.ID) error   { return t.etcd.raft.Snapshot(t.id) }
func (t memberTarget) Defragment([]trace.ID) error { return t.etcd.raft.Defragment(t.id) }

func (t memberTarget) Rejoin([]trace.ID) error {
	_, err := t.etcd.raft.Rejoin(t.id)
	return err
}

func (t memberTarget) Recover(why []trace.ID) error {
	return t.etcd.ask("recover", why, func(task *sim.Task) error { return t.recovery.recover(task, t.id) })
}

func (t memberTarget) Slow(d time.Duration, _ []trace.ID) error { return t.etcd.raft.SlowDisk(t.id, d) }

// Damages are those that its log file can have, the usual one first.
func (t memberTarget) Damages() []string {
	names := []string{string(member.Flipped)}
	for _, d := range member.Damages {
		if d != member.Flipped {
			names = append(names, string(d))
		}
	}
	return names
}

func (t memberTarget) Corrupt(how string, _ []trace.ID) error {
	return t.etcd.raft.Corrupt(t.id, member.Damage(how))
}

// Cut cuts it off from the named peers, or from all.
func (t memberTarget) Cut(peers []string, _ []trace.ID) error {
	if len(peers) == 0 {
		return t.etcd.raft.Isolate(t.id)
	}
	for _, p := range peers {
		if err := errors.Join(t.etcd.raft.Cut(t.id, p), t.etcd.raft.Cut(p, t.id)); err != nil {
			return err
		}
	}
	return nil
}

// Mute loses what it sends to the named peers, or to all.
func (t memberTarget) Mute(peers []string, _ []trace.ID) error {
	return t.oneWay(peers, func(other string) error { return t.etcd.raft.Cut(t.id, other) })
}

// Deafen loses what the named peers, or all, send to it.
func (t memberTarget) Deafen(peers []string, _ []trace.ID) error {
	return t.oneWay(peers, func(other string) error { return t.etcd.raft.Cut(other, t.id) })
}

// Mend takes every fault of the links with the named peers away.
func (t memberTarget) Mend(peers []string, _ []trace.ID) error {
	for _, p := range peers {
		if err := t.etcd.raft.HealLink(t.id, p); err != nil {
			return err
		}
	}
	return nil
}

func (t memberTarget) oneWay(peers []string, do func(other string) error) error {
	if len(peers) == 0 {
		peers = t.Peers()
	}
	for _, p := range peers {
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}

func (t memberTarget) Delay(peer string, d time.Duration, _ []trace.ID) error {
	return bothWays(t.etcd.raft.Delay, t.id, peer, d)
}

func (t memberTarget) Drop(peer string, p float64, _ []trace.ID) error {
	return bothWays(t.etcd.raft.Drop, t.id, peer, p)
}

func (t memberTarget) Duplicate(peer string, p float64, _ []trace.ID) error {
	return bothWays(t.etcd.raft.Duplicate, t.id, peer, p)
}

func (t memberTarget) Reorder(peer string, p float64, _ []trace.ID) error {
	return bothWays(t.etcd.raft.Reorder, t.id, peer, p)
}

func bothWays[T any](set func(from, to string, v T) error, a, b string, v T) error {
	if err := set(a, b, v); err != nil {
		return err
	}
	return set(b, a, v)
}
