package scheduler_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// panicky is a plugin that panics at pods by their names.
type panicky struct{}

func (panicky) Name() string { return "Panicky" }

func at(pod *corev1.Pod, point string) {
	if pod.Name == strings.ToLower(point) {
		made := map[string]map[string]int{}
		made[pod.Namespace][pod.Name] = 1
	}
}

func (panicky) PreEnqueue(pod *corev1.Pod) *framework.Status { at(pod, "PreEnqueue"); return nil }

func (panicky) Filter(_ *framework.CycleState, pod *corev1.Pod, _ *framework.NodeInfo) *framework.Status {
	if at(pod, "Filter"); pod.Name == "hint" {
		return framework.NewStatus("Panicky", framework.Unschedulable, "not yet")
	}
	return nil
}

func (panicky) Score(_ *framework.CycleState, pod *corev1.Pod, _ *framework.NodeInfo) int64 {
	at(pod, "Score")
	return 0
}

func (panicky) Reserve(_ *framework.CycleState, pod *corev1.Pod, _ string) *framework.Status {
	at(pod, "Reserve")
	return nil
}
func (panicky) Unreserve(*sim.Task, *framework.CycleState, *corev1.Pod, string) {}

func (panicky) PreBind(_ *sim.Task, _ *framework.CycleState, pod *corev1.Pod, _ string) *framework.Status {
	at(pod, "PreBind")
	return nil
}
func (panicky) PostBind(_ *framework.CycleState, pod *corev1.Pod, _ string) { at(pod, "PostBind") }

func (panicky) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{{
		Event: framework.ClusterEvent{Resource: framework.Node, Action: framework.Add},
		Hint:  func(pod *corev1.Pod, _, _ runtime.Object) bool { at(pod, "Hint"); return true },
	}}
}

// A pod at which a plugin panics, wherever that is, is named in the trace and in an Event, and tried
// again after a back-off that grows; it holds no room, and the pods after it are scheduled. A
// scheduler that finds it stored does the same.
func TestAPanicIsOfOnePod(t *testing.T) {
	points := []string{"preenqueue", "filter", "score", "reserve", "prebind", "postbind", "hint"}
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		e := start(b, scheduler.Config{Plugins: []framework.Plugin{panicky{}}})
		e.do(task, strings.Fields("node n1 cpu=8 memory=4Gi"))
		e.do(task, strings.Fields("node n2 cpu=8 memory=4Gi"))
		for _, name := range points {
			e.do(task, strings.Fields("pod "+name+" cpu=1"))
		}
		task.Sleep(time.Minute)
		for _, name := range []string{"filter", "score", "reserve", "prebind"} {
			c := condition(e.pod(name))
			if e.pod(name).Spec.NodeName != "" || c.Reason != corev1.PodReasonSchedulerError || !strings.Contains(c.Message, "default-scheduler: panic: assignment to entry in nil map (scheduler_test.at)") {
				t.Errorf("%s: %+v", name, c)
			}
		}
		e.do(task, strings.Fields("pod good cpu=7"))
		e.do(task, strings.Fields("pod whole cpu=8"))
		task.Sleep(time.Minute)
		e.p.Kill()
		e.p = b.Kernel.NewProcess(trace.Lane{Component: trace.CompScheduler})
		scheduler.Start(e.p, e.c, scheduler.Config{NoElection: true, Plugins: []framework.Plugin{panicky{}}})
		task.Sleep(10 * time.Second)
		e.do(task, strings.Fields("node n3 cpu=8 memory=4Gi"))
		e.do(task, strings.Fields("node n4 cpu=8 memory=4Gi"))
		e.do(task, strings.Fields("pod later cpu=8"))
		task.Sleep(time.Minute)
		for _, name := range []string{"good", "whole", "later", "postbind"} {
			if e.pod(name).Spec.NodeName == "" {
				t.Errorf("%s is not bound: %+v", name, condition(e.pod(name)))
			}
		}
	})
	panics, warned := map[string]int{}, map[string]int{}
	for _, e := range b.Events {
		switch p := e.Payload.(type) {
		case *trace.Panicked:
			panics[e.Object.Name]++
		case *trace.KubeEvent:
			if p.Type == corev1.EventTypeWarning && strings.Contains(p.Message, "nil map") {
				warned[p.Regarding.Name]++
			}
		}
	}
	for _, name := range points {
		most := 50 // in three minutes, with pauses of up to ten seconds, and twice
		if panics[name] == 0 || panics[name] > most || name != "postbind" && warned[name] == 0 {
			t.Errorf("%s: %d panics, %d Warnings", name, panics[name], warned[name])
		}
	}
}
