package record_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/record"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: "u-1"}}
}

// stored lists the Event objects as kubectl get events does.
func stored(b *clienttest.Bench) string {
	var out strings.Builder
	for _, o := range b.Objects(client.Events) {
		e := o.(*corev1.Event)
		fmt.Fprintf(&out, "%s x%d %s %s: %s (%s/%s)\n", e.Name, e.Count, e.Type, e.Reason, e.Message, e.InvolvedObject.Kind, e.InvolvedObject.Name)
	}
	return out.String()
}

func TestCountsCombinesAndCutsOff(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		r := record.New(t.Process(), b.Client(), "kubelet")
		for range 3 { // the same again: counted
			r.Event(t, pod("a"), corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container")
			t.Sleep(time.Second)
		}
		for n := range 12 { // another message each time: combined from the tenth on
			r.Event(t, pod("b"), corev1.EventTypeNormal, "Pulled", "attempt %d", n)
			t.Sleep(time.Second)
		}
		for range 40 { // a flood: cut off after 25
			r.Event(t, pod("c"), corev1.EventTypeWarning, "Unhealthy", "probe failed")
		}
		t.Sleep(time.Minute)
	})
	clienttest.Golden(t, "correlate.txt", stored(b))
}

// Events written while the server is away arrive later; a component never waits.
func TestServerAwayDelaysEventsOnly(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		r := record.New(task.Process(), b.Client(), "kubelet")
		b.SetDown(true)
		before := task.Elapsed()
		r.Event(task, pod("a"), corev1.EventTypeNormal, "Started", "Container started")
		if task.Elapsed() != before {
			t.Error("Event took time")
		}
		task.Sleep(15 * time.Second)
		b.SetDown(false)
		task.Sleep(time.Minute)
	})
	if n := len(b.Objects(client.Events)); n != 1 {
		t.Errorf("%d Events stored, want 1", n)
	}
	if e := b.Events[0]; e.Kind != trace.EventRecorded || e.Object.Name != "a" {
		t.Errorf("first event is %s about %s", e.Kind, e.Object)
	}
}
