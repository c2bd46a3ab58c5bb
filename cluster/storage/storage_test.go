package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// world is a client on a store, with everything it emitted.
type world struct {
	k      *sim.Kernel
	c      *Client
	events []trace.Event
}

func (w *world) Append(e *trace.Event) { w.events = append(w.events, *e) }

func (w *world) commits() (out []trace.Event) {
	for _, e := range w.events {
		if e.Kind == trace.StoreCommit {
			out = append(out, e)
		}
	}
	return out
}

// run runs body against a store; at the end the client must have forgotten
// every request.
func run(t *testing.T, s raftstore.Store, healthy func() bool, body func(*world, *sim.Task)) {
	t.Helper()
	w := &world{}
	w.k = sim.New(sim.Config{Seed: 5, Sink: w, Healthy: healthy})
	w.c = New(w.k, s)
	w.k.NewProcess(trace.Lane{Component: "test"}).Go("main", func(tk *sim.Task) {
		defer w.k.Stop()
		body(w, tk)
	})
	ctx, cancel := context.WithTimeout(t.Context(), steady.Patience(t))
	defer cancel()
	if err := w.k.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatal("the run did not end")
	}
	if len(w.c.own) != 0 || len(w.c.arrived) != 0 || w.c.writing != 0 {
		t.Errorf("left behind: %d requests, %d commits not shown, %d writes in flight", len(w.c.own), len(w.c.arrived), w.c.writing)
	}
}

func put(key, value string) *pb.TxnRequest {
	return &pb.TxnRequest{Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(key), Value: []byte(value)}}}}}
}

func get(t *testing.T, w *world, tk *sim.Task, key string) (string, int64) {
	t.Helper()
	r, err := w.c.Range(tk, &pb.RangeRequest{Key: []byte(key)})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Kvs) == 0 {
		return "", r.Header.Revision
	}
	return string(r.Kvs[0].Value), r.Header.Revision
}

func TestWritesBecomeVisibleInTheOrderAskedFor(t *testing.T) {
	run(t, raftstore.OpenBare(), nil, func(w *world, tk *sim.Task) {
		for i := range 20 {
			tk.Process().Go(fmt.Sprint("writer ", i), func(wr *sim.Task) {
				id := wr.Emit(trace.Event{Kind: trace.QueueAdd})
				wr.SetCauses(id)
				_, commit, err := w.c.Txn(wr, put(fmt.Sprintf("/k/%02d", i), "x"))
				if err != nil || commit.IsZero() {
					t.Errorf("writer %d: commit %v, %v", i, commit, err)
				}
			})
		}
		tk.Sleep(time.Second)
		commits := w.commits()
		if len(commits) != 20 || w.c.Revision() != 21 {
			t.Fatalf("%d commits up to revision %d", len(commits), w.c.Revision())
		}
		for i, e := range commits {
			p := e.Payload.(*trace.Commit)
			if p.Revision != int64(i+2) || p.Changes[0].Key != fmt.Sprintf("/k/%02d", i) || len(e.Causes) != 1 {
				t.Errorf("commit %d: revision %d of %s, causes %v", i, p.Revision, p.Changes[0].Key, e.Causes)
			}
		}
	})
}

