package tuitest

import (
	"time"

	"kviz/cluster/trace"
)

// CascadeStory is the story told on with the leader's disk ever slower: commits wait
// for it, requests for the commits, until the time of some is over, and keys for
// the workers that wait for requests. Before that, many keys are ready for a moment.
func CascadeStory() *Tape {
	t := Story()
	t.After(5 * time.Second)
	ready := 0
	second := func(disk time.Duration, late, more int) {
		for i := range 4 {
			took := disk + time.Duration(i)*time.Millisecond/2
			t.index++
			t.Emit(trace.CompMember, t.leader, trace.RaftDurable, trace.Ref{}, &trace.RaftLog{Member: t.leader, First: t.index, Last: t.index, Took: took})
			t.Emit(trace.CompMember, t.leader, trace.RaftCommit, trace.Ref{}, &trace.RaftProgress{Member: t.leader, Index: t.index, Term: t.term, Took: took + time.Millisecond, Entries: 1})
			t.req++
			t.Emit(trace.CompAPIServer, "", trace.RequestReceived, trace.Ref{}, &trace.Request{Request: t.req, Verb: "patch", Resource: "configmaps", Client: "kubectl"})
			answer := &trace.Response{Request: t.req, Verb: "patch", Code: 200, Took: took + 3*time.Millisecond}
			if i < late {
				answer.Code, answer.Reason, answer.Took = 504, "Timeout", 2*time.Second
				answer.Message = "Timeout: request did not complete within requested timeout - context deadline exceeded"
			}
			t.Emit(trace.CompAPIServer, "", trace.RequestDone, trace.Ref{}, answer)
		}
		ready += more
		t.Emit(trace.CompKCM, "", trace.QueueAdd, trace.Ref{}, &trace.QueueItem{Queue: "replicaset", Key: "demo/web", Merged: true, Ready: ready})
		t.After(time.Second)
	}
	for i := range 20 {
		second(2*time.Millisecond, 0, 0)
		if i == 10 {
			for _, n := range []int{20, 0} {
				t.Emit(trace.CompKCM, "", trace.QueueAdd, trace.Ref{}, &trace.QueueItem{Queue: "replicaset", Key: "demo/web", Merged: true, Ready: n})
			}
		}
	}
	t.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "slow", Target: "member/" + t.leader, Detail: "1.5s"})
	for i := range 24 {
		late := min(max(i-3, 0), 3)
		more := 0
		if i > 6 {
			more = 3
		}
		second(min(time.Duration(i+1)*400*time.Millisecond, 1500*time.Millisecond), late, more)
	}
	return t
}
