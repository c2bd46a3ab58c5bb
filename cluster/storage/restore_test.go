package storage

import (
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
)

// leaderless is a store that answers reads of everything with an error, so often.
type leaderless struct {
	raftstore.Store
	fails int
}

func (s *leaderless) Do(r *pb.InternalRaftRequest, done func(*raftstore.Result)) {
	if r.Range != nil && len(r.Range.RangeEnd) > 0 && s.fails > 0 {
		s.fails--
		done(&raftstore.Result{Err: rpctypes.ErrGRPCNoLeader})
		return
	}
	s.Store.Do(r, done)
}

// A restored store whose leader goes before it was read is asked again; if it never
// answers, that is said, and what mends it.
func TestARestoredStoreIsAskedAgain(t *testing.T) {
	for _, c := range []struct {
		fails int
		well  bool
	}{{0, true}, {2, true}, {100, false}} {
		s := &leaderless{Store: raftstore.OpenBare(), fails: c.fails}
		run(t, s, nil, func(w *world, tk *sim.Task) {
			if _, _, err := w.c.Txn(tk, put("/k", "x")); err != nil {
				t.Fatal(err)
			}
			w.c.Reset()
			told := &trace.Restore{}
			err := w.c.Restored(tk, told)
			if !c.well {
				if err == nil || !strings.Contains(err.Error(), "kviz restore") {
					t.Errorf("after %d failures: %v", c.fails, err)
				}
				return
			}
			if err != nil || told.Keys != 1 {
				t.Errorf("after %d failures: %d keys, %v", c.fails, told.Keys, err)
			}
			if _, _, err := w.c.Txn(tk, put("/k", "y")); err != nil {
				t.Errorf("after %d failures it is mute: %v", c.fails, err)
			}
		})
	}
}
