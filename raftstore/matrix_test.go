package raftstore_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// Every fault, on the leader and on a follower, over three and five members: what
// happens to the leader and to writes while it lasts, and that after it is taken
// back every member holds the same, with every acknowledged write.
//
// The seed draws which follower and which set. KVIZ_SEEDS=20 runs more seeds,
// KVIZ_ONLY_SEED=17 one.

// outcome is what becomes of the leader while a fault lasts.
type outcome int

const (
	stays  outcome = iota // the same leader in the same term
	moves                 // another leader in a later term
	toHeir                // the follower that was named, in a later term
	nobody                // no leader; writes are refused
)

// matrixFault is a fault, how it is taken back, and what is expected of the
// leader if the victim is the leader, and if it is not.
type matrixFault struct {
	name     string
	do, undo func(x *patient) error
	leader   outcome
	follower outcome
	visible  bool // it shows in the state of members or links
}

var matrixFaults = []matrixFault{
	{"stop and start", (*patient).stop, (*patient).restart, moves, stays, true},
	{"crash and restart", (*patient).crash, (*patient).restart, moves, stays, true},
	{"stop a majority", (*patient).stopMajority, (*patient).restart, nobody, nobody, true},
	{"cut one", (*patient).cutOne, (*patient).heal, moves, stays, true},
	{"cut a minority", (*patient).cutMinority, (*patient).heal, moves, stays, true},
	// The victim's side is the one that goes on.
	{"cut a majority", (*patient).cutMajority, (*patient).heal, stays, moves, true},
	{"cut a majority apart", (*patient).cutApart, (*patient).heal, nobody, nobody, true},
	{"cut what one sends", (*patient).mute, (*patient).heal, moves, stays, true},
	{"cut what one hears", (*patient).deafen, (*patient).heal, moves, stays, true},
	{"delay a link", (*patient).delay, (*patient).heal, stays, stays, true},
	{"drop on a link", (*patient).drop, (*patient).heal, stays, stays, true},
	{"duplicate on a link", (*patient).duplicate, (*patient).heal, stays, stays, true},
	{"reorder on a link", (*patient).reorder, (*patient).heal, stays, stays, true},
	{"slow disk", (*patient).slow, (*patient).sound, stays, stays, true},
	{"crash with unsynced writes", (*patient).crashUnsynced, (*patient).restart, moves, stays, true},
	{"lose the disk and rejoin", (*patient).wipe, (*patient).rejoin, moves, stays, true},
	{"damage the log and rejoin", (*patient).corrupt, (*patient).rejoin, moves, stays, true},
	{"full disk", (*patient).fill, (*patient).room, moves, stays, true},
	{"move leadership", (*patient).move, func(*patient) error { return nil }, toHeir, toHeir, false},
	{"slow elections", (*patient).slowElections, (*patient).usualElections, stays, stays, false},
	{"a learner joins and is promoted", (*patient).join, (*patient).promote, stays, stays, false},
	{"one leaves, another joins", (*patient).leave, (*patient).replace, moves, stays, false},
}

func TestEveryFaultOnEveryRole(t *testing.T) {
	for _, seed := range seeds(t, 1) {
		for _, members := range []int{3, 5} {
			for _, f := range matrixFaults {
				for _, onLeader := range []bool{true, false} {
					role := map[bool]string{true: "leader", false: "follower"}[onLeader]
					t.Run(fmt.Sprintf("%d members/%s/%s/seed=%d", members, f.name, role, seed), func(t *testing.T) {
						steady.Bubble(t, func(t *testing.T) {
							f.try(t, members, onLeader, seed)
						})
					})
				}
			}
		}
	}
}

// patient is a store under a fault.
type patient struct {
	t      *testing.T
	s      *raftstore.Replicated
	rand   *rand.Rand
	ids    []string
	leader string // before the fault
	victim string
	heir   string            // who is to lead next
	wrote  map[string]string // acknowledged
}

func openPatient(t *testing.T, members int, seed uint64) *patient {
	s, err := raftstore.Open(raftstore.Config{NoSync: true, Members: members, Seed: seed})
	must(t, err)
	x := &patient{t: t, s: s, ids: s.IDs(), rand: rand.New(rand.NewPCG(seed, uint64(members))), wrote: map[string]string{}}
	x.write("first", 1)
	x.leader = s.Leader()
	return x
}

func (f *matrixFault) try(t *testing.T, members int, onLeader bool, seed uint64) {
	x := openPatient(t, members, seed)
	s := x.s
	defer func() { must(t, s.Close()) }()
	x.write("before", 5)
	term := x.equal("before the fault")
	x.leader = s.Leader()
	x.victim = x.leader
	if !onLeader {
		x.victim = x.others(x.leader)[0]
	}
	must(t, f.do(x))
	if shown := !x.whole(); shown != f.visible {
		t.Errorf("the fault shows in the members' state: %v, want %v: %+v", shown, f.visible, s.Members())
	}
	want := f.follower
	if onLeader {
		want = f.leader
	}
	x.during(want, term)

	must(t, f.undo(x))
	steady.Until(t, "every member is up and every link whole", func() bool { return x.whole() && s.Healthy() })
	x.write("after", 5)
	after := x.equal("after the fault")
	switch {
	case after < term:
		t.Errorf("term %d came after %d", after, term)
	case want == stays && after != term:
		t.Errorf("the end of a fault that %s outlived moved term %d to %d", x.leader, term, after)
	}
}

