package cluster_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// bootFree is a cluster whose time passes by itself, as the explorer's does.
func bootFree(t *testing.T, cfg cluster.Config) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Boot(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("the run ended badly: %v", err)
		}
	})
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// The cluster stands, and the leader of its store dies. Step by step a member's timeout
// runs out, it stands for election, the others are asked and answer, and one leads. No
// virtual time passes, and no step ends anywhere but at a member.
func TestStepThroughAnElection(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := bootFree(t, cluster.Config{Seed: 3, NoSync: true, Nodes: 1, Speed: 1})
		if err := c.Pause(); err != nil {
			t.Fatal(err)
		}
		stand(t, c, nil)
		// What the members still had under way is done first.
		for c.Raft().ReleaseOne() {
			time.Sleep(2 * time.Millisecond)
		}
		leader := c.Raft().Leader()
		if err := c.Fault(t.Context(), control.Fault{Name: "crash", Target: "member/" + leader}); err != nil {
			t.Fatal(err)
		}
		from, at := c.Trace().Len(), c.Clock().Elapsed
		seen := map[string]bool{}
		for steps := 0; c.Raft().Leader() == ""; steps++ {
			if steps > 60 {
				dump(t, c, 60)
				t.Fatalf("no leader after %d steps", steps)
			}
			if err := c.Step(trace.GrainRaft); err != nil {
				t.Fatal(err)
			}
			stand(t, c, nil)
			for _, m := range c.Raft().Members() {
				seen[m.Role] = true
			}
		}
		if !seen["candidate"] {
			t.Error("a leader, and nobody was seen to stand for election")
		}
		stand(t, c, nil)
		if now := c.Kernel().Moment(); now-at > 50*time.Millisecond {
			t.Errorf("%s of virtual time passed in the election", now-at)
		}
		var kinds []trace.Kind
		events, _, _ := c.Trace().Read(from, 1<<16)
		for _, e := range events {
			kinds = append(kinds, e.Kind)
			if !e.Outside() && e.Kind != trace.FaultInjected && e.Lane.Component == trace.CompAPIServer {
				t.Errorf("stepping raft, #%s %s of %s happened", e.ID, e.Kind, e.Lane)
			}
		}
		if want := []trace.Kind{trace.MemberRole, trace.RaftSend, trace.RaftDeliver, trace.RaftReply, trace.RaftVote, trace.MemberRole}; !inOrder(kinds, want) {
			t.Errorf("the election is not, in this order, %v: %v", want, kinds)
		}
		if err := c.Resume(); err != nil {
			t.Fatal(err)
		}
	})
}

// However much is under way when the leader dies, steps come to an election: the others'
// messages are let go first, then their time runs out. Nobody's write gives up meanwhile.
func TestStepsComeToAnElectionUnderWrites(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := bootFree(t, cluster.Config{Seed: 3, NoSync: true, Speed: 1})
		if err := c.Pause(); err != nil {
			t.Fatal(err)
		}
		stand(t, c, nil)
		exit := make(chan int, 1)
		var out bytes.Buffer
		go func() {
			exit <- c.Exec(t.Context(), "kubectl create namespace demo", control.Streams{Out: &out, Err: &out})
		}()
		step := func() {
			t.Helper()
			if err := c.Step(trace.GrainRaft); err != nil {
				t.Fatal(err)
			}
			stand(t, c, nil)
		}
		written := func() bool { // on somebody's disk, and nowhere committed
			return slices.ContainsFunc(c.Raft().Members(), func(m raftstore.MemberStatus) bool { return m.Last > m.Commit })
		}
		for steps := 0; !written(); steps++ {
			if steps > 200 {
				t.Fatal("no write is under way after 200 steps")
			}
			step()
		}
		leader := c.Raft().Leader()
		if err := c.Fault(t.Context(), control.Fault{Name: "crash", Target: "member/" + leader}); err != nil {
			t.Fatal(err)
		}
		from, at := c.Trace().Len(), c.Kernel().Moment()
		for steps := 0; c.Raft().Leader() == ""; steps++ {
			if steps > 120 {
				dump(t, c, 60)
				t.Fatalf("no leader after %d steps", steps)
			}
			step()
		}
		if took := c.Kernel().Moment() - at; took > time.Second {
			t.Errorf("%s of virtual time passed until another member led", took)
		}
		events, _, _ := c.Trace().Read(from, 1<<16)
		if !slices.ContainsFunc(events, func(e *trace.Event) bool {
			p, ok := e.Payload.(*trace.MemberState)
			return ok && e.Kind == trace.MemberRole && p.Role == "candidate"
		}) {
			t.Error("a leader, and nobody was seen to stand for election")
		}
		if err := c.Resume(); err != nil {
			t.Fatal(err)
		}
		if code := <-exit; code != 0 {
			t.Errorf("exit status %d\n%s", code, out.String())
		}
	})
}

// A step of the grain raft ends where a member does something, and nowhere else: not at a
// stage of a request, nor at a commit. On a store without members a commit is the finest there is.
func TestStepsOfRaftEndAtMembers(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		for _, bare := range []bool{false, true} {
			c := bootFree(t, cluster.Config{Seed: 3, NoSync: true, Nodes: 1, Bare: bare, Speed: 10})
			if err := c.Pause(); err != nil {
				t.Fatal(err)
			}
			stand(t, c, nil)
			for range 40 {
				from := c.Trace().Len()
				if err := c.Step(trace.GrainRaft); err != nil {
					t.Fatal(err)
				}
				stand(t, c, nil)
				// What the members do with a message that was let go may come later.
				events, _, _ := c.Trace().Read(from, 1<<16)
				events = slices.DeleteFunc(slices.Clone(events), func(e *trace.Event) bool { return e.Lane.Component == trace.CompSimulation })
				if len(events) == 0 {
					continue
				}
				last := events[len(events)-1]
				if !bare && last.Lane.Component != trace.CompMember || bare && last.Grain() < trace.GrainCommit {
					t.Errorf("bare %v: the step ended at #%s %s of %s", bare, last.ID, last.Kind, last.Lane)
				}
			}
		}
	})
}

// Slower than real time, an election is as slow as everything else: what the members'
// clocks count is virtual time, as nearly as they can tell.
func TestElectionsAreAsSlowAsTheCluster(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := bootFree(t, cluster.Config{Seed: 3, NoSync: true, Nodes: 1, Speed: 0.2})
		begun := time.Now()
		if err := c.Fault(t.Context(), control.Fault{Name: "crash", Target: "member/" + c.Raft().Leader()}); err != nil {
			t.Fatal(err)
		}
		steady.Until(t, "another member leads", func() bool { return c.Raft().Leader() != "" })
		if took := time.Since(begun); took < 5*250*time.Millisecond || took > 5*time.Second {
			t.Errorf("another leader after %s at a fifth of real time, and a timeout is a quarter of a second at least", took)
		}
	})
}
