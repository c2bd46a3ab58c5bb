package remote_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore"
	"kviz/raftstore/member"
	"kviz/raftstore/steady"
	"kviz/raftstore/wire"
)

func TestThreeProcessesAreAStore(t *testing.T) {
	f := newFarm(t, "a", "b", "c")
	s, l := f.driver()
	var commits atomic.Int64
	s.OnCommit(func(r *raftstore.Result) { commits.Add(int64(len(r.Events))) })
	if rev := f.put(s, "x", "1"); rev != 2 {
		t.Errorf("the first put made revision %d, want 2", rev)
	}
	f.want(s, "x", "1")
	r := do(s, &pb.InternalRaftRequest{Txn: &pb.TxnRequest{
		Compare: []*pb.Compare{{Key: []byte("x"), Target: pb.Compare_VALUE, TargetUnion: &pb.Compare_Value{Value: []byte("1")}}},
		Success: []*pb.RequestOp{{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte("y"), Value: []byte("2"), PrevKv: true}}}},
	}})
	if r.Err != nil || !r.Response.(*pb.TxnResponse).Succeeded {
		t.Errorf("txn: %v %v", r.Response, r.Err)
	}
	if r := do(s, &pb.InternalRaftRequest{Range: &pb.RangeRequest{Key: []byte("x"), Revision: 99}}); !isRevision(r.Err) {
		t.Errorf("a future revision: %v", r.Err)
	}
	changes, err := s.Changes(2)
	if err != nil || len(changes.List) != 2 || string(changes.List[1].Events[0].Kv.Key) != "y" {
		t.Errorf("changes: %+v %v", changes, err)
	}
	if commits.Load() != 2 {
		t.Errorf("OnCommit told of %d events, want 2", commits.Load())
	}
	f.equal(s)
	for _, id := range s.IDs() {
		for _, k := range []member.Kind{member.KindUp, member.KindAppend, member.KindDurable, member.KindCommit, member.KindApply} {
			f.eventually(fmt.Sprintf("%s at %s", k, id), func() bool { return len(l.of(k, id, 0)) > 0 })
		}
		resp, err := s.RangeAt(id, &pb.RangeRequest{Key: []byte("y")})
		if err != nil || len(resp.Kvs) != 1 || resp.Header.MemberId != raftstore.MemberID(id) {
			t.Errorf("serializable at %s: %v %v", id, resp, err)
		}
	}
	urls := status(s, "b").PeerURLs
	if len(urls) != 1 || urls[0] != "https://"+f.addrs["b"] {
		t.Errorf("b's peer URLs are %v, want its address %s", urls, f.addrs["b"])
	}
}

func isRevision(err error) bool {
	return err != nil && strings.Contains(err.Error(), "future revision")
}

// writer puts as fast as it can and remembers what was acknowledged.
type writer struct {
	s     *raftstore.Replicated
	stop  chan struct{}
	wg    sync.WaitGroup
	mu    sync.Mutex
	acked map[string]string
	errs  map[string]int
}

func write(s *raftstore.Replicated, callers int) *writer {
	w := &writer{s: s, stop: make(chan struct{}), acked: map[string]string{}, errs: map[string]int{}}
	for c := range callers {
		w.wg.Add(1)
		go func() {
			defer w.wg.Done()
			for i := 0; ; i++ {
				select {
				case <-w.stop:
					return
				default:
				}
				key, value := fmt.Sprintf("w%d-%d", c, i%50), fmt.Sprint(i)
				r := do(s, put(key, value))
				w.mu.Lock()
				if r.Err == nil {
					w.acked[key] = value
				} else {
					// Whether it happened nobody knows: the key says nothing any more.
					delete(w.acked, key)
					w.errs[r.Err.Error()]++
				}
				w.mu.Unlock()
			}
		}()
	}
	return w
}

func (w *writer) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acked)
}

