package remote_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"kviz/raftstore"
	"kviz/raftstore/apply"
	"kviz/raftstore/member"
	"kviz/raftstore/wire"
)

// other is a member that is none of those.
func (f *farm) other(s *raftstore.Replicated, not ...string) string {
	f.t.Helper()
	for _, id := range s.IDs() {
		if !slices.Contains(not, id) {
			return id
		}
	}
	f.t.Fatalf("no member but %v", not)
	return ""
}

// faults are what the events say was done to a member.
func (l *log) faults(id string, from int) (list []string) {
	for _, e := range l.of(member.KindFault, id, from) {
		list = append(list, e.Fault.What+": "+e.Fault.Detail)
	}
	return list
}

// The survivor's log counts, also what no quorum had acknowledged: whoever asked for it
// gets the answer, and it is delivered. The members that are gone stay gone, also
// one that was away meanwhile and comes back.
func TestRecoverOverTheControlConnection(t *testing.T) {
	f := newFarm(t, "a", "b", "c", "d")
	s, l := f.driver()
	if got := strings.Join(s.IDs(), " "); got != "a b c d" {
		t.Fatalf("members %s", got)
	}
	for i := range 20 {
		f.put(s, "k", fmt.Sprint(i))
	}
	f.equal(s)
	survivor := f.leader(s)
	told := make(chan *raftstore.Result, 64)
	s.OnCommit(func(r *raftstore.Result) { told <- r })
	if err := s.Isolate(survivor); err != nil {
		t.Fatal(err)
	}
	result := make(chan *raftstore.Result, 1)
	s.Do(put("k", "in nobody else's log"), func(r *raftstore.Result) { result <- r })
	f.eventually("the put is in a log", func() bool {
		st := status(s, survivor)
		return st.Last > st.Commit || len(result) > 0
	})
	away := f.other(s, survivor)
	f.kill(away) // before it is taken out: it keeps its disk
	for _, id := range s.IDs() {
		if id != survivor && id != away {
			if err := s.Crash(id); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.eventually(away+" is seen to be down", func() bool { return !status(s, away).Up })
	s.Heal()
	mark := l.len()
	if err := s.Recover(survivor); err != nil {
		t.Fatal(err)
	}
	if r := <-result; r.Err != nil {
		t.Errorf("the put: %v", r.Err)
	}
	f.want(s, "k", "in nobody else's log")
	if r := <-told; string(r.Events[0].Kv.Value) != "in nobody else's log" {
		t.Errorf("the world was told of %+v", r)
	}
	if rev := f.put(s, "k", "after"); rev != 23 {
		t.Errorf("the next put made revision %d, want 23", rev)
	}
	if got := strings.Join(s.IDs(), " "); got != survivor {
		t.Errorf("the members are %s, want %s", got, survivor)
	}
	if got := l.faults(survivor, mark); !slices.Contains(got, "quorum lost for good: "+survivor+" goes on alone") {
		t.Errorf("the events of %s tell of %q", survivor, got)
	}
	if urls := status(s, survivor).PeerURLs; len(urls) != 1 || urls[0] != "https://"+f.addrs[survivor] {
		t.Errorf("the peer URLs of %s are %v", survivor, urls)
	}
	f.launch(away)
	f.eventually(away+" has given up its disk", func() bool {
		b, err := os.ReadFile(filepath.Join(f.dir, away, "member.json"))
		_, logErr := os.Stat(filepath.Join(f.dir, away, "raft.db"))
		return err == nil && strings.Contains(string(b), `"Removed": true`) && os.IsNotExist(logErr)
	})
	f.put(s, "k", "last")
	// Nothing of that is forgotten with the processes.
	s.Close()
	f.kill(survivor)
	f.launch(survivor)
	f.eventually("another driver opens it", func() bool {
		var err error
		s, _, err = f.tryDriver(f.addrs[survivor])
		return err == nil
	})
	defer s.Close()
	f.want(s, "k", "last")
	if got := strings.Join(s.IDs(), " "); got != survivor {
		t.Errorf("after everything was started anew the members are %s", got)
	}
}

// Every kind of damage is found by the member's own process before it may vote, also
// when that is started anew, and the driver says why the member is down.
func TestCorruptOverTheControlConnection(t *testing.T) {
	f := newFarm(t, "a", "b", "c", "d")
	s, _ := f.driver(f.addrs["a"], f.addrs["b"], f.addrs["c"])
	for i := range 40 {
		f.put(s, "k", fmt.Sprint(i))
	}
	f.equal(s)
	victim := f.other(s, f.leader(s))
	if err := s.Corrupt(victim, member.Flipped); err == nil || !strings.Contains(err.Error(), "is running") {
		t.Errorf("damaged while it runs: %v", err)
	}
	path := filepath.Join(f.dir, victim, "raft.db")
	if err := s.Crash(victim); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range member.Damages {
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Corrupt(victim, what); err != nil {
			t.Fatal(err)
		}
		err := s.Restart(victim)
		if err == nil || !strings.Contains(err.Error(), "member "+victim) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: start with a damaged log: %v", what, err)
		}
		if st := status(s, victim); st.Up || err != nil && st.Reason != err.Error() {
			t.Errorf("%s: %+v; it should be down because of %v", what, st, err)
		}
	}
	f.kill(victim)
	f.launch(victim)
	f.eventually("the process that was started anew says why its member is down", func() bool {
		return strings.Contains(status(s, victim).Reason, path)
	})
	f.put(s, "k", "without it")
	// It is replaced by d, whose process waits.
	s.Close()
	f.eventually("the members take another driver", func() bool {
		s, _, err = f.tryDriver()
		return err == nil
	})
	defer func() { s.Close() }()
	f.leader(s)
	if id, err := s.Rejoin(victim); err != nil || id != "d" {
		t.Fatalf("rejoin: %q %v", id, err)
	}
	f.put(s, "k", "with d")
	f.equal(s)
}

// Every member gets a new disk with another state; the cluster has another ID then,
// which a driver that comes later finds.
func TestRebuildOverTheControlConnection(t *testing.T) {
	f := newFarm(t, "a", "b", "c")
	s, _ := f.driver()
	for i := range 40 {
		f.put(s, "k", fmt.Sprint("old ", i))
	}
	f.equal(s)
	f.quit("b") // a copy of its disk, for later
	old := filepath.Join(f.dir, "b of before")
	if err := os.CopyFS(old, os.DirFS(filepath.Join(f.dir, "b"))); err != nil {
		t.Fatal(err)
	}
	f.launch("b")
	f.eventually("all members run", s.Whole)
	was := s.ClusterID()
	told := make(chan int64, 8)
	s.OnReset(func(rev int64) { told <- rev })
	if err := s.Crash("b"); err != nil { // it gets a new disk too
		t.Fatal(err)
	}
	if err := s.Wipe("c"); err != nil { // and so does one that has none
		t.Fatal(err)
	}
	// The value makes the state larger than what is sent at once.
	if err := s.Rebuild(backup(3<<20), raftstore.RebuildOptions{BumpRevision: 1000, MarkCompacted: true}); err != nil {
		t.Fatal(err)
	}
	if rev := <-told; rev != 1014 {
		t.Errorf("the store goes on from revision %d, want 1014", rev)
	}
	f.want(s, "k", "backup 9")
	id := s.ClusterID()
	r := do(s, put("k", "new"))
	if r.Err != nil || r.Revision != 1015 || r.Response.(*pb.PutResponse).Header.ClusterId != id || id == was {
		t.Errorf("the first put: %+v; the cluster ID was %x and is %x", r, was, id)
	}
	f.eventually("all members run", s.Whole)
	f.equal(s)
	if _, err := s.Changes(20); err == nil {
		t.Error("the history of before can still be followed")
	}
	s.Close()
	for _, name := range []string{"a", "b", "c"} {
		f.kill(name)
	}
	// As if the driver had died before b was told to take its new disk, and c's process
	// in the middle of that.
	for _, move := range [][2]string{{"b", "b.new"}, {"b of before", "b"}, {"c", "c.new"}} {
		if err := os.Rename(filepath.Join(f.dir, move[0]), filepath.Join(f.dir, move[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(f.dir, "c.old"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		f.launch(name)
	}
	f.eventually("another driver opens it", func() bool {
		var err error
		s, _, err = f.tryDriver()
		return err == nil
	})
	defer func() { s.Close() }()
	f.want(s, "k", "new")
	if !status(s, "b").Up {
		if err := s.Restart("b"); err != nil {
			t.Error(err)
		}
	}
	f.eventually("all members run again", s.Whole)
	f.equal(s)
	if s.ClusterID() != id {
		t.Errorf("the cluster ID is %x, want %x", s.ClusterID(), id)
	}
	if left, err := filepath.Glob(filepath.Join(f.dir, "?.*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func backup(size int) *apply.State {
	state := apply.New(apply.Limits{})
	for i := range 10 {
		state.Apply(uint64(i+1), put("k", fmt.Sprint("backup ", i)))
	}
	for i := range size >> 20 {
		state.Apply(uint64(i+11), put(fmt.Sprint("large ", i), strings.Repeat("x", 1<<20)))
	}
	return state
}

// Two candidates in one term, of whom each gets half the votes, though each votes in a
// process of its own.
func TestSplitVoteOverTheControlConnection(t *testing.T) {
	for _, names := range [][]string{{"a", "b", "c"}, {"a", "b", "c", "d"}} {
		t.Run(fmt.Sprint(len(names)), func(t *testing.T) {
			f := newFarm(t, names...)
			s, l := f.driver()
			f.put(s, "k", "1")
			f.equal(s)
			mark := l.len()
			if err := s.SplitVote(); err != nil {
				t.Fatal(err)
			}
			f.leader(s)
			f.put(s, "k", "2")
			votes := map[uint64]map[string][]string{} // by term and candidate
			won := map[uint64]string{}
			for _, id := range names {
				for _, e := range l.of(member.KindVote, id, mark) {
					if votes[e.Vote.Term] == nil {
						votes[e.Vote.Term] = map[string][]string{}
					}
					votes[e.Vote.Term][e.Vote.Candidate] = append(votes[e.Vote.Term][e.Vote.Candidate], id)
				}
				for _, e := range l.of(member.KindRole, id, mark) {
					if e.State.Role == "leader" {
						won[e.State.Term] = id
					}
				}
			}
			// On a busy machine another election may have come before the one that was arranged.
			var term uint64
			for in, candidates := range votes {
				if len(candidates) == 2 && won[in] == "" {
					term = max(term, in)
				}
			}
			if term == 0 {
				t.Fatalf("no election was split: votes %v, won %v", votes, won)
			}
			for c, from := range votes[term] {
				if len(from) > len(names)/2+1 || len(from) < 1 {
					t.Errorf("%s got the votes of %v of %d", c, from, len(names))
				}
			}
			if now, _ := s.TermAt(s.Leader()); now <= term {
				t.Errorf("term %d came after the split election of term %d", now, term)
			}
			f.equal(s)
		})
	}
}

// While messages are held the split election waits for its steps.
func TestASplitVoteInSteps(t *testing.T) {
	f := newFarm(t, "a", "b", "c")
	s, _ := f.driver()
	f.put(s, "k", "1")
	f.equal(s)
	leader := f.leader(s)
	before, _ := s.TermAt(leader)
	s.Hold(true)
	if err := s.SplitVote(); err != nil {
		t.Fatal(err)
	}
	from := map[string]bool{}
	f.eventually("both candidates' requests are held", func() bool {
		for _, h := range s.Held() {
			if h.RPC == wire.RequestVote && h.Term == before+1 {
				from[h.From] = true
			}
		}
		return len(from) == 2
	})
	if from[leader] {
		t.Errorf("the leader %s stands, of %v", leader, from)
	}
	for range 40 {
		s.ReleaseOne()
	}
	s.Hold(false)
	f.leader(s)
	f.put(s, "k", "2")
	if now, _ := s.TermAt(s.Leader()); now <= before+1 {
		t.Errorf("term %d came after the split election of term %d", now, before+1)
	}
	f.equal(s)
}
