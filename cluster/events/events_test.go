package events_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/events"
	"kviz/cluster/sim"
)

func pod(name, revision string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: "u-1", ResourceVersion: revision}}
}

// stored lists the Events.
func stored(b *clienttest.Bench) string {
	var out strings.Builder
	for _, o := range b.Objects(client.NewEvents) {
		e := o.(*eventsv1.Event)
		fmt.Fprintf(&out, "%s %s %s by %s %s: %s (%s@%s", e.Type, e.Reason, e.Action, e.ReportingController, e.ReportingInstance, e.Note, e.Regarding.Name, e.Regarding.ResourceVersion)
		if e.Related != nil {
			fmt.Fprintf(&out, " and %s", e.Related.Name)
		}
		fmt.Fprintf(&out, ") at %s", e.EventTime.UTC().Format(time.TimeOnly))
		if e.Series != nil {
			fmt.Fprintf(&out, ", %d times until %s", e.Series.Count, e.Series.LastObservedTime.UTC().Format(time.TimeOnly))
		}
		out.WriteString("\n")
	}
	return out.String()
}

// The second time makes a series, the third is only counted; what was counted is written
// every half hour, and after six minutes of silence, and then it is another Event. Another
// state of the object, or another related one, is another Event too.
func TestSeries(t *testing.T) {
	var states strings.Builder
	clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		r := events.New(t.Process(), b.Client(), "default-scheduler", "control-plane")
		fail := func(p *corev1.Pod) {
			r.Eventf(t, p, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", "0/%d nodes are available", 3)
			t.Sleep(time.Second)
		}
		show := func(what string) {
			fmt.Fprintf(&states, "# %s: %d creations, %d patches\n%s\n", what, b.Requests["create events"], b.Requests["patch events"], stored(b))
		}
		fail(pod("web", "7"))
		fail(pod("web", "8"))
		show("two states of a pod")
		fail(pod("web", "8"))
		fail(pod("web", "8"))
		fail(pod("web", "8"))
		show("the second four times")
		r.Eventf(t, pod("low", "9"), pod("high", "10"), corev1.EventTypeNormal, "Preempted", "Preempting", "Preempted by pod on node n1")
		for range 40 {
			t.Sleep(50 * time.Second)
			fail(pod("web", "8"))
		}
		show("forty more")
		t.Sleep(13 * time.Minute)
		show("thirteen minutes later")
		fail(pod("web", "8"))
		show("again")
	})
	clienttest.Golden(t, "series.txt", states.String())
}

// What is recorded while the server is away arrives later.
func TestServerAway(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		r := events.New(task.Process(), b.Client(), "default-scheduler", "control-plane")
		b.SetDown(true)
		r.Eventf(task, pod("a", "1"), nil, corev1.EventTypeNormal, "Scheduled", "Binding", "Successfully assigned")
		task.Sleep(15 * time.Second)
		b.SetDown(false)
		task.Sleep(time.Minute)
	})
	if n := len(b.Objects(client.NewEvents)); n != 1 {
		t.Errorf("%d Events stored, want 1", n)
	}
}
