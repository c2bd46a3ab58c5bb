package raftstore_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kviz/raftstore"
	"kviz/raftstore/steady"
	"kviz/raftstore/wire"
)

// requireSteps steps until something holds.
func requireSteps(t *testing.T, s *raftstore.Replicated, most int, what string, holds func() bool) (steps int) {
	t.Helper()
	for !holds() {
		if steps++; steps > most {
			t.Fatalf("not after %d steps: %s; members %+v, held %+v", most, what, s.Members(), s.Held())
		}
		if !s.StepOne() {
			time.Sleep(time.Millisecond) // a role that changed a moment ago is told in the next
		}
	}
	return steps
}

// While everything is held the leader dies: no election comes by itself, and step by step
// one does, from a follower's timeout over the votes to the first entry of the new term.
func TestStepThroughAnElectionWithoutALeader(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr, s := openSettled(t)
		leader := s.Leader()
		s.Hold(true)
		for s.ReleaseOne() { // what the leader still had to say
		}
		start := tr.len()
		must(t, s.Crash(leader))
		steady.Until(t, "nothing is held", func() bool { return len(s.Held()) == 0 })

		time.Sleep(time.Second) // four times the least timeout
		if lines := tr.from(start); slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "candidate") }) {
			t.Errorf("somebody stands for election while everything is held:\n%s", strings.Join(lines, "\n"))
		}
		if !s.StepOne() {
			t.Fatal("nothing is left to step, and there is no leader")
		}
		candidate := ""
		steady.Until(t, "a candidate", func() bool {
			for _, m := range s.Members() {
				if m.Role == "candidate" {
					candidate = m.ID
				}
			}
			return candidate != ""
		})
		steady.Until(t, "its question is held", func() bool { h := s.Held(); return len(h) > 0 && h[0].RPC == wire.RequestPreVote })
		steps := requireSteps(t, s, 40, "a leader", func() bool { return s.Leader() != "" })
		if steps < 4 {
			t.Errorf("a leader after %d steps: would you, yes, vote, given are four", steps)
		}
		// The first to ask may be told that the other one still hears of its leader; when that
		// one's time is over too, it is elected.
		won := s.Leader()
		requireStory(t, tr.from(start), candidate+" role", candidate+" send", won+" reply", won+" vote", won+" role")
		s.Hold(false)
		mustPut(t, s, "k", "2")
	})
}

// With two of three members down the third stands again and again, a step each time.
func TestStepThroughElectionsThatNobodyWins(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr, s := openSettled(t)
		alone := slices.DeleteFunc(s.IDs(), func(id string) bool { return id == s.Leader() })[0]
		s.Hold(true)
		for _, id := range s.IDs() {
			if id != alone {
				must(t, s.Crash(id))
			}
		}
		start := tr.len()
		asked := func() int {
			n := 0
			for _, l := range tr.from(start) {
				if strings.HasPrefix(l, alone+" send") && strings.Contains(l, wire.RequestPreVote) {
					n++
				}
			}
			return n
		}
		for round := 1; round <= 3; round++ {
			requireSteps(t, s, 20*round, "another candidacy", func() bool { return asked() >= 2*round })
		}
		time.Sleep(300 * time.Millisecond)
		if n := asked(); n > 8 {
			t.Errorf("%d questions after three timeouts: it stands by itself while everything is held", n)
		}
	})
}

// A store that moves for moments only, shorter than any timeout, elects a leader all the
// same, after as much of its own time as it would take in one piece.
func TestElectionInMoments(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr, s := openSettled(t)
		s.Hold(true)
		must(t, s.Crash(s.Leader()))
		for moments := 0; s.Leader() == ""; moments++ {
			if moments > 100 { // ten times the least timeout
				t.Fatalf("no leader after %d moments\n%s", moments, strings.Join(tr.from(0), "\n"))
			}
			s.Hold(false)
			time.Sleep(25 * time.Millisecond)
			s.Hold(true)
			time.Sleep(25 * time.Millisecond)
		}
		s.Hold(false)
		mustPut(t, s, "k", "2")
	})
}

// A store that is slowed down waits that much longer before it elects, and so does whoever
// waits for it.
func TestSlowedDown(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		s := open(t, raftstore.Config{NoSync: true, Events: tr.add, RequestTimeout: time.Second})
		mustPut(t, s, "k", "1")
		settled(t, s)
		s.SlowDown(8)
		begun := time.Now()
		must(t, s.Crash(s.Leader()))
		mustPut(t, s, "k", "2") // which would have timed out
		if took := time.Since(begun); took < 8*250*time.Millisecond {
			t.Errorf("another leader after %s, and a timeout is 8 times 250 ms at least", took)
		}
		lines := tr.len()
		begun = time.Now()
		mustPut(t, s, "k", "3")
		if took := time.Since(begun); took < 7*time.Millisecond { // there and back, half a millisecond each, 7 times
			t.Errorf("a write after %s: its messages were not on their way for long\n%s", took, strings.Join(tr.from(lines), "\n"))
		}
	})
}
