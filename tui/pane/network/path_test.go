package network

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/tui/tuitest"
)

// The way to a Service knows where the rules lead, what the last packet met and drew, and which
// pod took it.
func TestTheWayOfAPacket(t *testing.T) {
	s := tuitest.Story().History().Latest()
	p := New()
	w := p.wayOf(s, s.Object("services", "demo", "web"), s.Node("node-1"), s.Flows()[0])
	if w == nil || !strings.HasPrefix(w.chain, "KUBE-SVC-WEB") || len(w.ends) != 2 {
		t.Fatalf("the way is %+v", w)
	}
	if w.taken != 1 || w.came != atPod || w.drew != "drew 0.71" || w.bad != "" {
		t.Errorf("taken %d, came to %d, %q, %q; want the second pod, after drew 0.71", w.taken, w.came, w.drew, w.bad)
	}
	if a, b := w.ends[0], w.ends[1]; a.chance != "p 0.5" || b.chance != "else" || !a.listed || a.pod == nil || b.node != "node-3" {
		t.Errorf("the ends are %+v", w.ends)
	}
	if _, what := p.differing(s, w); len(what) != 0 {
		t.Errorf("every node's rules are as the EndpointSlice says, and still: %v", what)
	}
}

// Both sides are shown where they differ: an endpoint that no rule leads to yet, and a rule whose
// pod is no endpoint any more.
func TestRulesThatAreBehind(t *testing.T) {
	tape := tuitest.Story()
	tape.After(time.Second).Commit(tuitest.Ref("EndpointSlice", "demo", "web-x2k"), "endpointslices", tuitest.Slice("10.244.3.4", "10.244.2.9"))
	s := tape.History().Latest()
	p := New()
	w := p.wayOf(s, s.Object("services", "demo", "web"), s.Node("node-1"), nil)
	got := map[string]string{}
	for _, e := range w.ends {
		got[e.ip()] = e.chance
		if e.listed {
			got[e.ip()] += " listed"
		}
	}
	if got["10.244.1.7"] != "p 0.5" || got["10.244.3.4"] != "else listed" || got["10.244.2.9"] != " listed" {
		t.Errorf("the ends are %v", got)
	}
	// An endpoint need not be a pod: the API server is none.
	for _, e := range w.ends {
		letter, mark := e.mark(s)
		if want := e.ip() == "10.244.2.9"; (letter+string(mark.Glyph)+" "+e.words(30) == " ● no pod 10.244.2.9") != want {
			t.Errorf("%s is shown as %q", e.ip(), letter+string(mark.Glyph)+" "+e.words(30))
		}
		if e.outside && e.words(13) != e.ip() {
			t.Errorf("where there is little room, %s is shown as %q", e.ip(), e.words(13))
		}
	}
	nodes, what := p.differing(s, w)
	if len(nodes) != 3 || len(what) != 3 {
		t.Errorf("of %v these differ: %v", nodes, what)
	}
}

// A packet that is refused ends where it was, and says why.
func TestAPacketThatDoesNotArrive(t *testing.T) {
	tape := tuitest.Story()
	tape.Emit(trace.CompNet, "node-1", trace.PacketHop, trace.Ref{}, &trace.Hop{Flow: 2, Node: "node-1", Where: "filter KUBE-EXTERNAL-SERVICES", Verdict: "REJECT", Src: "10.244.1.7:1", Dst: "10.96.0.10:80", Why: "demo/web has no endpoints"})
	tape.Emit(trace.CompNet, "node-1", trace.PacketEnd, trace.Ref{}, &trace.Flow{Flow: 2, From: "demo/x", To: "web:80", Result: "connection refused"})
	s := tape.History().Latest()
	w := New().wayOf(s, s.Object("services", "demo", "web"), s.Node("node-1"), s.Flows()[1])
	if w.came != asks || w.taken != -1 || w.bad != "connection refused: demo/web has no endpoints" {
		t.Errorf("came to %d, %q", w.came, w.bad)
	}
}
