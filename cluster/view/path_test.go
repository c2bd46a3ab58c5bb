package view

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/trace"
)

// A conflict that a controller meets on the way is no station, as it reads again and goes on;
// one that answers the command itself is where the command ends.
func TestOnlyOnesOwnConflictIsAStation(t *testing.T) {
	p := NewPath(trace.ID{Seq: 1})
	n := uint64(0)
	take := func(kind trace.Kind, payload any, cause uint64) bool {
		n++
		return p.Take(&trace.Event{ID: trace.ID{Seq: n}, Kind: kind, Payload: payload, Causes: []trace.ID{{Seq: cause}}})
	}
	conflict := func(request uint64) *trace.Response {
		return &trace.Response{Request: request, Verb: "update", Code: 409, Reason: string(metav1.StatusReasonConflict)}
	}
	take(trace.CommandStart, &trace.Command{Line: "kubectl replace -f web.yaml"}, 0)
	take(trace.RequestReceived, &trace.Request{Request: 7, Verb: "update"}, 1)
	if !take(trace.RequestDone, conflict(7), 2) {
		t.Error("the command was refused, and that is no station")
	}

	p = NewPath(trace.ID{Seq: 4})
	take(trace.CommandStart, &trace.Command{Line: "kubectl apply -f web.yaml"}, 0)
	take(trace.ReconcileAction, &trace.Action{}, 4)
	take(trace.RequestReceived, &trace.Request{Request: 8, Verb: "update"}, 5)
	if take(trace.RequestDone, conflict(8), 6) {
		t.Error("a controller met a conflict, and that is a station")
	}
	if n++; !p.Take(&trace.Event{ID: trace.ID{Seq: n}, Kind: trace.RequestDone, Causes: []trace.ID{{Seq: 6}}, Payload: &trace.Response{Request: 8, Verb: "create", Code: 403, Reason: "Forbidden"}}) {
		t.Error("a controller was refused, and that is no station")
	}
}
