package tuitest

import (
	"fmt"
	"time"

	"kviz/cluster/trace"
)

// StoreStory is the story told on for the store: a learner joins, disks become
// slow, a lease is granted, a write comes too late, the quota is reached, a
// member is cut off and asked, history is compacted and saved.
func StoreStory() *Tape {
	t := Story()
	t.After(time.Second)
	store := func(k trace.Kind, p any) { t.Emit(trace.CompStore, "", k, trace.Ref{}, p) }
	at := func(member string, k trace.Kind, p any) { t.Emit(trace.CompMember, member, k, trace.Ref{}, p) }
	for i, prefix := range []string{"/registry/pods/", "/registry/deployments/", "/registry/events/"} {
		store(trace.StoreWatchOpened, &trace.StoreWatch{Watch: uint64(i + 1), Client: trace.CompAPIServer, Prefix: prefix, Revision: 2})
	}
	at("d", trace.MemberUp, &trace.MemberState{Member: "d", Role: "follower", Reason: "it joined"})
	at("d", trace.MemberJoined, &trace.Membership{Member: "d", Learner: true, Members: []string{"a", "b", "c", "d"}, Voters: 3})
	for i, m := range []string{"a", "b", "c", "d"} {
		at(m, trace.MemberServed, &trace.MemberEndpoint{Member: m, Client: "http://" + m + ":2379", Listener: fmt.Sprintf("https://127.0.0.1:%d", 2379+i), Open: m != "a"})
	}
	for _, m := range []string{"b", "c", "d"} {
		for i := range 8 {
			at(m, trace.RaftDurable, &trace.RaftLog{Member: m, First: t.index, Last: t.index, Took: time.Duration(900+100*i) * time.Microsecond})
		}
		at(m, trace.RaftApply, &trace.RaftProgress{Member: m, Index: t.index, Term: t.term, Revision: t.rev, Took: 90 * time.Microsecond, DBSize: 3 << 20, DBInUse: 2 << 20})
	}
	commit := func(took time.Duration) {
		at(t.leader, trace.RaftCommit, &trace.RaftProgress{Member: t.leader, Index: t.index, Term: t.term, Took: took, Entries: 1})
	}
	for i := range 12 {
		commit(time.Duration(1200+50*i) * time.Microsecond)
	}
	t.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "slow", Target: "member/c", Detail: "20ms"})
	for i := range 6 {
		at("c", trace.RaftDurable, &trace.RaftLog{Member: "c", First: t.index, Last: t.index, Took: time.Duration(21+i) * time.Millisecond})
		commit(time.Duration(22+i) * time.Millisecond)
	}
	store(trace.LeaseGranted, &trace.StoreLease{ID: 0x694d7a2b, TTL: time.Hour + time.Minute, For: "events"})
	t.After(40 * time.Minute)
	pod := "/registry/pods/demo/web-7f9c-k2x9p"
	store(trace.StoreUnmet, &trace.Txn{If: []trace.Comparison{{Key: pod, Target: "mod", Op: "=", Want: "12", Found: "19"}}, Then: []string{"put " + pod}, Else: []string{"get " + pod}, Revision: t.rev})
	t.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "quota", Target: "store", Detail: "2MiB", Passing: true})
	store(trace.AlarmRaised, &trace.Alarm{Member: "b", Alarm: "NOSPACE"})
	at("d", trace.MemberRoom, &trace.DiskRoom{Member: "d", Full: true, Error: "write d/raft.db: no space left on device"})
	store(trace.StoreCompact, &trace.Compaction{Revision: t.rev - 3})
	at("b", trace.MemberBackup, &trace.Backup{Member: "b", Revision: t.rev, Keys: 14, Size: 3 << 20})
	t.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "cut", Target: "member/c"})
	at("b", trace.RaftRead, &trace.ReadRound{Member: "b", Term: t.term, Index: t.index, Reads: 1, Took: 400 * time.Microsecond})
	for _, m := range []string{"b", "c"} {
		lin := &trace.MemberAnswer{Round: 1, Member: m, Key: pod, Revision: t.rev, ModRevision: 19, Size: 700}
		ser := &trace.MemberAnswer{Round: 1, Member: m, Key: pod, Serializable: true, Revision: t.rev, ModRevision: 19, Size: 700}
		if m == "c" {
			*lin = trace.MemberAnswer{Round: 1, Member: m, Key: pod, Error: "etcdserver: request timed out"}
			ser.Revision, ser.ModRevision = t.rev-5, 12
		}
		at(m, trace.MemberRead, lin)
		at(m, trace.MemberRead, ser)
	}
	return t
}
