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
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
	"kviz/raftstore/apply"
	"kviz/raftstore/member"
	"kviz/raftstore/steady"
)

// Two of three disks are lost. The third goes on alone, with all it has, and others
// join it.
func TestTheQuorumIsLostForGood(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		tr := newTranscript()
		dir := t.TempDir()
		s := open(t, raftstore.Config{NoSync: true, Dir: dir, Events: tr.add, RequestTimeout: 5 * time.Second})
		for i := range 30 {
			mustPut(t, s, fmt.Sprintf("k%d", i), fmt.Sprint(i))
		}
		settled(t, s)
		survivor := other(s.Leader())
		var resets []int64
		s.OnReset(func(rev int64) { resets = append(resets, rev) })
		term, _ := s.TermAt(survivor)
		for _, id := range s.IDs() {
			if id != survivor {
				must(t, s.Wipe(id))
			}
		}
		if r := call(s, putReq("k", "nobody hears")); r.Err == nil {
			t.Error("acknowledged without a quorum")
		}
		start := tr.len()
		must(t, s.Recover(survivor))
		if got := s.IDs(); !slices.Equal(got, []string{survivor}) {
			t.Errorf("the members are %v", got)
		}
		mustPut(t, s, "k", "alone")
		for i := range 30 {
			if got := get(t, s, fmt.Sprintf("k%d", i)); got != fmt.Sprint(i) {
				t.Errorf("k%d is %q", i, got)
			}
		}
		if now, _ := s.TermAt(survivor); now <= term {
			t.Errorf("term %d came after %d", now, term)
		}
		if len(resets) > 0 {
			t.Errorf("nothing that was told was lost, but the store said so: %v", resets)
		}
		requireStory(t, tr.from(start), survivor+" fault", survivor+" up")
		for range 2 {
			id := added(t, s, false)
			mustPut(t, s, "k", "with "+id)
			caughtUp(t, s, id, "k", "with "+id)
		}
		must(t, s.Close())
		s = open(t, raftstore.Config{NoSync: true, Dir: dir})
		if got := get(t, s, "k"); got != "with e" || len(s.IDs()) != 3 {
			t.Errorf("opened again: k is %q, members %v", got, s.IDs())
		}
	})
}

// What the others had and the survivor had not is lost, and that is said. What was
// only in the survivor's log counts, and is delivered.
func TestWhatIsLostWithTheQuorumIsSaid(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true, RequestTimeout: time.Minute})
		mustPut(t, s, "k", "both know")
		settled(t, s)
		survivor := other(s.Leader())
		must(t, s.Isolate(survivor))
		for i := range 10 {
			mustPut(t, s, "lost", fmt.Sprint(i))
		}
		told := make(chan int64, 8)
		s.OnReset(func(rev int64) { told <- rev })
		before, err := s.Changes(5)
		must(t, err)
		for _, id := range s.IDs() {
			if id != survivor {
				must(t, s.Crash(id))
			}
		}
		s.Heal()
		must(t, s.Recover(survivor))
		if rev := <-told; rev != 2 {
			t.Errorf("the store goes on from revision %d", rev)
		}
		commits := make(chan *raftstore.Result, 64)
		s.OnCommit(func(r *raftstore.Result) { commits <- r })
		if got := get(t, s, "lost"); got != "" {
			t.Errorf("what only the others had is %q", got)
		}
		if r := mustPut(t, s, "k", "after"); r.Revision != 3 {
			t.Errorf("after revision 2 came %d", r.Revision)
		}
		if r := <-commits; r.Revision != 3 {
			t.Errorf("revision %d was told", r.Revision)
		}
		after, err := s.Changes(3)
		must(t, err)
		if after.Era == before.Era || len(after.List) != 1 {
			t.Errorf("followed from revision 3: %+v; era before %d", after, before.Era)
		}
	})
}

// The log's end that no quorum had acknowledged counts after the recovery, and
// everybody is notified.
func TestTheSurvivorsLogCounts(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true, RequestTimeout: time.Minute})
		mustPut(t, s, "k", "1")
		settled(t, s)
		commits := make(chan *raftstore.Result, 64)
		s.OnCommit(func(r *raftstore.Result) { commits <- r })
		leader := s.Leader()
		must(t, s.Isolate(leader))
		result := make(chan *raftstore.Result, 1)
		s.Do(putReq("k", "2"), func(r *raftstore.Result) { result <- r })
		steady.Until(t, "the leader has it in its log", func() bool {
			return status(t, s, leader).Last > status(t, s, leader).Commit
		})
		for _, id := range s.IDs() {
			if id != leader {
				must(t, s.Crash(id))
			}
		}
		s.Heal()
		must(t, s.Recover(leader))
		if r := <-result; r.Err != nil {
			t.Errorf("the put: %v", r.Err)
		}
		if got := get(t, s, "k"); got != "2" {
			t.Errorf("k is %q", got)
		}
		if r := <-commits; string(r.Events[0].Kv.Value) != "2" {
			t.Errorf("told: %+v", r)
		}
	})
}

