package raftstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// caughtUp waits until a member's own state has the key with the value.
func caughtUp(t testing.TB, s *raftstore.Replicated, id, key, value string) {
	t.Helper()
	steady.Until(t, id+" holds "+key+"="+value, func() bool {
		r, err := s.RangeAt(id, &pb.RangeRequest{Key: []byte(key)})
		return err == nil && len(r.Kvs) == 1 && string(r.Kvs[0].Value) == value
	})
}

// promoted asks until the learner has caught up.
func promoted(t testing.TB, s *raftstore.Replicated, id string) {
	t.Helper()
	steady.Until(t, id+" is promoted", func() bool {
		err := s.PromoteMember(id)
		if err != nil && !errors.Is(err, rpctypes.ErrGRPCLearnerNotReady) {
			t.Fatalf("promote %s: %v", id, err)
		}
		return err == nil
	})
}

// A learner gets the log. It does not vote, does not count and cannot lead.
func TestALearner(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		s := open(t, raftstore.Config{NoSync: true, Members: 3, RequestTimeout: 5 * time.Second, Events: tr.add})
		mustPut(t, s, "k", "0")
		learner := added(t, s, true)
		mustPut(t, s, "k", "1")
		caughtUp(t, s, learner, "k", "1")
		if _, err := s.AddMember(true); !errors.Is(err, rpctypes.ErrGRPCTooManyLearners) {
			t.Errorf("a second learner: %v", err)
		}
		if err := s.TransferLeadership(learner); !errors.Is(err, rpctypes.ErrGRPCBadLeaderTransferee) {
			t.Errorf("leadership for the learner: %v", err)
		}
		// Two of three voters down: two members run, one of them a learner.
		leader := s.Leader()
		must(t, s.Crash(leader))
		must(t, s.Crash(other(leader)))
		steady.Until(t, "nobody leads", func() bool { return s.Leader() == "" && !s.Healthy() })
		if r := call(s, putReq("k", "2")); r.Err == nil {
			t.Error("a put was acknowledged by one voter of three")
		}
		time.Sleep(time.Second) // several election timeouts
		if r := status(t, s, learner); r.Role != "follower" {
			t.Errorf("the learner is %s", r.Role)
		}
		if slices.ContainsFunc(tr.from(0), func(l string) bool { return strings.HasPrefix(l, learner+" vote:") }) {
			t.Error("the learner has voted")
		}
		if _, err := s.RangeAt(learner, &pb.RangeRequest{Key: []byte("k")}); err != nil {
			t.Errorf("a serializable read from the learner: %v", err)
		}
		must(t, s.Restart(leader))
		must(t, s.Restart(other(leader)))
		mustPut(t, s, "k", "3")
		caughtUp(t, s, learner, "k", "3")
		// Stopping the leader does not hand the leadership to the learner.
		must(t, s.Stop(s.Leader()))
		mustPut(t, s, "k", "4")
	})
}

func TestALearnerThatIsBehindIsNotPromoted(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true, SnapshotEvery: 1 << 30})
		for i := range 50 {
			mustPut(t, s, "k", fmt.Sprint(i))
		}
		id := added(t, s, true)
		promotable := func() error { return s.PromoteMember(id) }
		caughtUp(t, s, id, "k", "49")
		must(t, s.Isolate(id))
		for i := range 20 {
			mustPut(t, s, "k", fmt.Sprint("later ", i))
		}
		if err := promotable(); !errors.Is(err, rpctypes.ErrGRPCLearnerNotReady) {
			t.Errorf("a learner that lacks 20 of 70 entries: %v", err)
		}
		waiting := make(chan error)
		go func() { waiting <- s.PromoteWhenReady(id) }()
		s.Heal()
		must(t, <-waiting)
		if err := promotable(); !errors.Is(err, rpctypes.ErrGRPCMemberNotLearner) {
			t.Errorf("a voter: %v", err)
		}
		if err := s.PromoteMember("z"); !errors.Is(err, rpctypes.ErrGRPCMemberNotFound) {
			t.Errorf("nobody: %v", err)
		}
	})
}