// A read answers as of the revision visible when it was asked for, though the
// store has gone on; its header says so.
func TestReadsAreAsOfTheVisibleRevision(t *testing.T) {
	run(t, raftstore.OpenBare(), nil, func(w *world, tk *sim.Task) {
		if _, _, err := w.c.Txn(tk, put("/k", "old")); err != nil {
			t.Fatal(err)
		}
		w.c.SetCost(Cost{Read: 10 * time.Millisecond, Write: 5 * time.Millisecond, Timeout: time.Second})
		tk.Process().Go("writer", func(wr *sim.Task) { w.c.Txn(wr, put("/k", "new")) })
		tk.Yield() // the store has it now; nobody may see it for 5 ms
		if v, rev := get(t, w, tk, "/k"); v != "old" || rev != 2 {
			t.Errorf("read %q at header revision %d, want old at 2", v, rev)
		}
		if w.c.Revision() != 3 {
			t.Fatalf("revision %d after 10 ms", w.c.Revision())
		}
		if v, rev := get(t, w, tk, "/k"); v != "new" || rev != 3 {
			t.Errorf("read %q at %d, want new at 3", v, rev)
		}
		if r, err := w.c.Range(tk, &pb.RangeRequest{Key: []byte("/k"), Revision: 2}); err != nil || string(r.Kvs[0].Value) != "old" || r.Header.Revision != 3 {
			t.Errorf("read at revision 2: %v %v", r, err)
		}
		if _, err := w.c.Range(tk, &pb.RangeRequest{Key: []byte("/k"), Revision: 99}); err != rpctypes.ErrFutureRev {
			t.Errorf("read of the future: %v", err)
		}
		if err := w.c.Compact(tk, 3); err != nil {
			t.Fatal(err)
		}
		if _, err := w.c.Range(tk, &pb.RangeRequest{Key: []byte("/k"), Revision: 2}); err != rpctypes.ErrCompacted {
			t.Errorf("read of what was compacted: %v", err)
		}
	})
}

func TestAKilledWritersWriteIsSeen(t *testing.T) {
	run(t, raftstore.OpenBare(), nil, func(w *world, tk *sim.Task) {
		watch := w.c.Watch("", "/k")
		p := w.k.NewProcess(trace.Lane{Component: "victim"})
		var cause trace.ID
		p.Go("writer", func(wr *sim.Task) {
			cause = wr.Emit(trace.Event{Kind: trace.QueueAdd})
			wr.SetCauses(cause)
			w.c.Txn(wr, put("/k", "x"))
			t.Error("the killed writer went on")
		})
		tk.Yield()
		p.Kill()
		if _, ok, late := watch.Mailbox.RecvTimeout(tk, time.Second); !ok || late {
			t.Fatal("the watch does not hear of the write")
		}
		if got := w.commits(); len(got) != 1 || len(got[0].Causes) != 1 || got[0].Causes[0] != cause {
			t.Errorf("commits %v, want one caused by %v", got, cause)
		}
	})
}

func TestWatchesHearOfTheirPrefix(t *testing.T) {
	run(t, raftstore.OpenBare(), nil, func(w *world, tk *sim.Task) {
		a, all, none := w.c.Watch("", "/a/"), w.c.Watch("", "/"), w.c.Watch("", "/b/")
		none.Stop()
		req := put("/a/1", "x")
		req.Success = append(req.Success, put("/b/1", "y").Success...)
		_, commit, err := w.c.Txn(tk, req)
		if err != nil {
			t.Fatal(err)
		}
		w.c.Txn(tk, put("/b/2", "z"))
		if b, _ := a.Mailbox.TryRecv(); len(b.Events) != 1 || string(b.Events[0].Kv.Key) != "/a/1" || b.Commit != commit || b.Revision != 2 {
			t.Errorf("watch of /a/: %+v", b)
		}
		if b, _ := all.Mailbox.TryRecv(); len(b.Events) != 2 || all.Mailbox.Len() != 1 || a.Mailbox.Len() != 0 || none.Mailbox.Len() != 0 {
			t.Errorf("watch of /: %+v and %d more; /a/ %d more; stopped %d", b, all.Mailbox.Len(), a.Mailbox.Len(), none.Mailbox.Len())
		}
	})
}

// scripted is a store whose answers the test gives.
type scripted struct {
	mu       sync.Mutex
	asked    []func(*raftstore.Result)
	requests []*pb.InternalRaftRequest
	onCommit func(*raftstore.Result)
	sick     bool
}

func (s *scripted) Do(req *pb.InternalRaftRequest, done func(*raftstore.Result)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.requests = append(s.asked, done), append(s.requests, req)
}
func (s *scripted) OnCommit(fn func(*raftstore.Result)) { s.onCommit = fn }
func (s *scripted) Healthy() bool                       { return !s.sick }
func (s *scripted) Hold(bool)                           {}
func (s *scripted) Close() error                        { return nil }

