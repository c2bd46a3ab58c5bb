package raftstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// status is what is known of one member.
func status(t testing.TB, s *raftstore.Replicated, id string) raftstore.MemberStatus {
	t.Helper()
	for _, m := range s.Members() {
		if m.ID == id {
			return m
		}
	}
	t.Fatalf("no member %s among %v", id, s.IDs())
	return raftstore.MemberStatus{}
}

// writer puts one value after the other until it is stopped, and notes which were
// acknowledged.
type writer struct {
	wg    sync.WaitGroup
	stop  context.CancelFunc
	acked []string // by the writer's goroutine; read it after end
	ended atomic.Int64
}

func startWriter(s *raftstore.Replicated) *writer {
	ctx, stop := context.WithCancel(context.Background())
	w := &writer{stop: stop}
	w.wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			key := fmt.Sprintf("w%d", i)
			if call(s, putReq(key, key)).Err == nil {
				w.acked = append(w.acked, key)
			}
			w.ended.Add(1)
			time.Sleep(time.Millisecond) // in which time passes for others: the put itself may take none
		}
	})
	return w
}

func (w *writer) end() []string { w.stop(); w.wg.Wait(); return w.acked }

// goOn waits for n more writes.
func (w *writer) goOn(t testing.TB, n int64) {
	t.Helper()
	goal := w.ended.Load() + n
	steady.Until(t, "the writer goes on", func() bool { return w.ended.Load() >= goal })
}

func TestFromThreeToFiveToThree(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		dir := t.TempDir()
		s := open(t, raftstore.Config{NoSync: true, Dir: dir, Events: tr.add})
		mustPut(t, s, "k", "0")
		var told atomic.Int64
		s.OnMembers(func() { told.Add(1) })
		start := tr.len()
		w := startWriter(s)
		for _, want := range []string{"d", "e"} {
			id := added(t, s, true)
			if id != want || !status(t, s, id).Learner {
				t.Errorf("%s joined: %+v; it should be the learner %s", id, status(t, s, id), want)
			}
			w.goOn(t, 20)
			promoted(t, s, id)
			if status(t, s, id).Learner {
				t.Errorf("%s is still a learner", id)
			}
			w.goOn(t, 20)
		}
		if got := strings.Join(s.IDs(), ""); got != "abcde" {
			t.Fatalf("the members are %s", got)
		}
		// With five, two can be missing.
		first, second := s.Leader(), other(s.Leader())
		must(t, s.Crash(first))
		must(t, s.Crash(second))
		w.goOn(t, 20)
		must(t, s.Restart(first))
		must(t, s.Restart(second))
		steady.Until(t, "everybody is in contact", s.Healthy)

		leader := s.Leader()
		must(t, s.RemoveMember(leader)) // the leader itself
		steady.Until(t, "another leads", func() bool { l := s.Leader(); return l != "" && l != leader })
		must(t, s.RemoveMember(other(leader, s.Leader())))
		w.goOn(t, 20)
		acked := w.end()
		if n := len(s.IDs()); n != 3 {
			t.Fatalf("%d members are left: %v", n, s.IDs())
		}
		for _, key := range acked {
			if get(t, s, key) != key {
				t.Fatalf("%s was acknowledged and is lost", key)
			}
		}
		for _, id := range s.IDs() {
			caughtUp(t, s, id, acked[len(acked)-1], acked[len(acked)-1])
		}
		if _, err := os.Stat(filepath.Join(dir, leader)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder of %s, which was removed, is still there: %v", leader, err)
		}
		if told.Load() < 6 {
			t.Errorf("of six changes %d were told", told.Load())
		}
		requireStory(t, tr.from(start), "d up", "d member", "d member", "e up", "e member", "e member", leader+" member", leader+" down")
	})
}

