package view_test

import (
	"reflect"
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// told is a made-up story with numbers that are easy to follow.
type told struct {
	s *trace.Stream
	h *view.History
}

func tell(events ...*trace.Event) told {
	s := trace.NewStream(0)
	for i, e := range events {
		e.ID = trace.ID{Seq: uint64(i + 1)}
		s.Append(e)
	}
	h := view.NewHistory(s)
	h.CatchUp(0)
	return told{s, h}
}

func because(k trace.Kind, payload any, causes ...uint64) *trace.Event {
	e := &trace.Event{Kind: k, Payload: payload, Lane: trace.Lane{Component: "kviz"}}
	for _, c := range causes {
		e.Causes = append(e.Causes, trace.ID{Seq: c})
	}
	return e
}

func story() told {
	rule := &trace.Rule{Node: "node-1", Table: "nat", Chain: "KUBE-SEP-A", Text: "-A KUBE-SEP-A -j DNAT --to-destination 10.244.1.2:80"}
	return tell(
		because(trace.RunStart, &trace.Run{}),                                                          // 1
		because(trace.CommandStart, &trace.Command{Line: "kubectl apply -f web.yaml"}),                 // 2
		because(trace.RequestReceived, &trace.Request{Request: 1}, 2),                                  // 3
		because(trace.StoreCommit, &trace.Commit{Revision: 10}, 3),                                     // 4
		because(trace.WatchDelivered, &trace.WatchEvent{}, 4),                                          // 5
		because(trace.CommandStart, &trace.Command{Line: "kubectl scale --replicas=2 deploy/web"}),     // 6
		because(trace.StoreCommit, &trace.Commit{Revision: 11}, 6),                                     // 7
		because(trace.QueueGet, &trace.QueueItem{Queue: "replicaset", Key: "demo/web"}, 5, 7),          // 8
		because(trace.ReconcileAction, &trace.Action{Controller: "replicaset", Verb: "create"}, 8),     // 9
		because(trace.SchedDecision, &trace.Decision{Pod: "demo/web-1", Node: "node-1"}, 9),            // 10
		because(trace.ProxySync, &trace.ProxySyncInfo{Node: "node-1", Added: 1}, 10),                   // 11
		because(trace.RuleChange, rule, 11),                                                            // 12
		because(trace.RuleChange, &trace.Rule{Node: "node-1", Table: "nat", Chain: "X", Text: "x"}, 1), // 13
	)
}

func ids(links []view.Link) []uint64 {
	var out []uint64
	for _, l := range links {
		out = append(out, l.ID.Seq)
	}
	return out
}

func TestWhyLeadsToTheCommand(t *testing.T) {
	w := story()
	if got, want := ids(w.h.Why(trace.ID{Seq: 12})), []uint64{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("why 12: %v, want %v", got, want)
	}
	// The short answer leaves the plumbing out and ends at the newest command:
	// the scale, not the apply, made this pod.
	if got, want := ids(w.h.Chain(trace.ID{Seq: 12})), []uint64{12, 11, 10, 9, 7, 6}; !reflect.DeepEqual(got, want) {
		t.Errorf("the short answer: %v, want %v", got, want)
	}
	if got, want := ids(w.h.Chain(trace.ID{Seq: 13})), []uint64{13, 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("without a command: %v, want %v", got, want)
	}
	if got := w.h.Why(trace.ID{Seq: 99}); len(got) != 1 || got[0].Event != nil {
		t.Errorf("an event there is not: %v", got)
	}
}

func TestWhyRuleIsTheEventThatWroteIt(t *testing.T) {
	s := story().h.Latest()
	if got := s.WhyRule("node-1", " -A KUBE-SEP-A -j DNAT --to-destination 10.244.1.2:80\n"); got.Seq != 12 {
		t.Errorf("the rule was written by %s, want 12", got)
	}
	if got := s.WhyRule("node-1", "-A NONE"); !got.IsZero() {
		t.Errorf("a rule there is not was written by %s", got)
	}
}

// What followed is the reverse of what caused, whatever the trace, and stays
// so when old events are let go.
func TestFollowedIsTheReverseOfCauses(t *testing.T) {
	s := trace.NewStream(4000)
	h := view.NewHistory(s)
	events := madeUp(4, 30_000)
	for i, e := range events {
		s.Append(e)
		if i%500 == 0 {
			h.CatchUp(0)
		}
	}
	h.CatchUp(0)
	want := map[trace.ID][]trace.ID{}
	for pos := s.First(); pos < s.Len(); pos++ {
		e := s.Get(pos)
		for _, c := range e.Causes {
			want[c] = append(want[c], e.ID)
		}
	}
	checked := 0
	for pos := h.First(); pos < s.Len(); pos++ {
		id := s.Get(pos).ID
		got := h.Followed(id)
		if len(got) == 0 && len(want[id]) == 0 {
			continue
		}
		checked++
		if !reflect.DeepEqual(got, want[id]) {
			t.Fatalf("%s was followed by %v, want %v", id, got, want[id])
		}
	}
	if checked < 1000 {
		t.Fatalf("only %d events had effects", checked)
	}
}

func TestEveryKindHasAFoldAndWords(t *testing.T) {
	for _, in := range trace.Kinds() {
		if view.Folds[in.Kind] == nil && in.Kind != trace.Converged && in.Kind != trace.InputEntered {
			t.Errorf("%s changes nothing in the state", in.Kind)
		}
		if view.Explains[in.Kind] == nil {
			t.Errorf("%s has no words", in.Kind)
		}
		// A payload with nothing in it, or none at all, still gives a sentence
		// and does not upset the fold.
		for _, p := range []any{in.NewPayload(), nil} {
			e := &trace.Event{ID: trace.ID{Seq: 1}, Kind: in.Kind, Payload: p}
			words := view.Explain(e)
			if words == "" || strings.ContainsAny(words, "\n\t") || strings.HasSuffix(words, ".") {
				t.Errorf("%s: %q", in.Kind, words)
			}
			view.NewBuilder().Apply(e)
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		kind    trace.Kind
		payload any
		want    string
	}{
		{
			trace.SchedFilter, &trace.FilterVerdict{Pod: "demo/web-1", Node: "node-2", By: "TaintToleration", Reasons: []string{"node(s) had untolerated taint {dedicated: gpu}"}},
			"node-2 rejected by TaintToleration: node(s) had untolerated taint {dedicated: gpu}",
		},
		{
			trace.SchedDecision, &trace.Decision{Pod: "demo/web-1", Node: "node-3", Total: 498, Feasible: 2},
			"demo/web-1 goes to node-3: 498 points, the most of 2 nodes that fit",
		},
		{
			trace.ReconcileAction, &trace.Action{Controller: "replicaset", Key: "demo/web", Verb: "create", Target: trace.Ref{Kind: "Pod", Namespace: "demo", Name: "web-1"}, Why: "spec.replicas is 3, 2 pods exist: create 1"},
			"replicaset will create Pod demo/web-1, because spec.replicas is 3, 2 pods exist: create 1",
		},
		{
			trace.RaftReply, &trace.RaftMessage{RPC: "AppendEntries", From: "a", To: "b", OK: true, Match: 12},
			"b answers a: I have everything up to entry 12",
		},
		{
			trace.ProbeResult, &trace.Probe{Node: "node-1", Pod: "demo/web-1", Container: "web", Probe: "liveness", Failures: 3, Threshold: 3, Output: "connection refused"},
			"liveness probe of web of demo/web-1 fails (3 of 3): connection refused: the kubelet restarts the container",
		},
		{trace.MemberRole, &trace.MemberState{Member: "b", Role: "leader", Term: 4}, "member b has a majority of the votes and leads term 4"},
		{trace.QueueAdd, &trace.QueueItem{Queue: "deployment", Key: "demo/web", Merged: true}, "demo/web is in queue deployment already: this change is merged into it"},
		{trace.CommandStart, &trace.Command{Line: "kubectl get pods"}, "you typed: kubectl get pods"},
		{
			trace.StoreCommit, &trace.Commit{Revision: 143, Changes: []trace.KeyChange{{Object: trace.Ref{Kind: "Pod", Namespace: "demo", Name: "web-1"}, Version: 1}}},
			"revision 143: Pod demo/web-1 created",
		},
	} {
		if got := view.Explain(&trace.Event{Kind: c.kind, Payload: c.payload}); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.kind, got, c.want)
		}
	}
}
