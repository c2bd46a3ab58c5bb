package view_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// An Event that is recorded again counts up: it is one Event, also where others were recorded in between, and no other is lost
// for it.
func TestAnEventThatComesAgainIsOne(t *testing.T) {
	stream := trace.NewStream(0)
	seq := uint64(0)
	emit := func(k trace.Kind, ref trace.Ref, payload any) {
		seq++
		stream.Append(&trace.Event{ID: trace.ID{Seq: seq}, At: time.Duration(seq) * time.Second, Kind: k, Object: ref, Payload: payload})
	}
	ref := trace.Ref{APIVersion: "v1", Kind: "Pod", Namespace: "demo", Name: "web"}
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"}}
	emit(trace.StoreCommit, ref, &trace.Commit{Revision: 2, Changes: []trace.KeyChange{{Key: "/registry/pods/demo/web", Object: ref, Value: &trace.Object{Value: pod}}}})
	say := func(reason string, n int) {
		emit(trace.EventRecorded, ref, &trace.KubeEvent{Type: "Normal", Reason: reason, Message: reason, From: "kubelet", Regarding: ref, Count: int32(n)})
	}
	say("Scheduled", 1)
	for n := 1; n <= 20; n++ {
		say("Pulling", n)
		say("Failed", n)
		say("BackOff", n)
	}
	h := view.NewHistory(stream)
	h.CatchUp(0)
	got := ""
	for _, e := range h.Latest().KubeEventsAbout(ref) {
		got += fmt.Sprintf("%s ×%d at %s; ", e.Reason, e.Count, e.At)
	}
	if want := "Scheduled ×1 at 2s; Pulling ×20 at 1m0s; Failed ×20 at 1m1s; BackOff ×20 at 1m2s; "; got != want {
		t.Errorf("of the pod it is said %q, want %q", got, want)
	}
}
