package member

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"kviz/raftstore/lock"
	"kviz/raftstore/steady"
	"kviz/raftstore/wire"
)

// solo is a member that is the only one of its group, not started.
func solo(t testing.TB, emit func(Event)) *Member {
	t.Helper()
	var wg sync.WaitGroup
	spawn := func(_ string, fn func()) { wg.Go(fn) }
	m := New(Config{
		ID: "m", Peers: []Server{{ID: "m", Address: "m"}}, Dir: filepath.Join(t.TempDir(), "m"),
		Network: wire.New(wire.Options{Go: spawn}), NoSync: true, SnapshotEvery: 10_000, SnapshotTrailing: 10,
		Emit: emit, Applied: func(string, []Applied) {}, Changed: func() {}, Requests: &Requests{}, Go: spawn,
	})
	t.Cleanup(func() {
		if m.Up() {
			must(t, m.Stop("the test is over"))
		}
		wg.Wait()
	})
	return m
}

// leads starts the member and waits until it leads.
func leads(t testing.TB, m *Member) *Reader {
	t.Helper()
	must(t, m.Start(true, ""))
	m.Campaign()
	steady.Until(t, "it leads", func() bool { return m.Leader() != nil })
	r := m.Leader()
	must(t, r.Began(t.Context()))
	return r
}

// put proposes the n-th put of the first epoch, from 0.
func put(t testing.TB, r *Reader, n uint64) {
	t.Helper()
	data, err := proto.Marshal(&pb.InternalRaftRequest{Put: &pb.PutRequest{Key: []byte("k"), Value: []byte(strings.Repeat("v", 50))}})
	must(t, err)
	if !r.Propose(data, Ticket{Number: n + 1, Epoch: 1, Seq: n}) {
		t.Fatal("it does not lead any more")
	}
}

// A change that is committed while its leader goes down is undecided, and whoever waits
// for it gets that error: raft forgets it when its end comes before the state machine has
// looked at the entry.
func TestAChangeCommittedWhileTheLeaderGoesDownIsLost(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		m := solo(t, nil)
		var hold lock.Lock
		m.cfg.Applied = func(string, []Applied) { hold.Lock(); defer hold.Unlock() }
		outcomes := map[error]int{}
		for round := range uint64(10) {
			r := m.Leader()
			if round == 0 {
				r = leads(t, m)
			} else {
				must(t, m.Start(false, ""))
				m.Campaign()
				steady.Until(t, "it leads", func() bool { r = m.Leader(); return r != nil })
				must(t, r.Began(t.Context()))
			}
			hold.Lock() // the state machine stands still over this:
			put(t, r, round)
			before := r.Last()
			changed, stopped := make(chan error, 1), make(chan error, 1)
			go func() { changed <- r.Set(Server{ID: "n", Address: fmt.Sprint("n", round), Learner: true}) }()
			steady.Until(t, "the change is committed", func() bool { return r.Last() > before && r.Settled() })
			go func() { stopped <- m.Stop("") }()
			steady.Until(t, "raft is told to end", func() bool { return r.inc.raft.State() == raft.Shutdown })
			hold.Unlock()
			must(t, <-stopped)
			outcomes[<-changed]++
		}
		if outcomes[nil]+outcomes[ErrLeaderLost] != 10 {
			t.Errorf("outcomes of changes: %v", outcomes)
		}
		t.Log(outcomes)
	})
}

// A snapshot whose bytes are whole but make no sense keeps its member down, with the
// reason.
func TestASnapshotThatCannotBeRestoredKeepsItsMemberDown(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		m := solo(t, nil)
		leads(t, m)
		must(t, m.Stop(""))
		files, err := raft.NewFileSnapshotStoreWithLogger(m.cfg.Dir, 2, m.cfg.Logger)
		must(t, err)
		sink, err := files.Create(raft.SnapshotVersionMax, 1, 1, m.group(), 1, (*wire.Endpoint)(nil))
		must(t, err)
		_, err = sink.Write([]byte("sharks"))
		must(t, err)
		must(t, sink.Close())
		var damaged *DiskError
		if err := m.Start(false, ""); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "snapshot") {
			t.Errorf("started: %v", err)
		}
		if m.Up() {
			t.Error("it runs")
		}
		must(t, os.RemoveAll(m.cfg.Dir))
	})
}

// A member that packs its database can be stopped at once, also while an entry waits to
// be applied.
func TestAMemberThatDefragmentsCanBeStopped(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		var committed atomic.Uint64
		m := solo(t, func(e Event) {
			if e.Kind == KindCommit { // the only voter's state machine tells it, before it applies
				committed.Store(e.Progress.Index)
			}
		})
		r := leads(t, m)
		put(t, r, 0)
		steady.Until(t, "the first put is applied", func() bool { return m.Revision() == 2 })
		packing, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- m.Defragment(func(int64) <-chan struct{} {
				close(packing)
				return nil // for ever
			})
		}()
		<-packing
		was := committed.Load()
		put(t, r, 1)
		steady.Until(t, "the second put waits to be applied", func() bool { return committed.Load() > was })
		must(t, m.Crash("crashed"))
		if err := <-ended; !errors.Is(err, ErrDown) {
			t.Errorf("the defragmentation ended with %v", err)
		}
	})
}