func (w *writer) end(f *farm) {
	f.t.Helper()
	close(w.stop)
	w.wg.Wait()
	lost := 0
	for key, value := range w.acked {
		if got, err := get(w.s, key); err != nil || got != value {
			lost++
			f.t.Errorf("acknowledged %s=%s, read %q %v", key, value, got, err)
		}
	}
	f.t.Logf("%d keys acknowledged, %d lost, errors %v", len(w.acked), lost, w.errs)
	if len(w.acked) == 0 {
		f.t.Error("nothing was acknowledged")
	}
}

func TestKill9(t *testing.T) {
	f := newFarm(t, "a", "b", "c")
	s, l := f.driver()
	f.put(s, "before", "1")
	w := write(s, 8)
	for round := range 4 {
		victim := f.leader(s)
		if round%2 == 1 {
			for _, id := range s.IDs() {
				if id != victim {
					victim = id
					break
				}
			}
		}
		mark, began := l.len(), time.Now()
		f.kill(victim)
		f.eventually(victim+" is seen to be down", func() bool { return len(l.of(member.KindDown, victim, mark)) == 1 })
		seen := time.Since(began)
		if st := status(s, victim); st.Up || !strings.Contains(st.Reason, "its process is gone") {
			t.Errorf("%s after kill -9: %+v", victim, st)
		}
		f.leader(s)
		f.put(s, "during", fmt.Sprint(round))
		t.Logf("kill -9 of %s: seen after %v, next acknowledged put after %v", victim, seen, time.Since(began))
		f.launch(victim)
		f.eventually(victim+" is back", func() bool { return len(l.of(member.KindUp, victim, mark)) == 1 && s.Whole() })
	}
	w.end(f)
	f.want(s, "before", "1")
	f.want(s, "during", "3")
	f.equal(s)
}

func TestAllProcessesAreKilledAtOnce(t *testing.T) {
	f := newFarm(t, "a", "b", "c")
	s, _ := f.driver()
	w := write(s, 8)
	f.eventually("something is written", func() bool { return w.count() > 100 })
	for _, name := range []string{"a", "b", "c"} {
		f.kill(name)
	}
	if s.Healthy() {
		f.eventually("the store knows that it has no members", func() bool { return !s.Healthy() })
	}
	for _, name := range []string{"c", "b", "a"} {
		f.launch(name)
	}
	f.leader(s)
	f.put(s, "after", "1")
	w.end(f)
	f.equal(s)
}

