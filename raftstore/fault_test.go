package raftstore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
)

func TestCrashAndReopen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := raftstore.Open(raftstore.Config{Dir: dir, SnapshotEvery: 1000, SnapshotTrailing: 5})
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
		if s, err = raftstore.Open(raftstore.Config{Dir: dir, SnapshotEvery: 1000, SnapshotTrailing: 5}); err != nil {
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
}

func TestLeaderIsReplacedAndTheOldOneCatchesUp(t *testing.T) {
	t.Parallel()
	s := open(t, raftstore.Config{})
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
	await(t, old+" has caught up", func() bool {
		r, err := s.RangeAt(old, &pb.RangeRequest{Key: []byte("k")})
		return err == nil && len(r.Kvs) == 1 && string(r.Kvs[0].Value) == "49"
	})
}

// A follower far behind gets a snapshot instead of the log.
func TestSnapshotIsInstalled(t *testing.T) {
	t.Parallel()
	tr := newTranscript()
	s := open(t, raftstore.Config{Events: tr.add}) // a snapshot that was asked for leaves few entries, whatever the configuration says
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
	await(t, behind+" has caught up", func() bool {
		r, err := s.RangeAt(behind, &pb.RangeRequest{Key: []byte("k")})
		return err == nil && len(r.Kvs) == 1 && string(r.Kvs[0].Value) == "last"
	})
	requireStory(t, tr.from(0), leader+" snapshot", leader+" snapshot", behind+" snapshot")
	if err := s.Crash(leader); err != nil { // what was installed must serve as a vote and as a log
		t.Fatal(err)
	}
	mustPut(t, s, "k", "after")
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

func TestFollowersDiskIsFull(t *testing.T) {
	t.Parallel()
	s := open(t, raftstore.Config{})
	mustPut(t, s, "k", "0")
	tries := 0
	soon(t, "once there was room, the log", func() time.Duration {
		tries++
		last := fmt.Sprint("last ", tries)
		follower := other(s.Leader())
		must(t, s.FillDisk(follower))
		for i := range 20 {
			mustPut(t, s, "k", fmt.Sprint(i))
		}
		mustPut(t, s, "k", last)
		pass(2 * time.Second) // refusals would have raft back off for seconds
		must(t, s.FreeDisk(follower))
		start := time.Now()
		await(t, "the follower has caught up, restarted if it went down", func() bool {
			for _, m := range s.Members() {
				if m.ID == follower && !m.Up {
					must(t, s.Restart(follower))
				}
			}
			r, err := s.RangeAt(follower, &pb.RangeRequest{Key: []byte("k")})
			return err == nil && len(r.Kvs) == 1 && string(r.Kvs[0].Value) == last
		})
		return time.Since(start)
	})
}

// soon is for what must not take seconds: of five tries one must be quicker, for
// the machine may be busy.
func soon(t *testing.T, what string, try func() time.Duration) {
	t.Helper()
	var took []time.Duration
	for range 5 {
		took = append(took, try())
		if took[len(took)-1] < time.Second {
			return
		}
	}
	t.Errorf("%s took %v", what, took)
}

// The leader's full disk costs it the leadership, then itself when it must write
// down the next term; the process and the others go on.
func TestLeadersDiskIsFull(t *testing.T) {
	t.Parallel()
	s := open(t, raftstore.Config{})
	mustPut(t, s, "k", "0")
	leader := s.Leader()
	if err := s.FillDisk(leader); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "k", "1")
	if s.Leader() == leader {
		t.Errorf("%s leads with a full disk", leader)
	}
	await(t, leader+" is down", func() bool {
		m := s.Members()[slices.Index([]string{"a", "b", "c"}, leader)]
		return !m.Up && strings.Contains(m.Reason, "no space left on device")
	})
	if err := s.Restart(leader); err == nil || !strings.Contains(err.Error(), leader) {
		t.Errorf("restart with a full disk: %v", err)
	}
	if err := s.FreeDisk(leader); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(leader); err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "k", "2")
}

// A member starts also from a disk that is so slow that a write takes minutes.
func TestAMemberStartsFromAVerySlowDisk(t *testing.T) {
	t.Parallel()
	s := open(t, raftstore.Config{})
	mustPut(t, s, "k", "0")
	follower := other(s.Leader())
	must(t, s.SlowDisk(follower, 10*time.Minute))
	must(t, s.Crash(follower))
	started := make(chan error, 1)
	go func() { started <- s.Restart(follower) }()
	select {
	case err := <-started:
		must(t, err)
	case <-time.After(30 * time.Second):
		t.Fatal("it has not started after half a minute")
	}
	must(t, s.SlowDisk(follower, 0))
	caughtUp(t, s, follower, "k", "0")
}

