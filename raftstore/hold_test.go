package raftstore_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kviz/raftstore"
)

// busy keeps every processor of the machine busy with n goroutines each, none of which ever
// waits, until the returned function is called. A goroutine that wakes then gets
// a processor only after 10 ms for each of them.
func busy(n int) (end func()) {
	var over atomic.Bool
	for range n * runtime.NumCPU() {
		go func() {
			for i := 0; !over.Load(); i++ {
				_ = i * i
			}
		}()
	}
	return func() { over.Store(true) }
}

// terms are the terms the members are in.
func terms(s *raftstore.Replicated) (list []uint64) {
	for _, m := range s.Members() {
		list = append(list, m.Term)
	}
	return list
}

// Pausing, stepping and going on, again and again, with no processor to spare,
// costs nobody the leadership.
func TestPausingOnABusyMachine(t *testing.T) {
	tr := newTranscript()
	s := open(t, raftstore.Config{Events: tr.add, NoSync: true, RequestTimeout: 30 * time.Second})
	mustPut(t, s, "k", "0")
	settled(t, s)
	before := fmt.Sprint(terms(s))
	defer busy(5)()
	for i := range 20 {
		start := tr.len()
		s.Hold(true)
		result := make(chan *raftstore.Result, 1)
		s.Do(putReq("k", fmt.Sprint(i)), func(r *raftstore.Result) { result <- r })
		pass(50 * time.Millisecond)
		for range i % 4 {
			s.ReleaseOne()
		}
		s.Hold(false)
		if r := <-result; r.Err != nil {
			t.Error(r.Err)
		}
		if now := fmt.Sprint(terms(s)); now != before {
			t.Fatalf("round %d: terms %s became %s\n%s", i, before, now, strings.Join(tr.from(start), "\n"))
		}
	}
}

// While held, the leader stays even if heartbeats come later than the lease and
// every timeout of a running store allow.
func TestHeldWhileHeartbeatsAreLate(t *testing.T) {
	t.Parallel()
	tr := newTranscript()
	s := open(t, raftstore.Config{Events: tr.add, RequestTimeout: 30 * time.Second})
	mustPut(t, s, "k", "0")
	settled(t, s)
	before, leader := fmt.Sprint(terms(s)), s.Leader()
	s.Hold(true)
	start := tr.len()
	slow := func(d time.Duration) {
		for _, m := range s.IDs() {
			if m != leader {
				must(t, s.Delay(leader, m, d))
			}
		}
	}
	slow(800 * time.Millisecond)
	pass(2500 * time.Millisecond)
	slow(0)
	pass(900 * time.Millisecond) // the last late one arrives
	if now := fmt.Sprint(terms(s)); now != before || s.Leader() != leader {
		t.Errorf("terms %s became %s, leader %s became %q\n%s", before, now, leader, s.Leader(), strings.Join(tr.from(start), "\n"))
	}
	s.Hold(false)
	mustPut(t, s, "k", "1")
	if now := fmt.Sprint(terms(s)); now != before {
		t.Errorf("after the hold terms %s became %s", before, now)
	}
}

// A leader that is cut off steps down soon after a hold, though its lease was
// longer while held.
func TestTheLeaseIsShortAgainAfterAHold(t *testing.T) {
	t.Parallel()
	tr := newTranscript()
	s := open(t, raftstore.Config{Events: tr.add})
	mustPut(t, s, "k", "0")
	leader := s.Leader()
	s.Hold(true)
	pass(300 * time.Millisecond)
	s.Hold(false)
	must(t, s.Isolate(leader))
	await(t, leader+" steps down", func() bool {
		return !slices.ContainsFunc(s.Members(), func(m raftstore.MemberStatus) bool { return m.ID == leader && m.Role == "leader" })
	})
	mustPut(t, s, "k", "1") // another leads
}
