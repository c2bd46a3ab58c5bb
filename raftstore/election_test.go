package raftstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore"
	"kviz/raftstore/member"
	"kviz/raftstore/steady"
)

// An election that nobody wins, with any number of members: two stand in one term,
// each gets half the votes, and the next election decides by itself.
func TestASplitVote(t *testing.T) {
	for n := 2; n <= 7; n++ {
		t.Run(fmt.Sprintf("%d members", n), func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				tr := newTranscript()
				s := open(t, raftstore.Config{NoSync: true, Members: n, Events: tr.add})
				mustPut(t, s, "k", "1")
				settled(t, s)
				start := tr.len()
				if err := s.SplitVote(); err != nil {
					t.Fatal(err)
				}
				mustPut(t, s, "k", "2") // by whoever is elected next
				votes := map[uint64]map[string]int{}
				won := map[uint64]string{}
				for _, l := range tr.from(start) {
					var term uint64
					if _, vote, ok := strings.Cut(l, " vote: for "); ok {
						candidate, in, _ := strings.Cut(vote, " in term ")
						if _, err := fmt.Sscan(in, &term); err != nil {
							t.Fatalf("%v: %s", err, l)
						}
						if votes[term] == nil {
							votes[term] = map[string]int{}
						}
						votes[term][candidate]++
					}
					if _, in, ok := strings.Cut(l, "leader term "); ok && strings.Contains(l, "role") {
						if _, err := fmt.Sscan(in, &term); err != nil {
							t.Fatalf("%v: %s", err, l)
						}
						won[term] = l
					}
				}
				// The one after it may have been split by chance.
				var term uint64
				for in, candidates := range votes {
					if len(candidates) == 2 && won[in] == "" {
						term = max(term, in)
					}
				}
				if term == 0 {
					t.Fatalf("no election was split: votes %v, won %v:\n%s", votes, won, strings.Join(tr.from(start), "\n"))
				}
				if now, _ := s.TermAt(s.Leader()); now <= term {
					t.Errorf("term %d was split; %s leads in term %d", term, s.Leader(), now)
				}
				t.Logf("of %d votes in term %d: %v", n, term, votes[term])
			})
		})
	}
	s := open(t, raftstore.Config{Members: 1, NoSync: true})
	mustPut(t, s, "k", "1")
	if err := s.SplitVote(); err == nil {
		t.Error("one voter split its vote")
	}
}

// Slowed down, an election can be watched; writes are as fast as ever, and going
// back to the usual pace brings no election.
func TestSlowElections(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr, s := openSettled(t)
		if s.SlowElections(0) == nil || s.SlowElections(101) == nil {
			t.Error("a pace out of range was accepted")
		}
		must(t, s.SlowElections(6))
		start := time.Now()
		for i := range 20 {
			mustPut(t, s, "k", fmt.Sprint(i))
		}
		if writes := time.Since(start); writes > 0 {
			t.Errorf("20 writes took %v", writes)
		}
		must(t, s.Crash(s.Leader()))
		start = time.Now()
		steady.Until(t, "there is a leader again", func() bool { return s.Leader() != "" })
		// A follower may have heard of the leader a heartbeat ago, and two may stand at once.
		if took := time.Since(start); took < 5*member.ElectionTimeout || took > 60*member.ElectionTimeout {
			t.Errorf("an election at a sixth of the pace took %v", took)
		}
		mustPut(t, s, "k", "2")
		for _, m := range s.Members() {
			if !m.Up {
				must(t, s.Restart(m.ID))
			}
		}
		settled(t, s)
		term, _ := s.TermAt(s.Leader())
		before := tr.len()
		must(t, s.SlowElections(1))
		for i := range 100 {
			mustPut(t, s, "k", fmt.Sprint(i))
			time.Sleep(10 * time.Millisecond)
		}
		if now, _ := s.TermAt(s.Leader()); now != term {
			t.Errorf("back at the usual pace there was an election:\n%s", strings.Join(tr.from(before), "\n"))
		}
		must(t, s.Crash(s.Leader()))
		start = time.Now()
		mustPut(t, s, "k", "3")
		if took := time.Since(start); took > 10*member.ElectionTimeout {
			t.Errorf("at the usual pace an election took %v", took)
		}
	})
}