func TestAnyNumberOfMembers(t *testing.T) {
	for n := 1; n <= 9; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				dir := t.TempDir()
				s, err := raftstore.Open(raftstore.Config{NoSync: true, Dir: dir, Members: n})
				must(t, err)
				for i := range 20 {
					mustPut(t, s, fmt.Sprintf("k%d", i), fmt.Sprint(i))
				}
				if len(s.IDs()) != n || !s.Healthy() || !s.Whole() {
					t.Errorf("of %d: members %v, healthy %v, whole %v", n, s.IDs(), s.Healthy(), s.Whole())
				}
				// As many may be missing as a quorum spares.
				for _, id := range s.IDs()[:(n-1)/2] {
					must(t, s.Crash(id))
				}
				mustPut(t, s, "k", "last")
				for _, m := range s.Members() {
					if m.Up {
						must(t, s.Crash(m.ID)) // everybody, so that only the disks know
					}
				}
				must(t, s.Close())
				s = open(t, raftstore.Config{NoSync: true, Dir: dir, Members: 3}) // what the disks say counts
				if len(s.IDs()) != n {
					t.Errorf("opened again: %v", s.IDs())
				}
				for i := range 20 {
					if got := get(t, s, fmt.Sprintf("k%d", i)); got != fmt.Sprint(i) {
						t.Errorf("k%d is %q", i, got)
					}
				}
				if got := get(t, s, "k"); got != "last" {
					t.Errorf("k is %q", got)
				}
			})
		})
	}
}

// A leader alone is a quorum by its own disk: what it has not written there is not
// acknowledged. And when the other of two leaves, it is alone from that entry on.
func TestTheOnlyVoterWritesBeforeItAnswers(t *testing.T) {
	for name, alone := range map[string]func(t *testing.T) *raftstore.Replicated{
		"one member": func(t *testing.T) *raftstore.Replicated { return open(t, raftstore.Config{NoSync: true, Members: 1}) },
		"one voter and a learner": func(t *testing.T) *raftstore.Replicated {
			s := open(t, raftstore.Config{NoSync: true, Members: 1})
			mustPut(t, s, "k", "0")
			added(t, s, true)
			return s
		},
		"the other of two leaves": func(t *testing.T) *raftstore.Replicated {
			s := open(t, raftstore.Config{NoSync: true, Members: 2, RequestTimeout: time.Minute})
			mustPut(t, s, "k", "0")
			leader := s.Leader()
			must(t, s.SlowDisk(leader, 100*time.Millisecond))
			w := startWriter(s)
			must(t, s.RemoveMember(other(leader)))
			w.goOn(t, 2)
			must(t, s.Crash(leader))
			w.stop()
			must(t, s.SlowDisk(leader, 0))
			must(t, s.Restart(leader))
			for _, key := range w.end() {
				if get(t, s, key) != key {
					t.Errorf("%s was acknowledged and is lost", key)
				}
			}
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				s := alone(t)
				mustPut(t, s, "k", "before")
				voter := s.Leader()
				must(t, s.SlowDisk(voter, time.Minute))
				result := make(chan *raftstore.Result, 1)
				s.Do(putReq("k", "after"), func(r *raftstore.Result) { result <- r })
				select {
				case r := <-result:
					t.Fatalf("acknowledged before it was on the disk: %+v", r)
				case <-time.After(5 * time.Second):
				}
				must(t, s.Crash(voter))
				must(t, s.SlowDisk(voter, 0))
				must(t, s.Restart(voter))
				if r := <-result; r.Err == nil && get(t, s, "k") != "after" {
					t.Error("acknowledged, and lost in the crash")
				}
				mustPut(t, s, "k", "again")
			})
		})
	}
}

