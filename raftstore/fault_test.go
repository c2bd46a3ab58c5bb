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

func TestCrashAndReopen(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		s, err := raftstore.Open(raftstore.Config{NoSync: true, Dir: dir, SnapshotEvery: 1000, SnapshotTrailing: 5})
		if err != nil {
			t.Fatal(err)
		}
		var lease [2]int64
		for life := range 3 {
			for i := range 30 {
				mustPut(t, s, fmt.Sprintf("k%d", i), fmt.Sprintf("%d.%d", life, i))
			}
			if life == 1 {
				// One member is brought back from a snapshot.
				if err := s.Snapshot(s.Leader()); err != nil {
					t.Fatal(err)
				}
			}
			if life < 2 {
				r := call(s, &pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{TTL: 60}})
				if r.Err != nil {
					t.Fatal(r.Err)
				}
				lease[life] = r.Response.(*pb.LeaseGrantResponse).ID
			}
			for _, m := range []string{"b", "a", "c"} {
				if err := s.Crash(m); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = raftstore.Open(raftstore.Config{NoSync: true, Dir: dir, SnapshotEvery: 1000, SnapshotTrailing: 5}); err != nil {
				t.Fatal(err)
			}
			told := 0
			s.OnCommit(func(r *raftstore.Result) { told++ })
			for i := range 30 {
				if got, want := get(t, s, fmt.Sprintf("k%d", i)), fmt.Sprintf("%d.%d", life, i); got != want {
					t.Fatalf("life %d: after the crash k%d is %q, not %q", life, i, got, want)
				}
			}
			if told != 0 {
				t.Errorf("what was in the log at Open was told %d times as news", told)
			}
		}
		if lease[0] == lease[1] {
			t.Errorf("two lives gave out the same lease ID %x", lease[0])
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestLeaderIsReplacedAndTheOldOneCatchesUp(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true})
		mustPut(t, s, "k", "0")
		old := s.Leader()
		if err := s.Crash(old); err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			mustPut(t, s, "k", fmt.Sprint(i))
		}
		if err := s.Restart(old); err != nil {
			t.Fatal(err)
		}
		steady.Until(t, old+" has caught up", func() bool {
			r, err := s.RangeAt(old, &pb.RangeRequest{Key: []byte("k")})
			return err == nil && len(r.Kvs) == 1 && string(r.Kvs[0].Value) == "49"
		})
	})
}

// A follower far behind gets a snapshot instead of the log.
func TestSnapshotIsInstalled(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		s := open(t, raftstore.Config{NoSync: true, Events: tr.add}) // a snapshot that was asked for leaves few entries, whatever the configuration says
		mustPut(t, s, "k", "0")
		leader := s.Leader()
		behind := other(leader, "")
		if err := s.Crash(behind); err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			mustPut(t, s, "k", fmt.Sprint(i))
		}
		if err := s.Snapshot(leader); err != nil {
			t.Fatal(err)
		}
		if err := s.Restart(behind); err != nil {
			t.Fatal(err)
		}
		mustPut(t, s, "k", "last")
		steady.Until(t, behind+" has caught up", func() bool {
			r, err := s.RangeAt(behind, &pb.RangeRequest{Key: []byte("k")})
			return err == nil && len(r.Kvs) == 1 && string(r.Kvs[0].Value) == "last"
		})
		requireStory(t, tr.from(0), leader+" snapshot", leader+" snapshot", behind+" snapshot")
		if err := s.Crash(leader); err != nil { // what was installed must serve as a vote and as a log
			t.Fatal(err)
		}
		mustPut(t, s, "k", "after")
	})
}

// Two snapshots of one state within a millisecond are two, with a name each.
func TestSnapshotsOfOneMillisecond(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true, Dir: t.TempDir()})
		mustPut(t, s, "k", "v")
		for range 3 {
			must(t, s.Snapshot(s.Leader()))
		}
	})
}