func made(rev int64, key string) *raftstore.Result {
	return &raftstore.Result{
		Response: &pb.TxnResponse{Header: &pb.ResponseHeader{Revision: rev}, Succeeded: true}, Revision: rev,
		Events: []*mvccpb.Event{{Kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: rev}}},
	}
}

// The store cannot answer in time: the writer gets etcd's timeout. The write
// lands later, in whichever order answer and commit come, and is shown once.
func TestAWriteThatLandsAfterItsTimeoutIsShownOnce(t *testing.T) {
	for _, order := range []string{"given up by the store", "answer first", "commit first", "commit, then nothing for a while"} {
		t.Run(order, func(t *testing.T) {
			s := &scripted{sick: true}
			run(t, s, s.Healthy, func(w *world, tk *sim.Task) {
				w.c.SetCost(Cost{Write: time.Millisecond, Timeout: 20 * time.Millisecond})
				cause := tk.Emit(trace.Event{Kind: trace.QueueAdd})
				tk.SetCauses(cause)
				if _, _, err := w.c.Txn(tk, put("/k", "x")); err != rpctypes.ErrTimeout {
					t.Errorf("got %v, want %v", err, rpctypes.ErrTimeout)
				}
				s.sick = false
				r := made(2, "/k")
				r.Request = s.requests[0]
				switch order {
				case "given up by the store": // it told its timeout first
					s.asked[0](&raftstore.Result{Err: rpctypes.ErrGRPCTimeout})
					tk.Sleep(time.Second)
					s.onCommit(r)
				case "answer first": // both before the kernel looks
					s.onCommit(r)
					s.asked[0](r)
				case "commit first", "commit, then nothing for a while":
					s.onCommit(r)
					tk.Sleep(time.Millisecond)
					if order != "commit first" {
						tk.Sleep(time.Hour)
					}
					s.asked[0](r)
				}
				tk.Sleep(time.Millisecond)
				if got := w.commits(); len(got) != 1 || w.c.Revision() != 2 {
					t.Errorf("%d commits, revision %d", len(got), w.c.Revision())
				} else if len(got[0].Causes) != 1 || got[0].Causes[0] != cause {
					t.Errorf("the commit's causes are %v, want the request's, %v", got[0].Causes, cause)
				}
			})
		})
	}
}

// What somebody else wrote waits while a write of ours is in flight, and is
// shown in revision order; with none in flight it is shown at once.
func TestForeignWritesComeBetweenOurs(t *testing.T) {
	s := &scripted{}
	run(t, s, s.Healthy, func(w *world, tk *sim.Task) {
		w.c.SetCost(Cost{Write: 10 * time.Millisecond, Timeout: time.Second})
		var commit trace.ID
		tk.Process().Go("writer", func(wr *sim.Task) {
			_, commit, _ = w.c.Txn(wr, put("/ours", "x"))
		})
		tk.Yield()
		s.onCommit(made(2, "/foreign"))
		ours := made(3, "/ours")
		ours.Request = s.requests[0]
		s.onCommit(ours)
		s.asked[0](ours)
		s.onCommit(made(4, "/foreign"))
		tk.Sleep(time.Millisecond)
		if w.c.Revision() != 1 {
			t.Errorf("revision %d is visible while our write is in flight", w.c.Revision())
		}
		tk.Sleep(time.Second)
		got := w.commits()
		if len(got) != 3 || w.c.Revision() != 4 || got[1].ID != commit {
			t.Errorf("%d commits, revision %d, ours %v", len(got), w.c.Revision(), commit)
		}
		s.onCommit(made(5, "/foreign"))
		tk.Sleep(time.Nanosecond)
		if w.c.Revision() != 5 {
			t.Errorf("revision %d with nothing in flight, want 5", w.c.Revision())
		}
	})
}

