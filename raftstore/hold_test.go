package raftstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// terms are the terms the members are in.
func terms(s *raftstore.Replicated) (list []uint64) {
	for _, m := range s.Members() {
		list = append(list, m.Term)
	}
	return list
}

// Pausing, stepping and going on, again and again, costs nobody the leadership, although
// one follower hears of its leader so late that its election timeout would be over at the
// end of a hold: it gets its timeout back with the next heartbeat.
func TestPausingWhileOneHearsLate(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		s := open(t, raftstore.Config{Events: tr.add, NoSync: true})
		mustPut(t, s, "k", "0")
		settled(t, s)
		before, leader := fmt.Sprint(terms(s)), s.Leader()
		for i := range 20 {
			start := tr.len()
			s.Hold(true)
			must(t, s.Delay(leader, other(leader), 200*time.Millisecond))
			result := make(chan *raftstore.Result, 1)
			s.Do(putReq("k", fmt.Sprint(i)), func(r *raftstore.Result) { result <- r })
			time.Sleep(time.Duration(1000+17*i) * time.Millisecond)
			for range i % 4 {
				s.ReleaseOne()
			}
			must(t, s.Delay(leader, other(leader), 0))
			s.Hold(false)
			if r := <-result; r.Err != nil {
				t.Error(r.Err)
			}
			time.Sleep(time.Second)
			lines := tr.from(start)
			if now := fmt.Sprint(terms(s)); now != before || slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, " role:") }) {
				t.Fatalf("round %d: terms %s became %s\n%s", i, before, now, strings.Join(lines, "\n"))
			}
		}
	})
}

// While held, the leader stays even if heartbeats come later than the lease and
// every timeout of a running store allow.
func TestHeldWhileHeartbeatsAreLate(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		s := open(t, raftstore.Config{NoSync: true, Events: tr.add, RequestTimeout: 30 * time.Second})
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
		time.Sleep(2500 * time.Millisecond)
		slow(0)
		time.Sleep(900 * time.Millisecond) // the last late one arrives
		if now := fmt.Sprint(terms(s)); now != before || s.Leader() != leader {
			t.Errorf("terms %s became %s, leader %s became %q\n%s", before, now, leader, s.Leader(), strings.Join(tr.from(start), "\n"))
		}
		s.Hold(false)
		mustPut(t, s, "k", "1")
		if now := fmt.Sprint(terms(s)); now != before {
			t.Errorf("after the hold terms %s became %s", before, now)
		}
	})
}

// A leader that is cut off steps down soon after a hold, though its lease was
// longer while held.
func TestTheLeaseIsShortAgainAfterAHold(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		s := open(t, raftstore.Config{NoSync: true, Events: tr.add})
		mustPut(t, s, "k", "0")
		leader := s.Leader()
		s.Hold(true)
		time.Sleep(300 * time.Millisecond)
		s.Hold(false)
		must(t, s.Isolate(leader))
		steady.Until(t, leader+" steps down", func() bool {
			return !slices.ContainsFunc(s.Members(), func(m raftstore.MemberStatus) bool { return m.ID == leader && m.Role == "leader" })
		})
		mustPut(t, s, "k", "1") // another leads
	})
}
