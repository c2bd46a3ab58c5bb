package raftstore

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore/apply"
	"kviz/raftstore/steady"
)

func putK(value string) *pb.InternalRaftRequest {
	return &pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte("k"), Value: []byte(value)}}
}

func ended(t *testing.T, s *Replicated, req *pb.InternalRaftRequest) *Result {
	t.Helper()
	results := make(chan *Result, 1)
	s.Do(req, func(r *Result) { results <- r })
	r := <-results
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r
}

// While disks are exchanged nobody can start a member: it would write to a file that
// is about to lose its name.
func TestNobodyStartsWhileDisksAreExchanged(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		var s *Replicated
		var wg sync.WaitGroup
		prepared, restarted := 0, make(chan error, 1)
		s, err := Open(Config{NoSync: true, Dir: t.TempDir(), Go: func(name string, fn func()) {
			wg.Go(func() {
				if strings.HasPrefix(name, "new disk of ") {
					if prepared++; s.membership.starting.TryRLock() {
						s.membership.starting.RUnlock()
						t.Errorf("%s: a member could start meanwhile", name)
					}
					if prepared == 3 { // whoever asks now has to wait
						wg.Go(func() { restarted <- s.Restart("a") })
					}
				}
				fn()
			})
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			wg.Wait()
		}()
		ended(t, s, putK("old"))
		state := apply.New(apply.Limits{})
		state.Apply(1, putK("new"))
		if err := s.Rebuild(state, RebuildOptions{}); err != nil {
			t.Error(err)
		}
		if err := <-restarted; err != nil && !strings.Contains(err.Error(), "already running") {
			t.Error(err)
		}
		get := &pb.InternalRaftRequest{Range: &pb.RangeRequest{Key: []byte("k")}}
		if kvs := ended(t, s, get).Response.(*pb.RangeResponse).Kvs; len(kvs) != 1 || string(kvs[0].Value) != "new" {
			t.Errorf("k is %v", kvs)
		}
		for _, id := range s.IDs() {
			if _, err := os.Stat(filepath.Join(s.membership.dirOf(id), "raft.db")); err != nil {
				t.Error(err)
			}
		}
	})
}
