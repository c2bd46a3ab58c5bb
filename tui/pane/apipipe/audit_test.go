package apipipe

import (
	"fmt"
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/tui/tuitest"
)

// asking is a story of several users' requests under an audit policy.
func asking() *view.History {
	tape := tuitest.Story()
	for _, what := range []string{"written", "loaded"} {
		tape.Emit(trace.CompAPIServer, "", trace.AuditChanged, trace.Ref{}, &trace.Audit{What: what, Hash: "h", Rules: []string{"None: get, list, watch", "Request: secrets", "Metadata: everything else"}})
	}
	n := uint64(9000)
	ask := func(user, verb, resource, ns, name string, code int, level, rule string) {
		n++
		tape.Emit(trace.CompAPIServer, "", trace.RequestReceived, trace.Ref{}, &trace.Request{Request: n, Verb: verb, Path: "/api/v1/" + resource, Resource: resource, Namespace: ns, Name: name, User: user, Client: "kubectl"})
		tape.Emit(trace.CompAPIServer, "", trace.RequestStage, trace.Ref{}, &trace.Stage{Request: n, Stage: trace.StageAudit, Verdict: "pass", By: rule, Level: level})
		if code > 0 {
			tape.Emit(trace.CompAPIServer, "", trace.RequestDone, trace.Ref{}, &trace.Response{Request: n, Verb: verb, Code: code})
		}
	}
	ask("jane", "list", "pods", "demo", "", 200, "None", "rule 1")
	ask("jane", "get", "secrets", "demo", "password", 403, "Request", "rule 2")
	ask("system:serviceaccount:demo:robot", "create", "configmaps", "demo", "seen", 201, "Metadata", "rule 3")
	ask("bob", "delete", "nodes", "", "node-1", 0, "Metadata", "rule 3")
	return tape.History()
}

// Who asked for what, at the sizes that every pane is looked at.
func TestAudit(t *testing.T) {
	h := asking()
	for _, size := range [][2]int{{78, 22}, {118, 38}} {
		tuitest.Golden(t, fmt.Sprintf("audit-%d", size[0]), tuitest.Planes(tuitest.Pane(New(), h, h.Latest(), size[0], size[1], "do api.part", "do api.part", "do api.part")))
	}
}
