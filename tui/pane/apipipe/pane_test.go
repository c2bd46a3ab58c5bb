package apipipe

import (
	"fmt"
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/action"
	"kviz/tui/keymap"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// The pane at moments of the story that its package tells.
func TestPane(t *testing.T) {
	tuitest.Frames(t, pane.Make(New),
		tuitest.Case{Name: "stage", W: 76, H: 30, Kind: trace.RequestStage, N: 60},
		tuitest.Case{Name: "refused", W: 110, H: 36, Moves: []string{keymap.Down, keymap.Down, keymap.Down, keymap.Down}},
	)
}

// What the pane says of a file that is not what is in force.
func TestUnreadFile(t *testing.T) {
	one, two := &trace.Encryption{Hash: "1"}, &trace.Encryption{Hash: "2"}
	watched := &trace.Encryption{Hash: "1", Reload: true}
	for _, c := range []struct {
		written, loaded *trace.Encryption
		want            string
	}{
		{nil, nil, ""},
		{one, one, ""},
		{one, nil, "The file was changed; the API server has not read it yet: it does when it starts."},
		{two, one, "The file was changed; the API server has not read it yet: it does when it starts."},
		{two, watched, "The file was changed; the API server has not read it yet: it looks every minute."},
		{nil, one, "The file was removed; what is above is in force until the API server starts again."},
		{nil, watched, "The file was removed; what is above is in force until the API server starts again."},
	} {
		if got := unread(&view.Encryption{Written: c.written, Loaded: c.loaded}); got != c.want {
			t.Errorf("written %v, in force %v: %q, want %q", c.written, c.loaded, got, c.want)
		}
	}
}

// Queues that have filled up, and an audit log whose disk is full.
func TestFlows(t *testing.T) {
	tape := tuitest.Story()
	tell := func(kind trace.Kind, payload any) { tape.Emit(trace.CompAPIServer, "", kind, trace.Ref{}, payload) }
	tell(trace.AuditChanged, &trace.Audit{What: "written", Hash: "h", Rules: []string{"None: coordination.k8s.io/leases", "Metadata: secrets"}})
	tell(trace.AuditChanged, &trace.Audit{What: "loaded", Hash: "h", Rules: []string{"None: coordination.k8s.io/leases", "Metadata: secrets"}})
	tell(trace.AuditChanged, &trace.Audit{What: "failed", Error: "write /var/log/kubernetes/audit.log: no space left on device"})
	tell(trace.FlowConfig, &trace.FlowLimits{Total: 30, Why: trace.FlowByDemand, Levels: []trace.FlowLimit{
		{Level: "catch-all", Limit: 1, Nominal: 1, Min: 1, Max: 31},
		{Level: "global-default", Limit: 20, Queues: 128, Nominal: 3, Min: 1, Max: 33, Wanted: 60},
		{Level: "system", Limit: 3, Queues: 64, Nominal: 4, Min: 3, Max: 34},
		{Level: "workload-low", Limit: 5, Queues: 128, Nominal: 13, Min: 1, Max: 43},
	}})
	wait := func(level, flow string, queue, n int) {
		for range n {
			tell(trace.FlowQueued, &trace.FlowWait{Schema: level, Level: level, Flow: flow, Queue: queue, Limit: 20, Nominal: 3, InUse: 20})
		}
	}
	wait("global-default", "alice", 62, 40)
	wait("global-default", "alice", 7, 12)
	wait("global-default", "bob", 116, 1)
	wait("workload-low", "system:serviceaccount:demo:robot", 3, 2)
	tape.Request(tuitest.Call{Verb: "list", Resource: "pods", Client: "storm", User: "alice", Refused: trace.StageFairness, Why: "the queues of its flow are full", Code: 429})
	for n := range uint64(2) {
		tell(trace.RequestReceived, &trace.Request{Request: 9000 + n, Verb: "list", Path: "/api/v1/pods", Resource: "pods", Client: "robot", User: "system:serviceaccount:demo:robot"})
		tell(trace.RequestStage, &trace.Stage{Request: 9000 + n, Stage: trace.StageFairness, Verdict: "pass", Flow: &trace.FlowWait{Level: "workload-low", Queue: 3, Limit: 5, Nominal: 13, Outcome: "served"}})
		tell(trace.RequestDone, &trace.Response{Request: 9000 + n, Verb: "list", Code: 200})
	}
	h := tape.History()
	tuitest.Golden(t, "flows", tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), 104, 44)))
}

