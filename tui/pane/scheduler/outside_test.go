package scheduler

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/trace"
	"kviz/tui/pane"
	"kviz/tui/tuitest"
)

// A cluster without a scheduler of its own: before anything is bound, and when a real kube-scheduler and somebody
// with kubectl have bound pods.
func TestOthersDecide(t *testing.T) {
	tape := tuitest.NewTape()
	tape.Emit(trace.CompSimulation, "", trace.RunStart, trace.Ref{}, &trace.Run{Store: "mvcc", Nodes: 3, Without: []string{trace.CompScheduler}})
	tuitest.FramesOf(t, tape, pane.Make(New), tuitest.Case{Name: "without", W: 100, H: 16})
	for i, b := range []trace.Request{
		{Name: "web-1", User: "system:kube-scheduler", Client: "kube-scheduler", Agent: "kube-scheduler/v1.37.1"},
		{Name: "web-2", User: "kubernetes-admin", Client: "kubectl"},
	} {
		b.Request, b.Verb, b.Resource, b.Subresource, b.Namespace = uint64(i+1), "create", "pods", "binding", "demo"
		ref := tuitest.Ref("Pod", "demo", b.Name)
		received := tape.Emit(trace.CompAPIServer, "", trace.RequestReceived, ref, &b)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: b.Name}, Spec: corev1.PodSpec{NodeName: "node-2"}}
		tape.Emit(trace.CompStore, "", trace.StoreCommit, ref, &trace.Commit{
			Revision: int64(i + 1), Changes: []trace.KeyChange{{Object: ref, Version: 2, Value: &trace.Object{Value: pod}}},
		}, received)
		tape.Emit(trace.CompAPIServer, "", trace.RequestDone, ref, &trace.Response{Request: b.Request, Code: 201}, received)
	}
	tuitest.FramesOf(t, tape, pane.Make(New),
		tuitest.Case{Name: "outside", W: 100, H: 16},
		tuitest.Case{Name: "outside-narrow", W: 44, H: 20},
	)
}
