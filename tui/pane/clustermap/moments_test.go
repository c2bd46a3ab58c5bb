package clustermap_test

import (
	"fmt"
	"testing"
	"time"

	"kviz/cluster/trace"
	"kviz/tui/grid"
	"kviz/tui/motion"
	"kviz/tui/pane"
	"kviz/tui/pane/clustermap"
	"kviz/tui/scene"
	"kviz/tui/tuitest"
)

// sizes are the insides of the usual screens that the map has to itself.
var sizes = [][2]int{{80, 18}, {120, 33}, {200, 53}}

// moment compares the map of a state, and what moves on it, at every size with its golden
// files, the middle one without colour too.
func moment(t *testing.T, name string, f pane.Frame) {
	t.Helper()
	for _, size := range sizes {
		g := grid.New(size[0], size[1])
		f := f
		f.W, f.Rows, f.Focused, f.Live = size[0]-3, size[1]-2, true, true
		pane.NewHost(clustermap.New(), "1").Draw(g, grid.Rect{W: size[0], H: size[1]}, f)
		tuitest.Golden(t, fmt.Sprintf("moments/%s-%d", name, size[0]), tuitest.Planes(g))
		if size[0] == 120 {
			tuitest.Golden(t, fmt.Sprintf("moments/%s-%d-none", name, size[0]), tuitest.Colourless(t, g))
		}
	}
}

// What a cluster looks like in the moments that the map is there for.
func TestMoments(t *testing.T) {
	for name, tape := range map[string]*tuitest.Tape{
		"rest":               tuitest.Calm(3, 3),
		"leader-dead":        tuitest.LeaderDead(),
		"no-quorum-1s":       tuitest.QuorumLost(time.Second),
		"no-quorum-12s":      tuitest.QuorumLost(12 * time.Second),
		"no-quorum-60s":      tuitest.QuorumLost(60 * time.Second),
		"node-lost":          tuitest.NodeLost(),
		"node-dead":          tuitest.NodeDead(),
		"five-members":       tuitest.Calm(5, 3),
		"five-leader-dead":   tuitest.LeaderDeadOf(5),
		"five-no-quorum-1s":  tuitest.QuorumLostOf(5, time.Second),
		"five-no-quorum-60s": tuitest.QuorumLostOf(5, time.Minute),
		"split":              tuitest.Split(),
		"thirty-nodes":       tuitest.ManyNodes(30),
		"room":               room(),
		"thousand-nodes":     tuitest.Busy(1000),
	} {
		t.Run(name, func(t *testing.T) {
			h := tape.History()
			moment(t, name, pane.Frame{S: h.Latest(), H: h})
		})
	}
}

// room is a cluster whose nodes are in zones, and in which room is being made for a pod of high priority.
func room() *tuitest.Tape {
	t := tuitest.Calm(3, 3)
	for i, zone := range []string{"europe-west3-a", "europe-west3-b", "europe-west3-b"} {
		name := fmt.Sprintf("node-%d", i+1)
		n := tuitest.Node(name, "4")
		n.Labels = map[string]string{"topology.kubernetes.io/zone": zone}
		t.Commit(tuitest.Ref("Node", "", name), "nodes", n)
	}
	urgent := tuitest.Pod("demo", "urgent", "", "", "Pending", "")
	urgent.Status.NominatedNodeName = "node-2"
	t.Commit(tuitest.Ref("Pod", "demo", "urgent"), "pods", urgent)
	return t
}

// served is a cluster that has every server beside the API servers, of which there are two.
func served() *tuitest.Tape {
	t := tuitest.Calm(3, 3)
	for _, server := range []string{"apiserver", "apiserver/b"} {
		t.Emit(trace.CompBalancer, "", trace.BalancerServer, trace.Ref{}, &trace.BalancedServer{Server: server, Up: true})
	}
	t.Emit(trace.CompAPIServer, "", trace.WebhookCalled, trace.Ref{}, &trace.WebhookCall{Webhook: "sidecar", Allowed: true, Patch: "[]"})
	t.Emit(trace.CompAPIServer, "", trace.KMSCalled, trace.Ref{}, &trace.KMSCall{Method: "Encrypt"})
	t.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "stop", Target: "registry"})
	return t
}