func TestWithoutAQuorum(t *testing.T) {
	t.Parallel()
	s := open(t, raftstore.Config{RequestTimeout: time.Second})
	await(t, "the first put", func() bool { return call(s, putReq("k", "1")).Err == nil })
	for _, m := range []string{"a", "c"} {
		if err := s.Stop(m); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "nobody leads", func() bool { return s.Leader() == "" && !s.Healthy() })
	for _, req := range []*pb.InternalRaftRequest{putReq("k", "2"), getReq("k")} {
		if r := call(s, req); !errors.Is(r.Err, rpctypes.ErrGRPCTimeout) {
			t.Errorf("without a quorum %v ended with %v", req, r.Err)
		}
	}
	stale := &pb.InternalRaftRequest{Range: &pb.RangeRequest{Key: []byte("k"), Serializable: true}}
	if r := call(s, stale); r.Err != nil || len(r.Response.(*pb.RangeResponse).Kvs) > 1 {
		t.Errorf("a serializable read: %+v", r)
	}
}

// A put that has time to wait for the quorum is done when there is one.
func TestAPutWaitsForTheQuorum(t *testing.T) {
	t.Parallel()
	s := open(t, raftstore.Config{RequestTimeout: time.Minute})
	mustPut(t, s, "k", "1")
	for _, m := range []string{"a", "c"} {
		must(t, s.Stop(m))
	}
	await(t, "nobody leads", func() bool { return s.Leader() == "" && !s.Healthy() })
	late := make(chan *raftstore.Result, 1)
	s.Do(putReq("k", "2"), func(r *raftstore.Result) { late <- r })
	must(t, s.Restart("a"))
	if r := <-late; r.Err != nil {
		t.Errorf("a put that waited for the quorum: %v", r.Err)
	}
}

// A leader replicates while it writes, but is not counted before its own disk
// has the entry: what it loses in a crash was not acknowledged on its word.
func TestTheLeaderCountsWhatItsDiskHas(t *testing.T) {
	t.Parallel()
	tr := newTranscript()
	s := open(t, raftstore.Config{Events: tr.add, RequestTimeout: time.Minute})
	mustPut(t, s, "k", "0")
	must(t, s.SlowElections(100)) // another leader, on a busy machine, could count the followers
	leader := s.Leader()
	must(t, s.SlowDisk(leader, time.Minute))
	start := tr.len()
	result := make(chan *raftstore.Result, 1)
	s.Do(putReq("k", "1"), func(r *raftstore.Result) { result <- r })
	durable := func(m string) bool {
		return slices.ContainsFunc(tr.from(start), func(l string) bool { return strings.HasPrefix(l, m+" durable:") })
	}
	x, y := other(leader), other(leader, other(leader))
	await(t, "both followers have the entry", func() bool { return durable(x) && durable(y) })
	select {
	case r := <-result:
		t.Fatalf("acknowledged before the leader's disk had it: %+v", r)
	case <-time.After(50 * time.Millisecond):
	}
	must(t, s.Crash(leader))
	must(t, s.SlowElections(1))
	if r := <-result; r.Err != nil {
		t.Errorf("the put that both followers held: %v", r.Err)
	}
	if durable(leader) && !slices.ContainsFunc(tr.from(start), func(l string) bool { return strings.HasSuffix(l, "refused") }) {
		t.Errorf("the crash did not lose the entry:\n%s", strings.Join(tr.from(start), "\n"))
	}
	must(t, s.SlowDisk(leader, 0))
	must(t, s.Restart(leader))
	if got := get(t, s, "k"); got != "1" {
		t.Errorf("k is %q", got)
	}
	await(t, leader+" has caught up", func() bool {
		r, err := s.RangeAt(leader, &pb.RangeRequest{Key: []byte("k")})
		return err == nil && len(r.Kvs) == 1 && string(r.Kvs[0].Value) == "1"
	})
}

// A leader that nobody hears must not answer from what it has.
func TestIsolatedLeaderDoesNotRead(t *testing.T) {
	t.Parallel()
	s := open(t, raftstore.Config{})
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
}

func TestHealingIsFast(t *testing.T) {
	s := open(t, raftstore.Config{})
	mustPut(t, s, "k", "0")
	var leader, follower string
	soon(t, "after healing, the log", func() time.Duration {
		follower = other(s.Leader())
		must(t, s.Isolate(follower))
		for i := range 10 {
			mustPut(t, s, "k", fmt.Sprint(i))
		}
		pass(2 * time.Second) // failing calls would have raft back off for seconds
		leader = s.Leader()
		last := func(m string) uint64 { return s.Members()[slices.Index([]string{"a", "b", "c"}, m)].Last }
		goal := last(leader)
		start := time.Now()
		s.Heal()
		await(t, "the follower has the log", func() bool { return last(follower) >= goal })
		return time.Since(start)
	})
	if s.Leader() != leader {
		t.Errorf("the follower that came back cost %s the leadership", leader)
	}
}

