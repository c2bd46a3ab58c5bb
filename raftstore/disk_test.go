package raftstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore"
)

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