// What would cost the quorum is refused with etcd's own errors.
func TestRefusedChanges(t *testing.T) {
	add := func(s *raftstore.Replicated) error { _, err := s.AddMember(false); return err }
	remove := func(id string) func(s *raftstore.Replicated) error {
		return func(s *raftstore.Replicated) error { return s.RemoveMember(id) }
	}
	for _, c := range []struct {
		name    string
		members int
		down    []string
		do      func(s *raftstore.Replicated) error
		want    error
	}{
		{"the only voter leaves", 1, nil, remove("a"), rpctypes.ErrGRPCMemberNotEnoughStarted},
		{"somebody unknown leaves", 3, nil, remove("q"), rpctypes.ErrGRPCMemberNotFound},
		{"one of two that run of three leaves", 3, []string{"c"}, remove("a"), rpctypes.ErrGRPCUnhealthy},
		{"the one of three that is down leaves", 3, []string{"c"}, remove("c"), nil},
		{"a fourth voter where one of three is down", 3, []string{"c"}, add, rpctypes.ErrGRPCUnhealthy},
		{"a second voter", 1, nil, add, nil},
		{"a sixth voter where one of five is down", 5, []string{"e"}, add, nil},
		{"somebody unknown moves", 3, nil, func(s *raftstore.Replicated) error { return s.UpdateMember("q", []string{"http://q:1"}) }, rpctypes.ErrGRPCMemberNotFound},
		{"to nowhere", 3, nil, func(s *raftstore.Replicated) error { return s.UpdateMember("a", []string{"nowhere"}) }, rpctypes.ErrGRPCMemberBadURLs},
		{"to where another is", 3, nil, func(s *raftstore.Replicated) error { return s.UpdateMember("a", []string{"http://b:2380"}) }, rpctypes.ErrGRPCPeerURLExist},
		{"to a new place", 3, nil, func(s *raftstore.Replicated) error {
			return move(s, "a", "https://10.0.0.1:2380", "https://a.example:2380")
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				s := open(t, raftstore.Config{NoSync: true, Members: c.members})
				mustPut(t, s, "k", "1")
				for _, id := range c.down {
					must(t, s.Crash(id))
				}
				mustPut(t, s, "k", "2")
				steady.Until(t, "those that run are in contact", func() bool {
					n := 0
					for _, m := range s.Members() {
						if m.Leader != "" && (m.ID == m.Leader || status(t, s, m.Leader).Followers[m.ID].Match > 0) {
							n++
						}
					}
					return n == c.members-len(c.down)
				})
				time.Sleep(600 * time.Millisecond) // until those that are down are out of contact
				before := s.IDs()
				if err := c.do(s); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
					t.Errorf("%v, not %v", err, c.want)
				}
				if c.want != nil && !slices.Equal(before, s.IDs()) {
					t.Errorf("refused, and yet %v became %v", before, s.IDs())
				}
				mustPut(t, s, "k", "3")
			})
		})
	}
}

// move gives a member other peer URLs, while it leads: hashicorp/raft reads a
// follower's address in one place without its lock (replication.go
// updateLastAppended), and the race detector would tell of that.
func move(s *raftstore.Replicated, id string, urls ...string) error {
	if err := s.TransferLeadership(id); err != nil {
		return err
	}
	return s.UpdateMember(id, urls)
}

// Who belongs to the group stands in the logs; names are never given again.
func TestTheGroupSurvivesReopening(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		s, err := raftstore.Open(raftstore.Config{NoSync: true, Dir: dir})
		must(t, err)
		mustPut(t, s, "k", "0")
		d := added(t, s, false)
		must(t, s.RemoveMember(d))
		e := added(t, s, true)
		must(t, move(s, "b", "http://10.1.2.3:2380"))
		mustPut(t, s, "k", "1")
		must(t, s.RemoveMember("a"))
		if d != "d" || e != "e" || !slices.Equal(s.IDs(), []string{"b", "c", "e"}) {
			t.Fatalf("%s and %s joined, members %v", d, e, s.IDs())
		}
		for life := range 2 {
			if life == 0 {
				// A folder of somebody who is no member any more is left alone.
				must(t, os.MkdirAll(filepath.Join(dir, "d"), 0o700))
				copyFile(t, filepath.Join(dir, "b", "raft.db"), filepath.Join(dir, "d", "raft.db"))
			}
			must(t, s.Close())
			tr := newTranscript()
			s, err = raftstore.Open(raftstore.Config{NoSync: true, Dir: dir, Events: tr.add})
			must(t, err)
			if !slices.Equal(s.IDs(), []string{"b", "c", "e"}) || !status(t, s, "e").Learner || status(t, s, "b").PeerURLs[0] != "http://10.1.2.3:2380" {
				t.Errorf("opened again: %+v", s.Members())
			}
			if got := get(t, s, "k"); got != "1" {
				t.Errorf("k is %q", got)
			}
			if !slices.ContainsFunc(tr.from(0), func(l string) bool { return strings.HasPrefix(l, "d fault: not a member") }) {
				t.Error("nobody said that the folder of d is ignored")
			}
		}
		f := added(t, s, false)
		if f != "f" {
			t.Errorf("the name %s was given again", f)
		}
		must(t, s.Close())
	})
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, data, 0o600))
}