func TestCutAndHealOverTheControlConnection(t *testing.T) {
	f := newFarm(t, "a", "b", "c")
	s, l := f.driver()
	f.put(s, "x", "1")
	leader := f.leader(s)
	mark := l.len()
	if err := s.Isolate(leader); err != nil {
		t.Fatal(err)
	}
	f.eventually("another leads", func() bool { now := s.Leader(); return now != "" && now != leader && s.Healthy() })
	f.put(s, "x", "2")
	// The old leader's own state is old, and it says so to whoever asks for that.
	resp, err := s.RangeAt(leader, &pb.RangeRequest{Key: []byte("x")})
	if err != nil || string(resp.Kvs[0].Value) != "1" {
		t.Errorf("serializable at the isolated %s: %v %v, want the old value", leader, resp, err)
	}
	f.want(s, "x", "2")
	f.eventually("something that "+leader+" sent is lost", func() bool { return len(l.of(member.KindLost, leader, mark)) > 0 })
	links := 0
	for _, m := range s.Members() {
		links += len(m.Links)
	}
	if links != 4 || s.Whole() {
		t.Errorf("%d faulty links, whole %v; want 4", links, s.Whole())
	}
	s.Heal()
	f.equal(s)
	if resp, err := s.RangeAt(leader, &pb.RangeRequest{Key: []byte("x")}); err != nil || string(resp.Kvs[0].Value) != "2" {
		t.Errorf("serializable at %s after healing: %v %v", leader, resp, err)
	}
	// A fault outlives the process that has it.
	if err := s.Delay("a", "b", 30*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := s.SlowDisk("a", 5*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	mark = l.len()
	f.kill("a")
	f.launch("a")
	f.eventually("a is back", func() bool { return len(l.of(member.KindUp, "a", mark)) == 1 })
	st := status(s, "a")
	if len(st.Links) != 1 || st.Links[0].Delay != 30*time.Millisecond || st.SlowDisk != 5*time.Millisecond {
		t.Errorf("a's faults after its process was started anew: %+v", st)
	}
}

func TestHoldAndStepOneMessage(t *testing.T) {
	f := newFarm(t, "a", "b", "c")
	s, l := f.driver()
	f.put(s, "x", "1")
	leader := ""
	steady.Until(t, "a hold begins while somebody leads and nothing is under way", func() bool {
		f.leader(s)
		f.equal(s)
		s.Hold(true)
		if leader = s.Leader(); leader != "" && len(s.Held()) == 0 {
			return true
		}
		s.Hold(false)
		return false
	})
	term, _ := s.TermAt(leader)
	mark := l.len()
	done := make(chan *raftstore.Result, 1)
	s.Do(put("x", "2"), func(r *raftstore.Result) { done <- r })
	f.eventually("both appends are held", func() bool {
		held := s.Held()
		if len(held) > 0 && len(held[0].Entries) == 0 { // the end of telling what was committed before
			s.ReleaseOne()
			return false
		}
		return len(held) == 2
	})
	for _, h := range s.Held() {
		if h.RPC != wire.AppendEntries || h.From != leader || len(h.Entries) != 1 || h.Answer {
			t.Errorf("held: %+v", h)
		}
	}
	to := s.Held()[0].To
	if !s.ReleaseOne() {
		t.Fatal("nothing was released")
	}
	f.eventually("the entry is durable at "+to, func() bool { return len(l.of(member.KindDurable, to, mark)) > 0 })
	for _, id := range s.IDs() {
		if id != leader && id != to && len(l.of(member.KindDeliver, id, mark)) > 0 {
			t.Errorf("something was delivered to %s too", id)
		}
	}
	f.eventually("its answer is held", func() bool {
		held := s.Held()
		return len(held) == 2 && held[1].Answer && held[1].To == to
	})
	select {
	case r := <-done:
		t.Fatalf("the put ended while the answer was held: %+v", r)
	default:
	}
	// The answer that is held makes the quorum; whatever is held before it goes first.
	steps := 1
	for over := false; !over; steps++ {
		if steps > 4 {
			t.Fatal("four steps and the put is not acknowledged")
		}
		next := s.Held()[0]
		over = next.Answer && next.To == to
		if !s.ReleaseOne() {
			t.Fatal("nothing to release")
		}
		if !over {
			f.eventually("what was released is answered", func() bool {
				return slices.ContainsFunc(s.Held(), func(h raftstore.Held) bool { return h.Answer && h.To == next.To })
			})
		}
	}
	if r := <-done; r.Err != nil {
		t.Error(r.Err)
	}
	t.Logf("acknowledged after %d steps", steps)
	s.Hold(false)
	f.want(s, "x", "2")
	if now, _ := s.TermAt(leader); now != term || s.Leader() != leader {
		t.Errorf("term %d and leader %s after the hold, want %d and %s", now, s.Leader(), term, leader)
	}
	f.equal(s)
}

func TestADriverComesBack(t *testing.T) {
	f := newFarm(t, "a", "b", "c")
	first, _ := f.driver()
	f.put(first, "x", "1")
	lease := do(first, &pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{TTL: 600}})
	if lease.Err != nil {
		t.Fatal(lease.Err)
	}
	if _, _, err := f.tryDriver(); err == nil || !strings.Contains(err.Error(), "driven by another kviz") {
		t.Errorf("a second driver: %v", err)
	}
	leader := f.leader(first)
	f.equal(first)
	var stopped string
	for _, id := range first.IDs() {
		if id != leader {
			stopped = id
		}
	}
	if err := first.Stop(stopped); err != nil {
		t.Fatal(err)
	}
	if err := first.Drop(leader, stopped, 0.5); err != nil {
		t.Fatal(err)
	}
	term, _ := first.TermAt(leader)
	first.Close()

	var second *raftstore.Replicated
	f.eventually("the members take another driver", func() (ok bool) {
		s, _, err := f.tryDriver()
		second, ok = s, err == nil
		return ok
	})
	defer second.Close()
	// On a busy machine there may have been an election, but not for the driver's sake.
	if now, _ := second.TermAt(second.Leader()); second.Leader() == "" || now < term {
		t.Errorf("leader %q in term %d; it was %s in %d", second.Leader(), now, leader, term)
	}
	if st := status(second, stopped); st.Up {
		t.Errorf("%s runs again: %+v", stopped, st)
	}
	if links := status(second, leader).Links; len(links) != 1 || links[0].Drop != 0.5 {
		t.Errorf("the faults of %s: %+v", leader, links)
	}
	f.want(second, "x", "1")
	if leases, err := second.Leases(); err != nil || len(leases) != 1 {
		t.Errorf("leases: %v %v", leases, err)
	}
	for i := range 20 {
		f.put(second, "x", fmt.Sprint("again ", i))
	}
	again := do(second, &pb.InternalRaftRequest{LeaseGrant: &pb.LeaseGrantRequest{TTL: 600}})
	if again.Err != nil {
		t.Errorf("another lease: %v", again.Err)
	}
	if err := second.Restart(stopped); err != nil {
		t.Error(err)
	}
	second.Heal()
	f.equal(second)
	f.want(second, "x", "again 19")
}

func TestJoinReplaceAndMove(t *testing.T) {
	f := newFarm(t, "a", "b", "c", "d")
	s, l := f.driver(f.addrs["a"], f.addrs["b"], f.addrs["c"])
	for i := range 30 {
		f.put(s, fmt.Sprint("k", i), "v")
	}
	if _, err := s.AddMember(true); err == nil || !strings.Contains(err.Error(), "kviz member --name d") {
		t.Errorf("nobody waits to join: %v", err)
	}
	s.Close()
	var err error
	f.eventually("the members take another driver", func() bool {
		s, l, err = f.tryDriver()
		return err == nil
	})
	defer func() { s.Close() }()
	f.leader(s)
	id, err := s.AddMember(true)
	if err != nil || id != "d" {
		t.Fatalf("add: %q %v", id, err)
	}
	f.eventually("d has caught up", func() bool { return s.PromoteMember("d") == nil })
	if got := strings.Join(s.IDs(), " "); got != "a b c d" {
		t.Errorf("members %s", got)
	}
	if len(l.of(member.KindMember, "d", 0)) != 2 {
		t.Errorf("d joined and was promoted: %v", l.of(member.KindMember, "d", 0))
	}
	// b's machine burns down; d stands in for it.
	f.kill("b")
	f.eventually("b is seen to be down", func() bool { return !status(s, "b").Up })
	f.leader(s)
	if err := s.RemoveMember("b"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.IDs(), " "); got != "a c d" {
		t.Errorf("members %s", got)
	}
	f.put(s, "after", "1")
	f.equal(s)
	// c moves to another port.
	f.quit("c")
	delete(f.addrs, "c")
	f.launch("c")
	f.eventually("c is seen to be down", func() bool { return !status(s, "c").Up })
	f.leader(s)
	if err := s.UpdateMember("c", []string{"https://" + f.addrs["c"]}); err != nil {
		t.Fatal(err)
	}
	f.eventually("c is back", func() bool { return s.Whole() })
	f.put(s, "moved", "1")
	f.equal(s)
	if got := status(s, "c").PeerURLs[0]; got != "https://"+f.addrs["c"] {
		t.Errorf("c's peer URL is %s", got)
	}
}
