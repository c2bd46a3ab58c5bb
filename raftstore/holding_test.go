package raftstore

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"kviz/raftstore/steady"
)

// stillMember and stillNetwork note whether they are held.
type stillMember struct {
	peer
	held   atomic.Bool
	before func() // called once, before a hold takes effect
}

func (m *stillMember) Hold(on bool) {
	if m.before != nil {
		before := m.before
		m.before = nil
		before()
	}
	m.held.Store(on)
}

type stillNetwork struct {
	network
	held atomic.Bool
}

func (n *stillNetwork) Hold(on bool) { n.held.Store(on) }

// One who holds and another who lets go at the same time leave the clock, the members
// and the network all held, or all going.
func TestHoldingAndLettingGoAtOnce(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		m, n := &stillMember{}, &stillNetwork{}
		s := &Replicated{network: n, leases: &leases{}}
		s.order = newOrder(s, 0)
		s.membership = newMembership(s.order, nil, nil)
		s.membership.put(&roster{ids: []string{"a"}, members: []peer{m}, learner: []bool{false}})
		ended := make(chan struct{})
		m.before = func() {
			began := make(chan struct{})
			go func() {
				close(began)
				s.Hold(false)
				close(ended)
			}()
			<-began
			for range 10_000 { // it may come between if anything lets it
				runtime.Gosched()
			}
		}
		s.Hold(true)
		<-ended
		if s.order.clock.stopped() || s.held.Load() || m.held.Load() || n.held.Load() {
			t.Errorf("all should go; held are: the clock %v, members to come %v, the member %v, the network %v",
				s.order.clock.stopped(), s.held.Load(), m.held.Load(), n.held.Load())
		}
	})
}

// Every goroutine of a store is one that it waits for, those of a hold's end too.
func TestAHoldsEndIsWaitedFor(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var names []string
		s, err := Open(Config{NoSync: true, Dir: t.TempDir(), Go: func(name string, fn func()) {
			mu.Lock()
			names = append(names, name)
			mu.Unlock()
			go fn()
		}})
		if err != nil {
			t.Fatal(err)
		}
		ended(t, s, putK("1"))
		s.Hold(true)
		s.Hold(false)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "thaw of ") }) {
			t.Error("nobody knows of the goroutines that give followers their timeouts back")
		}
	})
}
