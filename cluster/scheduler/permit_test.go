package scheduler_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// holds has every pod wait at Permit, for so long.
type holds struct {
	name string
	time time.Duration
}

func (h holds) Name() string { return h.name }

func (h holds) Permit(*framework.CycleState, *corev1.Pod, string) (*framework.Status, time.Duration) {
	return framework.NewStatus(h.name, framework.Wait), h.time
}

// told is what became of a pod at Permit, and the queues that it moved to.
func told(b *clienttest.Bench) (all []string) {
	for _, ev := range b.Events {
		switch p := ev.Payload.(type) {
		case *trace.PermitWait:
			line := ev.At.Round(time.Second).String() + " " + p.State
			if p.By != "" {
				line += " by " + p.By
			}
			for _, pl := range p.Pending {
				line += " " + pl.Plugin + " until " + pl.Until.Round(time.Second).String()
			}
			all = append(all, line)
		case *trace.SchedQueueMove:
			all = append(all, ev.At.Round(time.Second).String()+" "+p.To+" "+p.Event)
		}
	}
	return all
}

// A pod waits for all plugins; the one with the shortest time rejects it, and none has more than a quarter of an hour.
func TestSeveralPluginsWaitAtPermit(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		e := start(b, scheduler.Config{Plugins: []framework.Plugin{holds{"Long", time.Hour}, holds{"Short", time.Minute}}})
		e.do(task, strings.Fields("node n1 cpu=1"))
		e.do(task, strings.Fields("pod a"))
		task.Sleep(2 * time.Minute)
	})
	want := "0s active UnscheduledPodAdd; 0s waits Long until 15m0s Short until 1m0s; 1m0s rejected by Short; 1m0s unschedulable ScheduleAttemptFailure"
	if got := strings.Join(told(b)[:4], "; "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Allowed by hand, a pod goes on once no plugin is left; the trace says which allowed it.
func TestAllowAtPermit(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		e := start(b, scheduler.Config{Plugins: []framework.Plugin{holds{"Long", time.Hour}, holds{"Short", time.Minute}}})
		e.do(task, strings.Fields("node n1 cpu=1"))
		e.do(task, strings.Fields("pod a"))
		task.Sleep(10 * time.Second)
		if waiting := e.sched.Waiting(); len(waiting) != 1 || waiting[0].Pod != "demo/a" || len(waiting[0].Pending) != 2 {
			t.Errorf("waiting: %+v", waiting)
		}
		if !e.sched.Allow("demo/a", nil) || e.sched.Allow("demo/a", nil) || e.sched.Reject("demo/a", "no", nil) || e.sched.Allow("demo/b", nil) {
			t.Error("a pod is allowed once, and only one that waits")
		}
		task.Sleep(time.Second)
		if len(e.sched.Waiting()) != 0 || e.pod("a").Spec.NodeName != "n1" {
			t.Error("the pod is not bound")
		}
	})
	want := "0s active UnscheduledPodAdd; 0s waits Long until 15m0s Short until 1m0s; 10s allowed by Long Short until 1m0s; 10s allowed by Short"
	if got := strings.Join(told(b), "; "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// What happens while a pod waits counts when it is rejected: a node that came meanwhile could be
// one that the plugin lets it have.
func TestEventsOfTheWaitingAreNotLost(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		e := start(b, scheduler.Config{Plugins: []framework.Plugin{holds{"Picky", time.Hour}}})
		e.do(task, strings.Fields("node n1 cpu=1"))
		e.do(task, strings.Fields("pod a"))
		task.Sleep(10 * time.Second)
		e.do(task, strings.Fields("node n2 cpu=1"))
		e.do(task, strings.Fields("pod b"))
		task.Sleep(10 * time.Second)
		e.sched.Allow("demo/b", nil)
		task.Sleep(10 * time.Second)
		e.sched.Reject("demo/a", "not there", nil)
		task.Sleep(500 * time.Millisecond)
	})
	moved := false
	for _, line := range told(b) {
		moved = moved || line == "30s backoff ScheduleAttemptFailure"
	}
	if !moved {
		t.Errorf("%q", told(b))
	}
}