// A process that dies in the middle of a recovery finishes it when it opens again.
func TestARecoveryThatWasBrokenOffIsFinished(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		s, err := raftstore.Open(raftstore.Config{NoSync: true, Dir: dir})
		must(t, err)
		mustPut(t, s, "k", "1")
		settled(t, s)
		must(t, s.Close())
		file := filepath.Join(dir, "group.json")
		data, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(file, []byte(strings.Replace(string(data), "{", `{"survivor":"b",`, 1)), 0o600))
		for _, theirs := range []string{"pki", "pki.new"} { // folders of somebody else's beside the members'
			must(t, os.MkdirAll(filepath.Join(dir, theirs, "private"), 0o700))
		}
		s = open(t, raftstore.Config{NoSync: true, Dir: dir})
		if got := get(t, s, "k"); got != "1" || !slices.Equal(s.IDs(), []string{"b"}) {
			t.Errorf("k is %q, members %v", got, s.IDs())
		}
		for _, id := range []string{"a", "c"} {
			if _, err := os.Stat(filepath.Join(dir, id)); err == nil {
				t.Errorf("the folder of %s is still there", id)
			}
		}
		for _, theirs := range []string{"pki", "pki.new"} {
			if _, err := os.Stat(filepath.Join(dir, theirs, "private")); err != nil {
				t.Errorf("the folder %s, which is no member's, is gone: %v", theirs, err)
			}
		}
	})
}

// Every member gets a new disk with another state, as from a backup.
func TestRebuild(t *testing.T) {
	for _, opt := range []raftstore.RebuildOptions{{}, {BumpRevision: 1000, MarkCompacted: true}} {
		t.Run(fmt.Sprintf("%+v", opt), func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				dir := t.TempDir()
				s, err := raftstore.Open(raftstore.Config{NoSync: true, Dir: dir})
				must(t, err)
				for i := range 40 {
					mustPut(t, s, "k", fmt.Sprint("old ", i))
				}
				was := s.ClusterID()
				backup := apply.New(apply.Limits{})
				for i := range 10 {
					backup.Apply(uint64(i+1), putReq("k", fmt.Sprint("backup ", i)))
				}
				told := make(chan int64, 8)
				s.OnReset(func(rev int64) { told <- rev })
				must(t, s.Crash("b")) // it gets a new disk too
				must(t, s.Rebuild(backup, opt))
				want := 11 + opt.BumpRevision
				if rev := <-told; rev != want {
					t.Errorf("the store goes on from revision %d, not %d", rev, want)
				}
				if got := get(t, s, "k"); got != "backup 9" {
					t.Errorf("k is %q", got)
				}
				newest := getReq("k")
				newest.Range.Revision = want
				if r := call(s, newest); r.Err != nil {
					t.Errorf("a read as of the newest revision: %v", r.Err)
				}
				if s.ClusterID() == was {
					t.Error("another cluster has the same ID")
				}
				r := mustPut(t, s, "k", "new")
				if r.Revision != want+1 || r.Response.(*pb.PutResponse).Header.ClusterId != s.ClusterID() {
					t.Errorf("the first put: %+v", r)
				}
				for _, id := range s.IDs() {
					caughtUp(t, s, id, "k", "new")
				}
				// Whoever followed the store from before learns that this is gone, if the
				// revisions were bumped; else revisions come twice.
				_, err = s.Changes(20)
				if opt.MarkCompacted != (err == rpctypes.ErrGRPCCompacted) {
					t.Errorf("following from revision 20: %v", err)
				}
				id := s.ClusterID()
				must(t, s.Close())
				s = open(t, raftstore.Config{NoSync: true, Dir: dir})
				if got := get(t, s, "k"); got != "new" || s.ClusterID() != id {
					t.Errorf("opened again: k is %q, cluster %x, not %x", got, s.ClusterID(), id)
				}
				if r := mustPut(t, s, "k", "newer"); r.Revision != want+2 {
					t.Errorf("then revision %d", r.Revision)
				}
			})
		})
	}
}