// Servers that the API server asks have their places where there are any, and what they answer
// comes from there.
func TestServersBeside(t *testing.T) {
	h := served().History()
	p := motion.New(motion.Full)
	p.Catch([]*trace.Event{{Kind: trace.WebhookCalled, Payload: &trace.WebhookCall{Webhook: "sidecar", Allowed: true, Patch: "[]"}}}, h.Latest(), motion.Live(0.02))
	p.Tick(350 * time.Millisecond)
	moment(t, "servers", pane.Frame{S: h.Latest(), H: h, Motion: p.Shot()})
}

// A write on its way to the store, which its request has come to through every stage, and the answer.
func TestAPut(t *testing.T) {
	tape := tuitest.Calm(3, 3)
	tape.Request(tuitest.Call{Verb: "create", Resource: "configmaps", Ref: tuitest.Ref("ConfigMap", "demo", "settings"), Client: "console"})
	h := tape.History()
	stream := h.Stream()
	for pos := uint64(0); pos < stream.Len(); pos++ {
		e := stream.Get(pos)
		stage, ok := e.Payload.(*trace.Stage)
		if !ok || stage.Stage != trace.StageStorage {
			continue
		}
		s := h.At(pos)
		p := motion.New(motion.Full)
		p.Catch([]*trace.Event{e}, s, motion.Live(0.02))
		p.Tick(350 * time.Millisecond)
		if l := p.Shot().Pulses; len(l) != 1 || l[0].From != scene.APIServer || l[0].To != "member/a" || l[0].Label != "put" {
			t.Errorf("a write that goes to the store is %+v", l)
		}
		moment(t, "pulse-put", pane.Frame{S: s, H: h, Motion: p.Shot()})
		return
	}
	t.Fatal("no request came to the store")
}

// The first rows of the table of pulses, halfway.
func TestPulses(t *testing.T) {
	h := tuitest.Calm(3, 3).History()
	s := h.Latest()
	write := &trace.RaftMessage{Serial: 9, RPC: "AppendEntries", From: "a", To: "b", Term: 1, Entries: []trace.RaftEntry{{Index: 40, Term: 1}}}
	reply := *write
	reply.Answer, reply.OK, reply.Match = true, true, 40
	api, member := trace.Lane{Component: trace.CompAPIServer}, trace.Lane{Component: trace.CompMember, Instance: "a"}
	for name, e := range map[string]*trace.Event{
		"command":  {Kind: trace.CommandStart, Lane: trace.Lane{Component: trace.CompConsole}, Payload: &trace.Command{Line: "kubectl apply -f hello.yaml"}},
		"request":  {Kind: trace.RequestReceived, Lane: api, Payload: &trace.Request{Request: 900, Verb: "create", Resource: "deployments", Client: "console"}},
		"stage":    {Kind: trace.RequestStage, Lane: api, Payload: &trace.Stage{Request: 900, Stage: trace.StageAuthorization, Verdict: "pass"}},
		"storage":  {Kind: trace.StoreRefused, Lane: api, Payload: &trace.StoreError{Op: "txn"}},
		"webhook":  {Kind: trace.WebhookCalled, Lane: api, Payload: &trace.WebhookCall{Webhook: "sidecar-injector", Allowed: true}},
		"forward":  {Kind: trace.RaftForward, Lane: member, Payload: &trace.RaftMessage{From: "b", To: "a", RPC: "Forward", Term: 1}},
		"disk":     {Kind: trace.RaftDurable, Lane: member, Payload: &trace.RaftLog{Member: "a", First: 40, Last: 40}},
		"send":     {Kind: trace.RaftSend, Lane: member, Payload: write},
		"reply":    {Kind: trace.RaftReply, Lane: member, Payload: &reply},
		"fault":    {Kind: trace.FaultInjected, Payload: &trace.Fault{Fault: "crash", Target: "member/a"}},
		"fault-on": {Kind: trace.FaultInjected, Payload: &trace.Fault{Fault: "stop", Target: "node/node-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := motion.New(motion.Full)
			p.Catch([]*trace.Event{e}, s, motion.Live(0.02))
			if name != "fault-on" {
				p.Tick(350 * time.Millisecond)
			}
			moment(t, "pulse-"+name, pane.Frame{S: s, H: h, Motion: p.Shot()})
		})
	}
}