func TestLeadershipIsTransferred(t *testing.T) {
	t.Parallel()
	s := open(t, raftstore.Config{})
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
}

// A leader that is asked to stop hands over; one that crashes cannot.
func TestStoppingALeaderHandsOver(t *testing.T) {
	tr := newTranscript()
	s := open(t, raftstore.Config{Events: tr.add})
	mustPut(t, s, "k", "0")
	settled(t, s)
	leader := s.Leader()
	start := tr.len()
	must(t, s.Stop(leader))
	mustPut(t, s, "k", "1")
	if !slices.ContainsFunc(tr.from(start), func(l string) bool { return strings.HasPrefix(l, leader+" send:") && strings.Contains(l, "TimeoutNow") }) {
		t.Errorf("%s did not hand over:\n%s", leader, strings.Join(tr.from(start), "\n"))
	}
}

// A panic in what applies an entry takes one member down, not the process.
func TestAPanicTakesOneMemberDown(t *testing.T) {
	t.Parallel()
	s := open(t, raftstore.Config{RequestTimeout: 5 * time.Second})
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
}

func TestDamagedFilesAreRefused(t *testing.T) {
	t.Parallel()
	damage := map[string]func(t *testing.T, file string){
		"missing": func(t *testing.T, file string) { must(t, os.Remove(file)) },
		"empty":   func(t *testing.T, file string) { must(t, os.Truncate(file, 0)) },
		"half":    func(t *testing.T, file string) { must(t, os.Truncate(file, 16384)) },
		"one meta page zeroed": func(t *testing.T, file string) {
			overwrite(t, file, int64(os.Getpagesize()), make([]byte, os.Getpagesize()))
		},
		"both meta pages zeroed": func(t *testing.T, file string) { overwrite(t, file, 0, make([]byte, 2*os.Getpagesize())) },
		"zeroes after the meta pages": func(t *testing.T, file string) {
			info, err := os.Stat(file)
			must(t, err)
			overwrite(t, file, 2*int64(os.Getpagesize()), make([]byte, info.Size()-2*int64(os.Getpagesize())))
		},
	}
	for name, harm := range damage {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := raftstore.Open(raftstore.Config{Dir: dir, NoSync: true})
			must(t, err)
			for i := range 200 {
				mustPut(t, s, fmt.Sprint(i), strings.Repeat("v", 200))
			}
			must(t, s.Close())
			harm(t, filepath.Join(dir, "b", "raft.db"))
			s = open(t, raftstore.Config{Dir: dir, NoSync: true})
			b := s.Members()[1]
			if b.Up || !strings.Contains(b.Reason, "member b") || !strings.Contains(b.Reason, filepath.Join(dir, "b", "raft.db")) {
				t.Errorf("b runs on a damaged log, or does not say of what file: %+v", b)
			}
			t.Log(b.Reason)
			mustPut(t, s, "k", "v") // the others are a quorum
			if err := s.Restart("b"); err == nil || err.Error() != b.Reason {
				t.Errorf("restart: %v", err)
			}
			must(t, s.Close())
			harm(t, filepath.Join(dir, "a", "raft.db"))
			harm(t, filepath.Join(dir, "c", "raft.db"))
			if _, err := raftstore.Open(raftstore.Config{Dir: dir, NoSync: true}); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "c", "raft.db")) && name != "missing" {
				t.Errorf("all logs are damaged: %v", err)
			} else {
				t.Log(err)
			}
		})
	}
}

func overwrite(t *testing.T, file string, at int64, data []byte) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	_, err = f.WriteAt(data, at)
	must(t, err)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFolderKeepsItsMembers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := raftstore.Open(raftstore.Config{Dir: dir, Members: 5, NoSync: true})
	must(t, err)
	mustPut(t, s, "k", "v")
	if _, err := raftstore.Open(raftstore.Config{Dir: dir, Members: 5, NoSync: true}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second store in the same folder: %v", err)
	}
	must(t, s.Close())
	s, err = raftstore.Open(raftstore.Config{Dir: dir, Members: 3})
	must(t, err)
	if got := strings.Join(s.IDs(), ""); got != "abcde" {
		t.Errorf("five members opened as %q", got)
	}
	must(t, s.Close())
	for _, n := range []int{-1, 10} {
		if _, err := raftstore.Open(raftstore.Config{Members: n}); err == nil {
			t.Errorf("%d members were accepted", n)
		}
	}
}

func TestRequestsAfterClose(t *testing.T) {
	t.Parallel()
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
}

func TestNoGoroutineIsLeftBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	for i := range 3 {
		s, err := raftstore.Open(raftstore.Config{Members: 3 + 2*(i%2)})
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
	}
	await(t, "all goroutines ended", func() bool { return runtime.NumGoroutine() <= before })
	if runtime.NumGoroutine() > before {
		buf := make([]byte, 1<<16)
		t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
	}
}