// Damage of every kind is noticed when the member starts; it does not vote.
func TestACorruptLogKeepsItsMemberDown(t *testing.T) {
	for _, what := range member.Damages {
		t.Run(string(what), func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				tr := newTranscript()
				s := open(t, raftstore.Config{NoSync: true, Events: tr.add})
				for i := range 40 {
					mustPut(t, s, "k", fmt.Sprint(i))
				}
				id := other(s.Leader())
				if err := s.Corrupt(id, what); err == nil {
					t.Error("damaged while the member runs")
				}
				must(t, s.Crash(id))
				if err := s.Corrupt(id, "sharks"); err == nil || !strings.Contains(err.Error(), "sharks") {
					t.Errorf("damage by sharks: %v", err)
				}
				must(t, s.Corrupt(id, what))
				start := tr.len()
				err := s.Restart(id)
				if err == nil || !strings.Contains(err.Error(), "member "+id) || !strings.Contains(err.Error(), filepath.Join(id, "raft.db")) {
					t.Fatalf("start with a damaged log: %v", err)
				}
				if m := status(t, s, id); m.Up || m.Reason != err.Error() {
					t.Errorf("%+v; it should be down because of %v", m, err)
				}
				must(t, s.TransferLeadership(other(id, s.Leader()))) // an election without it
				if slices.ContainsFunc(tr.from(start), func(l string) bool { return strings.HasPrefix(l, id+" vote") }) {
					t.Error("it has voted")
				}
				newID, err := s.Rejoin(id)
				must(t, err)
				mustPut(t, s, "k", "last")
				caughtUp(t, s, newID, "k", "last")
			})
		})
	}
}

// A process that dies while it makes the first members begins anew: nothing can have
// been acknowledged. One that dies between preparing new disks and putting them in
// place finishes that, or forgets them if it had not decided.
func TestWhatWasBrokenOffAtTheStart(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "group.json"), []byte(`{"cluster_id":"7","named":3,"born":false}`), 0o600))
		must(t, os.MkdirAll(filepath.Join(dir, "a"), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, "a", "raft.db"), []byte("half a page"), 0o600))
		s, err := raftstore.Open(raftstore.Config{NoSync: true, Dir: dir})
		must(t, err)
		mustPut(t, s, "k", "1")
		must(t, s.Close())
		for _, decided := range []bool{false, true} {
			for _, id := range []string{"a", "b", "c"} {
				must(t, os.CopyFS(filepath.Join(dir, id+".new"), os.DirFS(filepath.Join(dir, id))))
				if decided { // then what stands in the old place does not matter any more
					must(t, os.WriteFile(filepath.Join(dir, id, "raft.db"), nil, 0o600))
				}
			}
			facts := fmt.Sprintf(`{"cluster_id":"8","named":3,"born":true,"exchange":%v}`, decided)
			must(t, os.WriteFile(filepath.Join(dir, "group.json"), []byte(facts), 0o600))
			s, err = raftstore.Open(raftstore.Config{NoSync: true, Dir: dir})
			must(t, err)
			if got := get(t, s, "k"); got != "1" || s.ClusterID() != 8 {
				t.Errorf("decided %v: k is %q, cluster %x", decided, got, s.ClusterID())
			}
			must(t, s.Close())
			if left, err := filepath.Glob(filepath.Join(dir, "*.new")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v %v", left, err)
			}
		}
	})
}

// newestSnapshot is the folder of a member's newest snapshot.
func newestSnapshot(t *testing.T, dir, id string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, id, "snapshots", "*"))
	must(t, err)
	newest, last := "", -1
	for _, path := range list {
		var term, index int
		if _, err := fmt.Sscanf(filepath.Base(path), "%d-%d-", &term, &index); err == nil && index > last {
			newest, last = path, index
		}
	}
	if newest == "" {
		t.Fatalf("member %s has no snapshot", id)
	}
	return newest
}

// flip damages a file in one place.
func flip(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	data[len(data)/2] ^= 1
	must(t, os.WriteFile(path, data, 0o600))
}

