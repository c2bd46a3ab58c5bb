package raftstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore/member"
)

// change has leaders propose a change until one has committed it.
func (ms *membership) change(propose func(leadership) error) error {
	deadline := ms.order.clock.now() + ms.order.timeout
	late := rpctypes.ErrGRPCTimeout
	for {
		leader, err := ms.order.awaitLeader(deadline, late)
		if err != nil {
			return err
		}
		err = ms.changeAt(leader, propose, deadline)
		switch {
		case errors.Is(err, member.ErrLeaderLost):
			late = rpctypes.ErrGRPCTimeoutDueToLeaderFail
		case !errors.Is(err, member.ErrNotLeader):
			return err
		}
		if ms.order.clock.now() >= deadline { // a leader that is handing over refuses for as long as that takes
			return late
		}
		ms.order.sleep(5 * time.Millisecond)
	}
}

// changeAt has one leader propose the change. What is committed after the deadline is
// taken over all the same.
func (ms *membership) changeAt(leader leadership, propose func(leadership) error, deadline time.Duration) error {
	done := newResult()
	ms.underWay.Add(1)
	ms.spawn("change of members by "+leader.Member(), func() {
		err := propose(leader)
		if err == nil {
			err = ms.adopt(leader)
		}
		done <- err
		if ms.underWay.Add(-1); err != nil {
			ms.callTheRoll() // whoever asked may be gone
		}
	})
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ms.order.closing:
			return rpctypes.ErrGRPCStopped
		case <-tick.C:
			if ms.order.clock.now() >= deadline {
				return rpctypes.ErrGRPCTimeout
			}
		}
	}
}

func newResult() chan error { return make(chan error, 1) }

// callTheRoll asks the leader who belongs to the group, if there is one.
func (ms *membership) callTheRoll() {
	if leader, _ := ms.order.current(); leader != nil {
		ms.order.still(leader, func() { ms.spawn("roll call of "+leader.Member(), func() { ms.rollCall(leader) }) })
	}
}

// rollCall takes over the group as a new leader has it, once that can change no
// more without the store: what a lost leader left undecided is decided then. While a
// change is under way, also one that nobody waits for any longer, nothing is.
func (ms *membership) rollCall(leader leadership) {
	if leader.Began(context.Background()) != nil {
		return
	}
	ms.changing.Lock()
	defer ms.changing.Unlock()
	if !ms.order.still(leader, nil) || ms.underWay.Load() > 0 {
		return
	}
	// What is left on a disk is in nobody's way.
	_ = ms.adopt(leader)
	g := ms.group()
	for _, m := range g.joining {
		if slices.Contains(g.undecided, m.ID()) {
			_ = ms.unjoin(m)
		}
	}
}
