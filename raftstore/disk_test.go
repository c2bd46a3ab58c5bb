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
	"kviz/raftstore/steady"
)

func TestFollowersDiskIsFull(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{})
		mustPut(t, s, "k", "0")
		follower := other(s.Leader())
		must(t, s.FillDisk(follower))
		for i := range 20 {
			mustPut(t, s, "k", fmt.Sprint(i))
		}
		mustPut(t, s, "k", "last")
		time.Sleep(2 * time.Second) // refusals would have raft back off for seconds
		must(t, s.FreeDisk(follower))
		start := time.Now()
		caughtUp(t, s, follower, "k", "last")
		if took := time.Since(start); took > soon {
			t.Errorf("once there was room, the log took %v", took)
		}
	})
}

// soon is how long, at most, raft may take to see that something works again: it sends
// something that often if nothing keeps it.
const soon = 400 * time.Millisecond

// The leader's full disk costs it the leadership, then itself when it must write
// down the next term; the process and the others go on.
func TestLeadersDiskIsFull(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
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
		steady.Until(t, leader+" is down", func() bool {
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
	})
}

// A member starts also from a disk that is so slow that a write takes minutes.
func TestAMemberStartsFromAVerySlowDisk(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{})
		mustPut(t, s, "k", "0")
		follower := other(s.Leader())
		must(t, s.SlowDisk(follower, 10*time.Minute))
		must(t, s.Crash(follower))
		began := time.Now()
		must(t, s.Restart(follower))
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("it started after %v", took)
		}
		must(t, s.SlowDisk(follower, 0))
		caughtUp(t, s, follower, "k", "0")
	})
}

// A leader replicates while it writes, but is not counted before its own disk
// has the entry: what it loses in a crash was not acknowledged on its word.
func TestTheLeaderCountsWhatItsDiskHas(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		s := open(t, raftstore.Config{Events: tr.add, RequestTimeout: time.Minute})
		mustPut(t, s, "k", "0")
		leader := s.Leader()
		must(t, s.SlowDisk(leader, time.Minute))
		start := tr.len()
		result := make(chan *raftstore.Result, 1)
		s.Do(putReq("k", "1"), func(r *raftstore.Result) { result <- r })
		durable := func(m string) bool {
			return slices.ContainsFunc(tr.from(start), func(l string) bool { return strings.HasPrefix(l, m+" durable:") })
		}
		x, y := other(leader), other(leader, other(leader))
		steady.Until(t, "both followers have the entry", func() bool { return durable(x) && durable(y) })
		select {
		case r := <-result:
			t.Fatalf("acknowledged before the leader's disk had it: %+v", r)
		case <-time.After(30 * time.Second):
		}
		must(t, s.Crash(leader))
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
		steady.Until(t, leader+" has caught up", func() bool {
			r, err := s.RangeAt(leader, &pb.RangeRequest{Key: []byte("k")})
			return err == nil && len(r.Kvs) == 1 && string(r.Kvs[0].Value) == "1"
		})
	})
}

func TestDamagedFilesAreRefused(t *testing.T) {
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
			steady.Bubble(t, func(t *testing.T) {
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
