package robustness

import (
	"fmt"
	"time"

	"kviz/raftstore"
	"kviz/raftstore/member"
)

// fault is something that goes wrong, and comes right again.
type fault struct {
	name string
	// run does it and undoes it; while it lasts the clients go on.
	run func(*group) error
	// gone says that the victim does not come back under its name.
	gone bool
}

// group is the store under a fault. The victim is a follower, unless the fault
// is the leader's.
type group struct {
	*raftstore.Replicated
	leader string
	victim string
	other  string // the third
	last   func() // lets the fault last for a while

	patience time.Duration // how long something may take that has to be tried again
}

// steps runs one after the other and stops at the first error.
func steps(fns ...func() error) error {
	for i, fn := range fns {
		if err := fn(); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return nil
}

// during does something while the fault lasts, and undoes it.
func (g *group) during(do, undo func() error) error {
	return steps(do, func() error { g.last(); return nil }, undo)
}

func (g *group) heal() error { g.Heal(); return nil }

// links does the same to every link.
func (g *group) links(fn func(from, to string) error) error {
	ids := g.IDs()
	for _, from := range ids {
		for _, to := range ids {
			if from != to {
				if err := fn(from, to); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// down takes a member down in some way and starts it again.
func down(leader bool, how func(*group, string) error) func(*group) error {
	return func(g *group) error {
		id := g.victim
		if leader {
			id = g.leader
		}
		return g.during(func() error { return how(g, id) }, func() error { return g.Restart(id) })
	}
}

func disk(leader bool, do, undo func(*group, string) error) func(*group) error {
	return func(g *group) error {
		id := g.victim
		if leader {
			id = g.leader
		}
		return g.during(func() error { return do(g, id) }, func() error { return undo(g, id) })
	}
}

func links(do func(g *group, from, to string) error) func(*group) error {
	return func(g *group) error {
		return g.during(func() error {
			return g.links(func(from, to string) error { return do(g, from, to) })
		}, g.heal)
	}
}

func cuts(pairs func(*group) [][2]string) func(*group) error {
	return func(g *group) error {
		return g.during(func() error {
			for _, p := range pairs(g) {
				if err := g.Cut(p[0], p[1]); err != nil {
					return err
				}
			}
			return nil
		}, g.heal)
	}
}

func crash(g *group, id string) error { return g.Crash(id) }
func stop(g *group, id string) error  { return g.Stop(id) }
func kill(g *group, id string) error  { return g.Kill(id) }

func slow(g *group, id string) error { return g.SlowDisk(id, 40*time.Millisecond) }
func fast(g *group, id string) error { return g.SlowDisk(id, 0) }
func full(g *group, id string) error { return g.FillDisk(id) }

// free makes room. A member that could not write down its term or vote has gone
// down meanwhile.
func free(g *group, id string) error {
	if err := g.FreeDisk(id); err != nil {
		return err
	}
	if _, up := g.TermAt(id); !up {
		return g.Restart(id)
	}
	return nil
}

// faults are all that the store has.
var faults = []fault{
	{name: "none", run: func(g *group) error { g.last(); return nil }},
	{name: "crash the leader", run: down(true, crash)},
	{name: "crash a follower", run: down(false, crash)},
	{name: "stop the leader", run: down(true, stop)},
	{name: "stop a follower", run: down(false, stop)},
	{name: "kill the leader", run: down(true, kill)},
	{name: "crash and restart all", run: everybody},
	{name: "isolate the leader", run: func(g *group) error {
		return g.during(func() error { return g.Isolate(g.leader) }, g.heal)
	}},
	{name: "isolate a follower", run: func(g *group) error {
		return g.during(func() error { return g.Isolate(g.victim) }, g.heal)
	}},
	{name: "the leader hears nobody", run: cuts(func(g *group) [][2]string {
		return [][2]string{{g.victim, g.leader}, {g.other, g.leader}}
	})},
	{name: "the leader reaches nobody", run: cuts(func(g *group) [][2]string {
		return [][2]string{{g.leader, g.victim}, {g.leader, g.other}}
	})},
	{name: "the leader does not reach one", run: cuts(func(g *group) [][2]string { return [][2]string{{g.leader, g.victim}} })},
	{name: "everybody alone", run: func(g *group) error {
		return g.during(func() error { return g.links(g.Cut) }, g.heal)
	}},
	{name: "delayed messages", run: links(func(g *group, from, to string) error { return g.Delay(from, to, 15*time.Millisecond) })},
	{name: "dropped messages", run: links(func(g *group, from, to string) error { return g.Drop(from, to, 0.2) })},
	{name: "doubled messages", run: links(func(g *group, from, to string) error { return g.Duplicate(from, to, 0.5) })},
	{name: "reordered messages", run: links(func(g *group, from, to string) error { return g.Reorder(from, to, 0.5) })},
	{name: "all kinds of links", run: links(func(g *group, from, to string) error {
		return steps(func() error { return g.Delay(from, to, 3*time.Millisecond) }, func() error { return g.Drop(from, to, 0.05) },
			func() error { return g.Duplicate(from, to, 0.2) }, func() error { return g.Reorder(from, to, 0.2) })
	})},
	{name: "the leader's disk is slow", run: disk(true, slow, fast)},
	{name: "a follower's disk is slow", run: disk(false, slow, fast)},
	{name: "the leader's disk is full", run: disk(true, full, free)},
	{name: "a follower's disk is full", run: disk(false, full, free)},
	{name: "leadership is handed over", run: func(g *group) error {
		return g.during(func() error { return g.TransferLeadership(g.victim) }, func() error { return g.TransferLeadership(g.other) })
	}},
	{name: "a split vote", run: func(g *group) error { return g.during(g.SplitVote, g.heal) }},
	{name: "slow elections", run: func(g *group) error {
		return steps(func() error { return g.SlowElections(3) }, func() error { return down(true, crash)(g) }, func() error { return g.SlowElections(1) })
	}},
	{name: "a snapshot is installed", run: installed},
	{name: "everybody takes a snapshot", run: func(g *group) error {
		return steps(func() error { return g.Snapshot(g.leader) }, func() error { return g.Snapshot(g.victim) }, func() error { g.last(); return nil })
	}},
	{name: "everybody defragments", run: func(g *group) error {
		return steps(func() error { return g.Defragment(g.leader) }, func() error { return g.Defragment(g.victim) }, func() error { g.last(); return nil })
	}},
	{name: "a learner comes, votes and goes", run: learner},
	{name: "three, five, three members", run: five},
	{name: "a member is wiped and replaced", gone: true, run: func(g *group) error {
		return g.during(func() error { return g.Wipe(g.victim) }, func() error { return g.rejoin(g.victim) })
	}},
	{name: "a damaged log is found and the member replaced", gone: true, run: damaged},
	{name: "the leader is removed", gone: true, run: func(g *group) error {
		return g.during(func() error { return g.RemoveMember(g.victim) }, func() error { return g.join(false) })
	}},
	{name: "the quorum is lost for good", gone: true, run: recovered},
}

// everybody goes down at once.
func everybody(g *group) error {
	ids := g.IDs()
	return g.during(func() error {
		for _, id := range ids {
			if err := g.Crash(id); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		for _, id := range ids {
			if err := g.Restart(id); err != nil {
				return err
			}
		}
		return nil
	})
}

// installed has a follower miss more than the leader's log still holds.
func installed(g *group) error {
	return g.during(func() error { return g.Crash(g.victim) }, func() error {
		return steps(func() error { return g.Snapshot(g.leader) }, func() error { g.last(); return nil }, func() error { return g.Snapshot(g.leader) },
			func() error { return g.Restart(g.victim) })
	})
}

func learner(g *group) error {
	id, err := g.AddMember(true)
	if err != nil {
		return err
	}
	return steps(func() error { return g.promote(id) }, func() error { g.last(); return nil }, func() error { return g.RemoveMember(id) })
}

func five(g *group) error {
	var joined []string
	for range 2 {
		id, err := g.AddMember(false)
		if err != nil {
			return err
		}
		joined = append(joined, id)
	}
	g.last()
	for _, id := range joined {
		if err := g.again(func() error { return g.RemoveMember(id) }); err != nil {
			return err
		}
	}
	return nil
}

func damaged(g *group) error {
	return g.during(func() error {
		return steps(func() error { return g.Crash(g.victim) }, func() error { return g.Corrupt(g.victim, member.MetaZeroed) })
	}, func() error {
		if err := g.Restart(g.victim); err == nil {
			return fmt.Errorf("member %s starts from a damaged log", g.victim)
		}
		return steps(func() error { return g.Wipe(g.victim) }, func() error { return g.rejoin(g.victim) })
	})
}

// recovered continues from the leader alone, which has everything that was
// acknowledged.
func recovered(g *group) error {
	return g.during(func() error {
		return steps(func() error { return g.Wipe(g.victim) }, func() error { return g.Wipe(g.other) })
	}, func() error {
		return steps(func() error { return g.Recover(g.leader) }, func() error { return g.join(false) }, func() error { return g.join(false) })
	})
}

// again tries until it succeeds: a group that changes may have no leader for a
// moment, or a learner not have caught up.
func (g *group) again(fn func() error) error {
	start := time.Now()
	for {
		err := fn()
		if err == nil || time.Since(start) > g.patience {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (g *group) promote(id string) error {
	return g.again(func() error { return g.PromoteMember(id) })
}

func (g *group) join(learner bool) error {
	return g.again(func() error { _, err := g.AddMember(learner); return err })
}

func (g *group) rejoin(id string) error {
	return g.again(func() error { _, err := g.Rejoin(id); return err })
}