// Who watches, and how far each has got, at the sizes that every pane is looked at.
func TestWatches(t *testing.T) {
	h := tuitest.WatchStory().History()
	for _, size := range [][2]int{{78, 22}, {118, 38}} {
		tuitest.Golden(t, fmt.Sprintf("watches-%d", size[0]), tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), size[0], size[1], "do api.part")))
	}
}

// Events that are held on their way to a client and one that it lost, with what its cache
// has beside what is stored; and what the keys do to the one under the cursor.
func TestHeldEvents(t *testing.T) {
	tape := tuitest.WatchStory()
	var number uint64
	for _, w := range tape.History().Latest().Watchers() {
		if w.Client == "controller-manager" && w.Resource == "pods" {
			number = w.Watch.Watch
		}
	}
	tell := func(kind trace.Kind, pod, what string, revision int64, unknown ...trace.FieldDiff) {
		tape.Emit(trace.CompAPIServer, "", kind, tuitest.Ref("Pod", "demo", pod), &trace.WatchEvent{Watch: number, Client: "controller-manager", Type: what, Revision: revision, Unknown: unknown})
	}
	const target = "informer/controller-manager/pods"
	tell(trace.WatchLost, "gone", "DELETED", 70)
	tape.Emit(trace.CompSimulation, "", trace.FaultInjected, trace.Ref{}, &trace.Fault{Fault: "hold", Target: target})
	tell(trace.WatchHeld, "late", "MODIFIED", 71, trace.FieldDiff{Path: "metadata.resourceVersion", From: `"60"`, To: `"71"`}, trace.FieldDiff{Path: "status.phase", From: `"Pending"`, To: `"Running"`})
	tell(trace.WatchHeld, "late", "MODIFIED", 72, trace.FieldDiff{Path: "status.phase", From: `"Running"`, To: `"Succeeded"`})
	h := tape.History()
	for _, size := range [][2]int{{78, 26}, {118, 30}} {
		tuitest.Golden(t, fmt.Sprintf("held-%d", size[0]), tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), size[0], size[1], "do api.part")))
	}

	f := &pane.Frame{S: h.Latest(), H: h}
	held := pane.Subject{Target: target, Value: h.Latest().Watcher(number).Held()[1]}
	for _, c := range []struct {
		key, want string
		on        pane.Subject
	}{
		{"api.hold", "release " + target, held},
		{"api.hold", "hold informer/scheduler/pods", pane.Subject{Target: "informer/scheduler/pods"}},
		{"api.lose", "drop " + target + " demo/late", held},
		{"api.delay", "delay " + target + " demo/late", held},
		{"api.lose", "", pane.Subject{Target: "member/a"}},
	} {
		got := ""
		if a, ok := New().Do(c.key, c.on, f).(action.Fault); ok {
			got = strings.TrimSpace(a.Fault.Name + " " + a.Target + " " + strings.Join(a.Args, " "))
		}
		if got != c.want {
			t.Errorf("%s on %s does %q, want %q", c.key, c.on.Target, got, c.want)
		}
	}
}

// A request for an aggregated API is sent on after authorization; one whose server is
// away is refused there.
func TestSentOn(t *testing.T) {
	tape := tuitest.Story()
	tell := func(kind trace.Kind, payload any) { tape.Emit(trace.CompAPIServer, "", kind, trace.Ref{}, payload) }
	for n, st := range []trace.Stage{
		{Verdict: "pass", By: "Service kube-system/metrics-server, 10.244.1.7:4443", Note: "APIService v1beta1.metrics.k8s.io leads to another server: sent there as X-Remote-User jane; it answered 200."},
		{Verdict: "refuse", By: "Service kube-system/metrics-server", Code: 503, Note: "Service kube-system/metrics-server has no ready endpoint."},
	} {
		id := 9000 + uint64(n)
		tell(trace.RequestReceived, &trace.Request{Request: id, Verb: "list", Path: "/apis/metrics.k8s.io/v1beta1/nodes", Resource: "nodes", Client: "kubectl", User: "jane"})
		for _, before := range trace.Stages()[:5] {
			tell(trace.RequestStage, &trace.Stage{Request: id, Stage: before, Verdict: "pass", Note: "It may pass."})
		}
		st.Request, st.Stage = id, trace.StageAggregator
		tell(trace.RequestStage, &st)
		tell(trace.RequestDone, &trace.Response{Request: id, Verb: "list", Code: max(st.Code, 200)})
	}
	h := tape.History()
	tuitest.Golden(t, "sent-on", tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), 118, 24, "do api.reads")))
}