// A follower that was brought up by a snapshot and got entries behind it, of which the
// leader never heard, is brought up all the same: raft finds the entry before them in
// neither log and sends its snapshot again, which takes them away.
func TestASnapshotReplacesALongerLog(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true})
		mustPut(t, s, "k", "0")
		leader := s.Leader()
		behind := other(leader)
		must(t, s.Crash(behind))
		for i := range 40 {
			mustPut(t, s, "k", fmt.Sprint(i))
		}
		must(t, s.Snapshot(leader))
		must(t, s.Restart(behind))
		caughtUp(t, s, behind, "k", "39")
		must(t, s.Cut(behind, leader))
		at := status(t, s, behind).Last
		mustPut(t, s, "k", "nobody hears that it has it")
		steady.Until(t, behind+" has it", func() bool { return status(t, s, behind).Last > at })
		s.Heal()
		mustPut(t, s, "k", "last")
		began := time.Now()
		caughtUp(t, s, behind, "k", "last")
		if took := time.Since(began); took > soon {
			t.Errorf("it took %v", took)
		}
		must(t, s.TransferLeadership(behind)) // what it takes to be in its log is there
		mustPut(t, s, "k", "by "+behind)
	})
}

// other is a member that is none of these.
func other(ids ...string) string {
	for _, m := range []string{"a", "b", "c"} {
		if !slices.Contains(ids, m) {
			return m
		}
	}
	return ""
}

func TestWithoutAQuorum(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true, RequestTimeout: time.Second})
		mustPut(t, s, "k", "1")
		for _, m := range []string{"a", "c"} {
			if err := s.Stop(m); err != nil {
				t.Fatal(err)
			}
		}
		steady.Until(t, "nobody leads", func() bool { return s.Leader() == "" && !s.Healthy() })
		for _, req := range []*pb.InternalRaftRequest{putReq("k", "2"), getReq("k")} {
			if r := call(s, req); !errors.Is(r.Err, rpctypes.ErrGRPCTimeout) {
				t.Errorf("without a quorum %v ended with %v", req, r.Err)
			}
		}
		stale := &pb.InternalRaftRequest{Range: &pb.RangeRequest{Key: []byte("k"), Serializable: true}}
		if r := call(s, stale); r.Err != nil || len(r.Response.(*pb.RangeResponse).Kvs) > 1 {
			t.Errorf("a serializable read: %+v", r)
		}
	})
}

// A put that has time to wait for the quorum is done when there is one.
func TestAPutWaitsForTheQuorum(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true, RequestTimeout: time.Minute})
		mustPut(t, s, "k", "1")
		for _, m := range []string{"a", "c"} {
			must(t, s.Stop(m))
		}
		steady.Until(t, "nobody leads", func() bool { return s.Leader() == "" && !s.Healthy() })
		late := make(chan *raftstore.Result, 1)
		s.Do(putReq("k", "2"), func(r *raftstore.Result) { late <- r })
		must(t, s.Restart("a"))
		if r := <-late; r.Err != nil {
			t.Errorf("a put that waited for the quorum: %v", r.Err)
		}
	})
}

// A leader that nobody hears must not answer from what it has.
func TestIsolatedLeaderDoesNotRead(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true})
		mustPut(t, s, "k", "old")
		leader := s.Leader()
		if err := s.Isolate(leader); err != nil {
			t.Fatal(err)
		}
		if got := get(t, s, "k"); got != "old" {
			t.Errorf("read %q", got)
		}
		if s.Leader() == leader {
			t.Errorf("%s answered although nobody heard it", leader)
		}
		s.Heal()
		mustPut(t, s, "k", "new")
	})
}

func TestHealingIsFast(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true})
		mustPut(t, s, "k", "0")
		leader := s.Leader()
		follower := other(leader)
		must(t, s.Isolate(follower))
		for i := range 10 {
			mustPut(t, s, "k", fmt.Sprint(i))
		}
		time.Sleep(2 * time.Second) // failing calls would have raft back off for seconds
		goal := status(t, s, leader).Last
		start := time.Now()
		s.Heal()
		steady.Until(t, "the follower has the log", func() bool { return status(t, s, follower).Last >= goal })
		if took := time.Since(start); took > soon {
			t.Errorf("after healing, the log took %v", took)
		}
		if s.Leader() != leader {
			t.Errorf("the follower that came back cost %s the leadership", leader)
		}
	})
}

func TestLeadershipIsTransferred(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true})
		mustPut(t, s, "k", "0")
		for _, to := range []string{"c", "a", "b"} {
			if err := s.TransferLeadership(to); err != nil {
				t.Fatal(err)
			}
			if s.Leader() != to {
				t.Errorf("%s leads, not %s", s.Leader(), to)
			}
			mustPut(t, s, "k", to)
		}
		if err := s.TransferLeadership("z"); err == nil || !strings.Contains(err.Error(), `no member "z"`) {
			t.Errorf("transfer to z: %v", err)
		}
	})
}