// In a partition, on one screen: a linearizable read sees what is true, or waits; a
// serializable one at the member that is cut off sees what was.
func TestLinearizableBesideSerializable(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true, RequestTimeout: 5 * time.Second})
		mustPut(t, s, "k", "before")
		settled(t, s)
		old := s.Leader()
		must(t, s.Isolate(old))
		mustPut(t, s, "k", "after")
		read := &pb.RangeRequest{Key: []byte("k")}
		at := func(id string) string {
			r, err := s.RangeAt(id, read)
			must(t, err)
			return string(r.Kvs[0].Value)
		}
		new := other(old)
		caughtUp(t, s, new, "k", "after")
		if lin, stale, fresh := get(t, s, "k"), at(old), at(new); lin != "after" || stale != "before" || fresh != "after" {
			t.Errorf("linearizable %q; serializable %q at %s, which is cut off, and %q at %s", lin, stale, old, fresh, new)
		}
		// Nobody has a quorum: the one waits in vain, the other answers.
		must(t, s.Isolate(new))
		steady.Until(t, "nobody leads", func() bool { return s.Leader() == "" })
		if r := call(s, getReq("k")); r.Err == nil {
			t.Error("a linearizable read was answered without a quorum")
		}
		if got := at(old); got != "before" {
			t.Errorf("a serializable read: %q", got)
		}
		s.Heal()
		steady.Until(t, "all is well", s.Healthy)
		caughtUp(t, s, old, "k", "after")
	})
}

// Requests that arrive late, after later ones, change nothing.
func TestReorder(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		s := open(t, raftstore.Config{NoSync: true, Events: tr.add, Seed: 3})
		mustPut(t, s, "k", "0")
		for _, from := range s.IDs() {
			for _, to := range s.IDs() {
				if from != to {
					must(t, s.Reorder(from, to, 0.1))
				}
			}
		}
		if s.Whole() {
			t.Error("messages overtake one another, and the store is whole")
		}
		for i := range 40 {
			value := fmt.Sprint(i)
			steady.Until(t, "put "+value, func() bool { return call(s, putReq("k", value)).Err == nil })
			if i == 20 {
				must(t, s.Crash(s.Leader()))
			}
		}
		for _, m := range s.Members() {
			if !m.Up {
				must(t, s.Restart(m.ID))
			}
		}
		steady.Until(t, "a read", func() bool { return call(s, getReq("k")).Err == nil })
		s.Heal()
		if got := get(t, s, "k"); got != "39" {
			t.Errorf("k is %q", got)
		}
		for _, id := range s.IDs() {
			caughtUp(t, s, id, "k", "39")
		}
		late := slices.IndexFunc(tr.from(0), func(l string) bool { return strings.Contains(l, "it was overtaken") })
		if late < 0 {
			t.Error("nothing was overtaken")
		}
		if err := s.Reorder("a", "b", 2); err == nil {
			t.Error("a probability of 2 was accepted")
		}
	})
}

// An event of a write says how long the disk took.
func TestAWriteSaysHowLongItTook(t *testing.T) {
	steady.RealTime(t, "a disk that is not slowed down takes no time in a bubble")
	tr := newTranscript()
	s := open(t, raftstore.Config{Events: tr.add, RequestTimeout: steady.Patience(t)})
	mustPut(t, s, "k", "0")
	follower := other(s.Leader())
	must(t, s.SlowDisk(follower, 30*time.Millisecond))
	mustPut(t, s, "k", "1")
	caughtUp(t, s, follower, "k", "1")
	tr.mu.Lock()
	defer tr.mu.Unlock()
	longest := map[string]time.Duration{}
	for _, e := range tr.events {
		if e.Kind == "raft.durable" {
			longest[e.Member] = max(longest[e.Member], e.Log.Took)
			if e.Log.Took <= 0 {
				t.Errorf("%s wrote in %v", e.Member, e.Log.Took)
			}
		}
	}
	if longest[follower] < 30*time.Millisecond {
		t.Errorf("the slow disk of %s took %v", follower, longest)
	}
}