// Keys under leases go at the lease's end, all in one revision and at the same
// moment of virtual time in every run, with members as without.
func TestLeasesRunOutInVirtualTime(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		var first string
		for name, members := range map[string]int{"bare": 0, "three members": 3, "three members again": 3} {
			w := &world{}
			w.k = sim.New(sim.Config{Seed: 5, Sink: w})
			clock := NewClock(w.k)
			cfg := raftstore.Config{Clock: clock, Members: members, NoSync: true, Dir: t.TempDir()}
			s := raftstore.OpenBareWith(cfg)
			if members > 0 {
				r, err := raftstore.Open(cfg)
				if err != nil {
					t.Fatal(err)
				}
				s = r
				steady.Until(t, "a leader", r.Healthy)
			}
			w.c = New(w.k, s)
			w.c.Use(clock)
			var text strings.Builder
			w.k.NewProcess(trace.Lane{Component: "test"}).Go("main", func(tk *sim.Task) {
				defer w.k.Stop()
				leases := w.c.Connect("test").NewLeases("events")
				for i := range 5 {
					id, err := leases.Get(tk, time.Minute)
					if err != nil {
						t.Error(err)
						return
					}
					req := put(fmt.Sprintf("/registry/events/%d", i), "x")
					req.Success[0].GetRequestPut().Lease = id
					if _, _, err := w.c.Txn(tk, req); err != nil {
						t.Error(err)
					}
					tk.Sleep(time.Second)
				}
				tk.Sleep(2 * time.Minute)
				if v, _ := get(t, w, tk, "/registry/events/0"); v != "" {
					t.Errorf("%s: an Event is there a minute after its lease ended", name)
				}
			})
			if err := w.k.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			gone := 0
			for _, e := range w.events {
				switch p := e.Payload.(type) {
				case *trace.StoreLease:
					fmt.Fprintf(&text, "%s %s %d keys\n", e.At, e.Kind, len(p.Keys))
					gone += len(p.Keys)
				case *trace.Commit:
					fmt.Fprintf(&text, "%s %s %d\n", e.At, e.Kind, p.Revision)
				}
			}
			if gone != 5 {
				t.Errorf("%s: %d keys went with their leases, want 5", name, gone)
			}
			if first == "" {
				first = text.String()
			} else if text.String() != first {
				t.Errorf("%s:\n%sagainst\n%s", name, text.String(), first)
			}
		}
	})
}

// Who waits no longer than his deadline hears that it is over, as of a context; what he
// asked for is written all the same, and seen by the others.
func TestNobodyWaitsAnyLonger(t *testing.T) {
	run(t, raftstore.OpenBare(), nil, func(w *world, tk *sim.Task) {
		w.c.SetCost(Cost{Read: 50 * time.Millisecond, Write: 100 * time.Millisecond, Timeout: 7 * time.Second})
		write, read := put("k", "v"), &pb.RangeRequest{Key: []byte("k")}
		limited := func(d time.Duration, do func() error) (time.Duration, error) {
			began := tk.Elapsed()
			tk.SetDeadline(began + d)
			defer tk.SetDeadline(0)
			err := do()
			return tk.Elapsed() - began, err
		}
		took, err := limited(30*time.Millisecond, func() error { _, _, err := w.c.Txn(tk, write); return err })
		if !errors.Is(err, context.DeadlineExceeded) || took != 30*time.Millisecond {
			t.Errorf("a write of 100ms with a deadline of 30ms ended after %v with %v", took, err)
		}
		if _, err = limited(-time.Millisecond, func() error { _, _, err := w.c.Txn(tk, put("late", "v")); return err }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a write after the deadline ended with %v", err)
		}
		if _, err = limited(time.Second, func() error { _, err := w.c.Range(tk, read); return err }); err != nil {
			t.Errorf("a read with a deadline that is far: %v", err)
		}
		tk.Sleep(time.Second)
		if res, err := w.c.Range(tk, &pb.RangeRequest{Key: []byte("late")}); err != nil || len(res.Kvs) > 0 {
			t.Errorf("a write that was asked for after its deadline was sent: %v, %v", res.GetKvs(), err)
		}
		if n := len(w.commits()); n != 1 {
			t.Errorf("%d commits are seen of the one write that was given up", n)
		}
		if _, _, err = w.c.Txn(tk, write); err != nil {
			t.Errorf("a write without a deadline: %v", err)
		}
	})
}