// A leader that is asked to stop hands over; one that crashes cannot.
func TestStoppingALeaderHandsOver(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		s := open(t, raftstore.Config{NoSync: true, Events: tr.add})
		mustPut(t, s, "k", "0")
		settled(t, s)
		leader := s.Leader()
		start := tr.len()
		must(t, s.Stop(leader))
		mustPut(t, s, "k", "1")
		if !slices.ContainsFunc(tr.from(start), func(l string) bool { return strings.HasPrefix(l, leader+" send:") && strings.Contains(l, "TimeoutNow") }) {
			t.Errorf("%s did not hand over:\n%s", leader, strings.Join(tr.from(start), "\n"))
		}
	})
}

// A panic in what applies an entry takes one member down, not the process.
func TestAPanicTakesOneMemberDown(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true, RequestTimeout: 5 * time.Second})
		mustPut(t, s, "k", "0")
		s.OnCommit(func(r *raftstore.Result) {
			if string(r.Events[0].Kv.Value) == "poison" {
				panic("poisoned")
			}
		})
		if r := call(s, putReq("k", "poison")); r.Err == nil {
			t.Error("acknowledged by a member that panicked")
		}
		// It is the first that applied it, mostly the leader.
		down := 0
		for _, m := range s.Members() {
			if !m.Up && strings.Contains(m.Reason, "poisoned") {
				down++
			}
		}
		if down != 1 {
			t.Errorf("%d members are down and say why: %+v", down, s.Members())
		}
		mustPut(t, s, "k", "1")
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFolderKeepsItsMembers(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		s, err := raftstore.Open(raftstore.Config{Dir: dir, Members: 5, NoSync: true})
		must(t, err)
		mustPut(t, s, "k", "v")
		if _, err := raftstore.Open(raftstore.Config{Dir: dir, Members: 5, NoSync: true}); err == nil || !strings.Contains(err.Error(), "in use") {
			t.Errorf("a second store in the same folder: %v", err)
		}
		must(t, s.Close())
		s, err = raftstore.Open(raftstore.Config{NoSync: true, Dir: dir, Members: 3})
		must(t, err)
		if got := strings.Join(s.IDs(), ""); got != "abcde" {
			t.Errorf("five members opened as %q", got)
		}
		must(t, s.Close())
		for _, n := range []int{-1, 10} {
			if _, err := raftstore.Open(raftstore.Config{NoSync: true, Members: n}); err == nil {
				t.Errorf("%d members were accepted", n)
			}
		}
	})
}

func TestRequestsAfterClose(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true})
		mustPut(t, s, "k", "v")
		must(t, s.Close())
		for _, req := range []*pb.InternalRaftRequest{putReq("k", "2"), getReq("k")} {
			if r := call(s, req); !errors.Is(r.Err, rpctypes.ErrGRPCStopped) {
				t.Errorf("after Close: %v", r.Err)
			}
		}
		if err := s.Restart("a"); !errors.Is(err, rpctypes.ErrGRPCStopped) {
			t.Errorf("restart after Close: %v", err)
		}
	})
}

// A bubble ends only when every goroutine in it has ended.
func TestNoGoroutineIsLeftBehind(t *testing.T) {
	for i := range 3 {
		steady.Bubble(t, func(t *testing.T) {
			s, err := raftstore.Open(raftstore.Config{NoSync: true, Members: 3 + 2*(i%2)})
			must(t, err)
			mustPut(t, s, "k", "v")
			leader := s.Leader()
			switch i {
			case 0:
				must(t, s.Crash(leader))
			case 1:
				must(t, s.FillDisk(leader))
			}
			s.Hold(true)
			ended := make(chan *raftstore.Result, 128)
			for range 64 {
				s.Do(putReq("k", "w"), func(r *raftstore.Result) { ended <- r })
				s.Do(getReq("k"), func(r *raftstore.Result) { ended <- r })
			}
			must(t, s.Close())
			for range 64 {
				<-ended // every request ends, whatever it ends with
				<-ended
			}
		})
	}
}