// A change that is asked for while the leader hands over, which it does in vain, ends when
// its time is over.
func TestAChangeDuringAHandoverEnds(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true, Members: 4, RequestTimeout: time.Second})
		mustPut(t, s, "k", "1")
		leader := s.Leader()
		heir := other(leader)
		must(t, s.Cut(heir, leader))
		mustPut(t, s, "k", "the answer to this does not come")
		if err := s.TransferLeadership(heir); err == nil {
			t.Error("the leadership was handed over without a word from the heir")
		}
		began := time.Now()
		_, err := s.AddMember(false)
		if took := time.Since(began); err != rpctypes.ErrGRPCTimeout || took > 1100*time.Millisecond {
			t.Errorf("after %v: %v", took, err)
		}
		s.Heal()
		steady.Until(t, "the store goes on", func() bool { return call(s, putReq("k", "2")).Err == nil })
	})
}

// Whatever is under way when the store is closed ends.
func TestClosingDuringAChange(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		for i := range 12 {
			s, err := raftstore.Open(raftstore.Config{NoSync: true})
			must(t, err)
			mustPut(t, s, "k", "1")
			ended := make(chan error, 3)
			go func() { _, err := s.AddMember(i%2 == 0); ended <- err }()
			go func() { ended <- s.RemoveMember("c") }()
			go func() { _, err := s.Rejoin("b"); ended <- err }()
			time.Sleep(time.Duration(i) * 3 * time.Millisecond)
			must(t, s.Close())
			for range 3 {
				if err := <-ended; err != nil {
					t.Log(err)
				}
			}
		}
	})
}

// The links of a member that left are forgotten with their faults.
func TestFaultsLeaveWithTheMember(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true, Members: 4})
		mustPut(t, s, "k", "1")
		leaver := other(s.Leader())
		must(t, s.Isolate(leaver))
		if s.Whole() {
			t.Error("isolated, and the store is whole")
		}
		must(t, s.RemoveMember(leaver))
		if !s.Whole() {
			t.Errorf("%s left with its faults, but the store is not whole: %+v", leaver, s.Members())
		}
		if err := s.Cut(leaver, s.Leader()); err == nil {
			t.Error("a link of somebody who left was cut")
		}
		mustPut(t, s, "k", "2")
	})
}

// Of a and b, the leader is being removed when the other goes down, and steps down
// with the removal in its log, where no quorum has it. When the other comes back its
// log is the shorter one: the one that is being removed must win the election, so
// that it can be.
func TestWhoIsBeingRemovedMayHaveToBeElected(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		for round := range 3 {
			s := open(t, raftstore.Config{NoSync: true, Members: 2, RequestTimeout: time.Second})
			mustPut(t, s, "k", "1")
			settled(t, s)
			leader := s.Leader()
			s.Hold(true) // the two are in contact, but no entry goes out, and no time passes for the caller
			removed := make(chan error, 1)
			go func() { removed <- s.RemoveMember(leader) }()
			steady.Until(t, "the removal is in the leader's log", func() bool {
				return status(t, s, leader).Last > status(t, s, leader).Commit
			})
			must(t, s.Crash(other(leader)))
			s.Hold(false)
			if err := <-removed; err == nil {
				t.Error("removed without the other's word")
			}
			if round == 1 {
				must(t, s.Restart(leader)) // also after a restart
			}
			must(t, s.Restart(other(leader)))
			steady.Until(t, "the group goes on", func() bool { return call(s, putReq("k", "2")).Err == nil })
			// Nobody else could be elected, so what was in its log is what happened.
			steady.Until(t, leader+" is no member any more", func() bool { return !slices.Contains(s.IDs(), leader) })
		}
	})
}
