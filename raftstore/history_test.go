package raftstore_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// follow reads what changed in the revisions from..to, waiting where it must.
func follow(t *testing.T, s raftstore.History, from, to int64) []raftstore.Change {
	t.Helper()
	var all []raftstore.Change
	for from <= to {
		c, err := s.Changes(from)
		if err != nil {
			t.Fatalf("changes from %d: %v", from, err)
		}
		all = append(all, c.List...)
		from = c.UpTo + 1
		if from > to {
			break
		}
		select {
		case <-c.More:
		case <-time.After(steady.Patience(t)):
			t.Fatalf("revision %d did not come", from)
		}
	}
	return all
}

// Any number of followers see every revision once, whole and in order: from
// memory, from the history, across a snapshot and a restart.
func TestFollowersMissNothing(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		dir, cfg := t.TempDir(), raftstore.Config{NoSync: true, SnapshotTrailing: 10, RequestTimeout: time.Minute}
		cfg.Dir = dir
		var want []string
		rev := int64(1)
		check := func(s *raftstore.Replicated, from int64) {
			t.Helper()
			var got []string
			for _, c := range follow(t, s, from, rev) {
				got = append(got, fmt.Sprintf("%d %s", c.Revision, c.Events[0].Kv.Value))
			}
			if !slices.Equal(got, want[from-2:]) {
				t.Errorf("from %d: %d changes, want %d", from, len(got), len(want[from-2:]))
			}
		}
		for range 3 {
			s, err := raftstore.Open(cfg)
			if err != nil {
				t.Fatal(err)
			}
			var puts sync.WaitGroup
			for range 5000 {
				rev++
				puts.Add(1)
				s.Do(putReq("k", fmt.Sprint(rev)), func(r *raftstore.Result) {
					if r.Err != nil {
						t.Error(r.Err)
					}
					puts.Done()
				})
				want = append(want, fmt.Sprintf("%d %d", rev, rev))
			}
			puts.Wait()
			for _, from := range []int64{2, 500, rev - 300, rev - 100, rev} {
				check(s, from)
			}
			if err := s.Snapshot(s.Leader()); err != nil {
				t.Fatal(err)
			}
			waits, err := s.Changes(rev + 1)
			if err != nil || len(waits.List) > 0 || waits.UpTo != rev {
				t.Errorf("from the future: %+v %v", waits, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			select {
			case <-waits.More:
			default:
				t.Error("a follower was not woken by Close")
			}
			if _, err := s.Changes(2); err != rpctypes.ErrGRPCStopped {
				t.Errorf("after Close: %v", err)
			}
		}
	})
}

func TestFollowersAreRefusedWhatIsCompacted(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := raftstore.OpenBare()
		h := s.(raftstore.History)
		for i := range 10_000 {
			mustPut(t, s, "k", fmt.Sprint(i))
		}
		if r := call(s, &pb.InternalRaftRequest{Compaction: &pb.CompactionRequest{Revision: 100}}); r.Err != nil {
			t.Fatal(r.Err)
		}
		if _, err := h.Changes(99); err != rpctypes.ErrGRPCCompacted || h.CompactRevision() != 100 {
			t.Errorf("from 99: %v, compacted at %d", err, h.CompactRevision())
		}
		if got := follow(t, h, 100, 10_001); len(got) != 9902 {
			t.Errorf("%d changes from the compacted revision on, want 9902", len(got))
		}
	})
}