// A member whose newest snapshot is damaged stays down and says why, though it has an
// older one: the log does not continue that. The others go on, also when the store is
// opened again.
func TestADamagedSnapshotKeepsItsMemberDown(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		s, err := raftstore.Open(raftstore.Config{NoSync: true, Dir: dir})
		must(t, err)
		mustPut(t, s, "k", "0")
		id := other(s.Leader())
		for round := range 2 {
			for i := range 20 {
				mustPut(t, s, "k", fmt.Sprint(round, " ", i))
			}
			caughtUp(t, s, id, "k", fmt.Sprint(round, " ", 19))
			must(t, s.Snapshot(id))
		}
		must(t, s.Stop(id))
		flip(t, filepath.Join(newestSnapshot(t, dir, id), "state.bin"))
		refused := func(err string) {
			t.Helper()
			if !strings.Contains(err, "member "+id) || !strings.Contains(err, "snapshot") {
				t.Errorf("the start says: %v", err)
			}
		}
		if err := s.Restart(id); err == nil {
			t.Error("it started from a damaged snapshot")
		} else {
			refused(err.Error())
		}
		mustPut(t, s, "k", "without it")
		must(t, s.Close())
		s = open(t, raftstore.Config{NoSync: true, Dir: dir})
		if got := get(t, s, "k"); got != "without it" {
			t.Errorf("opened again: k is %q", got)
		}
		refused(status(t, s, id).Reason)
	})
}

// A read that was called while the history was being replaced is as of the new one,
// also where that is ahead of the last write.
func TestAReadDuringARebuildIsOfTheNewHistory(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		s := open(t, raftstore.Config{NoSync: true, RequestTimeout: time.Minute})
		mustPut(t, s, "k", "old")
		for _, id := range s.IDs() {
			must(t, s.Crash(id)) // so that reads wait
		}
		steady.Until(t, "nobody leads", func() bool { return s.Leader() == "" })
		backup := apply.New(apply.Limits{})
		for i := range 50 {
			backup.Apply(uint64(i+1), putReq("k", fmt.Sprint("backup ", i)))
		}
		second := make(chan *raftstore.Result, 1)
		s.Do(getReq("k"), func(r *raftstore.Result) {
			if r.Err != rpctypes.ErrGRPCStopped {
				t.Errorf("a read of before ended with %v", r.Err)
			}
			s.Do(getReq("k"), func(r *raftstore.Result) { second <- r })
		})
		must(t, s.Rebuild(backup, raftstore.RebuildOptions{}))
		r := <-second
		must(t, r.Err)
		if kvs := r.Response.(*pb.RangeResponse).Kvs; string(kvs[0].Value) != "backup 49" || r.Revision != 51 {
			t.Errorf("k is %s as of revision %d", kvs[0].Value, r.Revision)
		}
	})
}

// Where only somebody can start who is no member any more, Open fails and names the
// member whose log is damaged.
func TestOnlyOneWhoWasRemovedCouldStart(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		s, err := raftstore.Open(raftstore.Config{NoSync: true, Dir: dir, Members: 1})
		must(t, err)
		mustPut(t, s, "k", "1")
		must(t, s.Close())
		// b's log ends with its own removal; the process died before the folder was deleted.
		must(t, os.CopyFS(filepath.Join(dir, "b"), os.DirFS(filepath.Join(dir, "a"))))
		path := filepath.Join(dir, "a", "raft.db")
		must(t, os.Truncate(path, 4096))
		s, err = raftstore.Open(raftstore.Config{NoSync: true, Dir: dir})
		if err == nil {
			must(t, s.Close())
			t.Fatal("opened")
		}
		if !strings.Contains(err.Error(), "member a: "+path) {
			t.Errorf("Open says: %v", err)
		}
	})
}

// A leader that finds its newest snapshot damaged when a new member needs it goes down
// and says why; the others take over, and the new member is brought up.
func TestALeadersDamagedSnapshotIsNoticed(t *testing.T) {
	steady.Bubble(t, func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, raftstore.Config{NoSync: true, Dir: dir, RequestTimeout: time.Minute})
		for i := range 40 {
			mustPut(t, s, "k", fmt.Sprint(i))
		}
		leader := s.Leader()
		must(t, s.Snapshot(leader))
		flip(t, filepath.Join(newestSnapshot(t, dir, leader), "state.bin"))
		joined := make(chan error, 1)
		go func() { _, err := s.AddMember(true); joined <- err }()
		steady.Until(t, leader+" is down", func() bool { return !status(t, s, leader).Up })
		t.Log("the learner joins: ", <-joined)
		if why := status(t, s, leader).Reason; !strings.Contains(why, "snapshot") || !strings.Contains(why, "member "+leader) {
			t.Errorf("it is down because %s", why)
		}
		mustPut(t, s, "k", "last")
		steady.Until(t, "the learner has joined", func() bool { return len(s.IDs()) == 4 })
		caughtUp(t, s, "d", "k", "last")
	})
}