// A member whose disk is lost comes back under another name.
func TestWipeAndRejoin(t *testing.T) {
	for _, victim := range []string{"the leader", "a follower"} {
		t.Run(victim, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				tr := newTranscript()
				dir := t.TempDir()
				s, err := raftstore.Open(raftstore.Config{NoSync: true, Dir: dir, Events: tr.add, SnapshotEvery: 20, SnapshotTrailing: 5})
				must(t, err)
				for i := range 60 {
					mustPut(t, s, "k", fmt.Sprint(i))
				}
				id := s.Leader()
				if victim == "a follower" {
					id = other(id)
				}
				must(t, s.Snapshot(other(id)))
				must(t, s.Wipe(id))
				if err := s.Restart(id); err == nil || !strings.Contains(err.Error(), "must not come back under its old name") {
					t.Errorf("restart of a wiped member: %v", err)
				}
				mustPut(t, s, "k", "without it")
				// Also when the process begins anew the others go on.
				must(t, s.Close())
				s = open(t, raftstore.Config{NoSync: true, Dir: dir, Events: tr.add, SnapshotEvery: 20, SnapshotTrailing: 5})
				mustPut(t, s, "k", "anew")
				if m := status(t, s, id); m.Up || !strings.Contains(m.Reason, "is missing") {
					t.Errorf("opened again without the disk of %s: %+v", id, m)
				}
				start := tr.len()
				newID, err := s.Rejoin(id)
				must(t, err)
				mustPut(t, s, "k", "with it")
				caughtUp(t, s, newID, "k", "with it")
				if newID != "d" || slices.Contains(s.IDs(), id) || len(s.IDs()) != 3 || status(t, s, newID).Learner {
					t.Errorf("%s came back as %s: %+v", id, newID, s.Members())
				}
				requireStory(t, tr.from(start), id+" member", "d up", "d member", "d member")
				steady.Until(t, "the store is whole", s.Whole)
			})
		})
	}
}

// Stepped, a change of the members is an entry like any other: it counts from the
// moment at which it is appended, and the new member must have it too.
func TestAMemberJoinsStepByStep(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true})
		mustPut(t, s, "k", "1")
		settled(t, s)
		s.Hold(true)
		joined := make(chan error, 1)
		go func() { _, err := s.AddMember(false); joined <- err }()
		steps := 0
		for done := false; !done; {
			select {
			case err := <-joined:
				must(t, err)
				done = true
			default:
				if s.ReleaseOne() {
					steps++
				}
				time.Sleep(time.Millisecond)
			}
		}
		if steps < 3 {
			t.Errorf("it took %d messages", steps)
		}
		if len(s.IDs()) != 4 {
			t.Errorf("members %v", s.IDs())
		}
		s.Hold(false)
		mustPut(t, s, "k", "2")
		caughtUp(t, s, "d", "k", "2")
	})
}

// A member that joins with peer URLs is one change of the group; where it may not have
// them nobody joins.
func TestAMemberJoinsWithItsURLs(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		s := open(t, raftstore.Config{NoSync: true, Events: tr.add, RequestTimeout: time.Minute})
		mustPut(t, s, "k", "1")
		for _, refused := range []struct {
			urls []string
			want error
		}{
			{[]string{"http://b:2380"}, rpctypes.ErrGRPCPeerURLExist},
			{[]string{"sharks"}, rpctypes.ErrGRPCMemberBadURLs},
			{nil, rpctypes.ErrGRPCMemberBadURLs},
		} {
			if id, err := s.AddMemberAt(true, refused.urls); !errors.Is(err, refused.want) || len(s.IDs()) != 3 {
				t.Errorf("member %q at %v: %v, want %v; the members are %v", id, refused.urls, err, refused.want, s.IDs())
			}
		}
		start := tr.len()
		urls := []string{"https://10.0.0.7:2380", "https://d.example:2380"}
		id, err := s.AddMemberAt(true, urls)
		must(t, err)
		if got := status(t, s, id).PeerURLs; !slices.Equal(got, urls) {
			t.Errorf("%s is at %v", id, got)
		}
		if lines := tr.from(start); slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "member: updated") }) {
			t.Errorf("it joined and was updated:\n%s", strings.Join(lines, "\n"))
		}
	})
}