// during writes under the fault and looks at who leads.
func (x *patient) during(want outcome, term uint64) {
	if want == nobody {
		steady.Until(x.t, "nobody leads", func() bool { return x.s.Leader() == "" && !x.s.Healthy() })
		r := call(x.s, putReq("no quorum", "1"))
		if !errors.Is(r.Err, rpctypes.ErrGRPCTimeout) && !errors.Is(r.Err, rpctypes.ErrGRPCTimeoutDueToLeaderFail) {
			x.t.Errorf("without a quorum a put ended with %v", r.Err)
		}
		return
	}
	x.write("during", 5)
	x.readAll()
	leader := x.s.Leader()
	now, _ := x.s.TermAt(leader)
	switch {
	case want == stays && (leader != x.leader || now != term):
		x.t.Errorf("%s led in term %d and should have gone on; %q leads in term %d", x.leader, term, leader, now)
	case want == moves && (leader == x.leader || now <= term && leader != ""):
		x.t.Errorf("%s led in term %d; under the fault %q leads in term %d", x.leader, term, leader, now)
	case want == toHeir && (leader != x.heir || now < term || x.heir != x.leader && now == term):
		x.t.Errorf("%s should lead after %s of term %d; %q leads in term %d", x.heir, x.leader, term, leader, now)
	}
}

// write makes n writes that must be acknowledged.
func (x *patient) write(phase string, n int) {
	x.t.Helper()
	for i := range n {
		key, value := fmt.Sprintf("%s%d", phase, i), fmt.Sprint(x.rand.Uint32())
		mustPut(x.t, x.s, key, value)
		x.wrote[key] = value
	}
}

// readAll reads what was acknowledged from whoever leads.
func (x *patient) readAll() {
	x.t.Helper()
	r := call(x.s, everything)
	must(x.t, r.Err)
	x.holds("a linearizable read", r.Response.(*pb.RangeResponse))
}

var everything = &pb.InternalRaftRequest{Range: &pb.RangeRequest{Key: []byte{0}, RangeEnd: []byte{0}}}

func (x *patient) holds(who string, resp *pb.RangeResponse) {
	x.t.Helper()
	got := map[string]string{}
	for _, kv := range resp.Kvs {
		got[string(kv.Key)] = string(kv.Value)
	}
	for _, key := range slices.Sorted(maps.Keys(x.wrote)) {
		if got[key] != x.wrote[key] {
			x.t.Errorf("%s: %s is %q; %q was acknowledged", who, key, got[key], x.wrote[key])
		}
	}
}

// equal waits until all members follow one leader in one term and hold the same
// keys with the same history, what was acknowledged among them; it gives the term.
func (x *patient) equal(when string) (term uint64) {
	x.t.Helper()
	steady.Until(x.t, "the members are equal "+when, func() bool {
		hashes, terms, leaders := map[raftstore.KVHash]bool{}, map[uint64]bool{}, map[string]bool{}
		for _, m := range x.s.Members() {
			h, err := x.s.HashKV(m.ID, 0)
			if err != nil {
				return false
			}
			hashes[h], terms[m.Term], leaders[m.Leader] = true, true, true
			term = m.Term
		}
		return len(hashes) == 1 && len(terms) == 1 && len(leaders) == 1 && leaders[x.s.Leader()] && !leaders[""]
	})
	for _, id := range x.ids {
		resp, err := x.s.RangeAt(id, everything.Range)
		must(x.t, err)
		x.holds(id+" "+when, resp)
	}
	return term
}

// whole says whether no member and no link has a fault.
func (x *patient) whole() bool {
	before, whole := x.s.Whole(), true
	for _, m := range x.s.Members() {
		if !m.Up || m.FullDisk || m.SlowDisk > 0 || len(m.Links) > 0 {
			whole = false
		}
	}
	if after := x.s.Whole(); before == after && after != whole {
		x.t.Errorf("Whole is %v beside %+v", after, x.s.Members())
	}
	return whole
}

// others are the members that are none of these, in drawn order.
func (x *patient) others(ids ...string) (list []string) {
	for _, id := range x.ids {
		if !slices.Contains(ids, id) {
			list = append(list, id)
		}
	}
	x.rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// group is n members with the victim among them; the leader only if it is the
// victim.
func (x *patient) group(n int) []string {
	return append([]string{x.victim}, x.others(x.victim, x.leader)[:n-1]...)
}

func (x *patient) majority() int { return len(x.ids)/2 + 1 }

func (x *patient) status(id string) raftstore.MemberStatus { return status(x.t, x.s, id) }

// Whatever is wrong when the store is closed, and whatever is under way, no
// goroutine stays: not the members', not raft's, not those of calls that hang. A bubble
// ends only when every goroutine in it has ended.
func TestNoFaultLeavesAGoroutineBehind(t *testing.T) {
	for round, f := range matrixFaults {
		for _, undone := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/undone=%v", f.name, undone), func(t *testing.T) {
				steady.Bubble(t, func(t *testing.T) { f.endIn(t, round, undone) })
			})
		}
	}
}

// endIn closes the store under the fault, or after it.
func (f *matrixFault) endIn(t *testing.T, round int, undone bool) {
	x := openPatient(t, 3+2*(round%2), uint64(round))
	if x.victim = x.leader; undone {
		x.victim = x.others(x.leader)[0]
	}
	must(t, f.do(x))
	ended := make(chan *raftstore.Result, 64)
	for i := range cap(ended) / 2 {
		x.s.Do(putReq("k", fmt.Sprint(i)), func(r *raftstore.Result) { ended <- r })
		x.s.Do(getReq("k"), func(r *raftstore.Result) { ended <- r })
	}
	if undone {
		must(t, f.undo(x))
	}
	must(t, x.s.Close())
	for range cap(ended) {
		<-ended // every request ends, whatever it ends with
	}
}
