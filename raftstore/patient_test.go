package raftstore_test

import (
	"fmt"
	"slices"
	"time"

	"kviz/raftstore"
	"kviz/raftstore/member"
	"kviz/raftstore/steady"
)

func (x *patient) stop() error { return x.s.Stop(x.victim) }

func (x *patient) crash() error { return x.s.Crash(x.victim) }

func (x *patient) stopMajority() error {
	for _, id := range x.group(x.majority()) {
		if err := x.s.Crash(id); err != nil {
			return err
		}
	}
	return nil
}

// restart starts whoever is down.
func (x *patient) restart() error {
	for _, m := range x.s.Members() {
		if m.Up {
			continue
		}
		if err := x.s.Restart(m.ID); err != nil {
			return err
		}
	}
	return nil
}

func (x *patient) cutOne() error { return x.s.Isolate(x.victim) }

func (x *patient) cutMinority() error { return x.s.Isolate(x.group(len(x.ids) - x.majority())...) }

func (x *patient) cutMajority() error { return x.s.Isolate(x.group(x.majority())...) }

// cutApart cuts each of a majority from everybody, so that nobody has a quorum.
func (x *patient) cutApart() error {
	for _, id := range x.group(x.majority()) {
		if err := x.s.Isolate(id); err != nil {
			return err
		}
	}
	return nil
}

func (x *patient) heal() error { x.s.Heal(); return nil }

// link is a way from the victim: to the leader, or from the leader to a follower.
func (x *patient) link() (from, to string) {
	if x.victim == x.leader {
		return x.victim, x.others(x.victim)[0]
	}
	return x.victim, x.leader
}

func (x *patient) delay() error {
	from, to := x.link()
	return x.s.Delay(from, to, 30*time.Millisecond)
}

func (x *patient) drop() error {
	from, to := x.link()
	return x.s.Drop(from, to, 0.3)
}

func (x *patient) slow() error { return x.s.SlowDisk(x.victim, 20*time.Millisecond) }

func (x *patient) sound() error { return x.s.SlowDisk(x.victim, 0) }

func (x *patient) fill() error { return x.s.FillDisk(x.victim) }

// room makes room on the disk. A member that had to write down a vote meanwhile
// went down and must be started.
func (x *patient) room() error {
	if err := x.s.FreeDisk(x.victim); err != nil {
		return err
	}
	if x.victim == x.leader {
		steady.Until(x.t, x.victim+" went down, or follows", func() bool {
			m := x.s.Members()[slices.Index(x.ids, x.victim)]
			return !m.Up || m.Role == "follower" && m.Leader != ""
		})
	}
	return x.restart()
}

// mute cuts every link that starts at the victim, deafen every one that ends there.
func (x *patient) mute() error {
	for _, id := range x.others(x.victim) {
		if err := x.s.Cut(x.victim, id); err != nil {
			return err
		}
	}
	return nil
}

func (x *patient) deafen() error {
	for _, id := range x.others(x.victim) {
		if err := x.s.Cut(id, x.victim); err != nil {
			return err
		}
	}
	return nil
}

func (x *patient) duplicate() error {
	from, to := x.link()
	return x.s.Duplicate(from, to, 0.5)
}

func (x *patient) reorder() error {
	from, to := x.link()
	return x.s.Reorder(from, to, 0.2)
}

// crashUnsynced crashes the victim while its disk has yet to write what others
// have already acknowledged.
func (x *patient) crashUnsynced() error {
	if err := x.s.SlowDisk(x.victim, time.Minute); err != nil {
		return err
	}
	last := x.status(x.leader).Last
	for i := range 5 {
		x.s.Do(putReq("unsynced", fmt.Sprint(i)), func(*raftstore.Result) {})
	}
	steady.Until(x.t, "the entries are on their way", func() bool { return x.status(x.leader).Last > last || x.s.Leader() != x.leader })
	if err := x.s.Crash(x.victim); err != nil {
		return err
	}
	return x.s.SlowDisk(x.victim, 0)
}

func (x *patient) wipe() error { return x.s.Wipe(x.victim) }

func (x *patient) corrupt() error {
	if err := x.s.Crash(x.victim); err != nil {
		return err
	}
	if err := x.s.Corrupt(x.victim, member.Flipped); err != nil {
		return err
	}
	if err := x.s.Restart(x.victim); err == nil {
		x.t.Error("a member started from a damaged log")
	}
	return nil
}

func (x *patient) rejoin() error {
	members := len(x.s.IDs())
	_, err := x.s.Rejoin(x.victim)
	x.ids = x.s.IDs()
	if err == nil && len(x.ids) != members {
		err = fmt.Errorf("of %d members %d are left", members, len(x.ids))
	}
	return err
}

func (x *patient) slowElections() error { return x.s.SlowElections(3) }

func (x *patient) usualElections() error { return x.s.SlowElections(1) }

func (x *patient) join() error {
	_, err := x.s.AddMember(true)
	x.ids = x.s.IDs()
	return err
}

func (x *patient) promote() error {
	promoted(x.t, x.s, x.ids[len(x.ids)-1])
	return nil
}

func (x *patient) leave() error {
	err := x.s.RemoveMember(x.victim)
	x.ids = x.s.IDs()
	return err
}

func (x *patient) replace() error {
	_, err := x.s.AddMember(false)
	x.ids = x.s.IDs()
	return err
}

// move hands the leadership to the victim; if that is the leader, from it to another.
func (x *patient) move() error {
	x.heir = x.victim
	if x.victim == x.leader {
		x.heir = x.others(x.leader)[0]
	}
	return x.s.TransferLeadership(x.heir)
}
