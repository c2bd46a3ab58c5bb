package scheduler

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"kviz/cluster/scheduler/configuration"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/scheduler/plugins/noderesources"
	"kviz/cluster/scheduler/plugins/queuesort"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// moves writes down what the queue tells the trace.
type moves struct{ lines []string }

func (m *moves) Append(e *trace.Event) {
	if p, ok := e.Payload.(*trace.SchedQueueMove); ok {
		m.lines = append(m.lines, fmt.Sprintf("%v %s %s->%s %s", e.At, p.Pod, p.From, p.To, p.Event))
	}
}

// withQueue runs fn with the default plugins' queue.
func withQueue(t interface{ Fatal(...any) }, fn func(*sim.Task, *schedulingQueue)) []string {
	m := &moves{}
	k := sim.New(sim.Config{Seed: 1, Sink: m})
	k.NewProcess(trace.Lane{Component: trace.CompScheduler}).Go("test", func(task *sim.Task) {
		defer k.Stop()
		p, err := newProfile(&Scheduler{cache: newCache()}, &configuration.Default().Profiles[0], nil)
		if err != nil {
			panic(err)
		}
		q := newSchedulingQueue([]*profile{p}, usual)
		task.Process().Go("queue", q.flush)
		fn(task, q)
	})
	if err := k.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	return m.lines
}

func podNamed(name string, priority int32) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{Priority: &priority, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		}}}},
	}
}

// usual are the back-offs of a scheduler without a configuration.
var usual = backoffs{time.Second, 10 * time.Second}

var rejectedByFit = map[string]bool{noderesources.Name: true}

var (
	podDelete = framework.ClusterEvent{Resource: framework.AssignedPod, Action: framework.Delete}
	podGone   = &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}
)

func TestBackoffDoublesFromOneSecondToTen(t *testing.T) {
	for count, want := range []time.Duration{1: 1, 2: 2, 3: 4, 4: 8, 5: 10, 6: 10, 60: 10} {
		if got := usual.after(count); count > 0 && want > 0 && got != want*time.Second {
			t.Errorf("after %d: %v, want %v", count, got, want*time.Second)
		}
	}
}

// A pod that met an error sits out its back-off even when nothing else is
// there to do.
func TestErrorBackoff(t *testing.T) {
	var at []time.Duration
	withQueue(t, func(task *sim.Task, q *schedulingQueue) {
		q.add(task, podNamed("a", 0), "test")
		for range 6 {
			info := q.pop(task)
			at = append(at, task.Elapsed())
			q.returned(task, info)
		}
	})
	want := []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second, 15 * time.Second, 25 * time.Second}
	if !slices.Equal(at, want) {
		t.Errorf("tried at %v, want %v", at, want)
	}
}

// A rejected pod that an event brought back waits in the back-off queue while
// others are active, and is taken from it early when none is.
func TestBackoffIsCutShortWhenIdle(t *testing.T) {
	lines := withQueue(t, func(task *sim.Task, q *schedulingQueue) {
		q.add(task, podNamed("a", 0), "test")
		info := q.pop(task)
		info.UnschedulablePlugins = rejectedByFit
		q.returned(task, info)
		q.add(task, podNamed("b", 0), "test")
		q.happened(task, podDelete, podGone, nil)
		b := q.pop(task)
		if b.Key != "demo/b" {
			t.Errorf("%s before b, which is active", b.Key)
		}
		q.done(b)
		if got := q.pop(task).Key; got != "demo/a" || task.Elapsed() != 0 {
			t.Errorf("%s at %v", got, task.Elapsed())
		}
	})
	want := []string{
		"0s demo/a ->active test",
		"0s demo/a ->unschedulable ScheduleAttemptFailure",
		"0s demo/b ->active test",
		"0s demo/a unschedulable->backoff AssignedPodDelete",
		"0s demo/a backoff->active PopFromBackoffQ",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("moves %q", lines)
	}
}

// stubborn is a filter that does not say which events could change its mind.
type stubborn struct{}

func (stubborn) Name() string { return "Stubborn" }

func (stubborn) Filter(*framework.CycleState, *corev1.Pod, *framework.NodeInfo) *framework.Status {
	return nil
}

// A pod that was rejected by a plugin that names no events is tried again after any.
func TestAnyEventBringsBackWhatAPluginWithoutEventsRejected(t *testing.T) {
	labelled := framework.ClusterEvent{Resource: framework.Node, Action: framework.UpdateNodeLabel}
	lines := withQueue(t, func(task *sim.Task, _ *schedulingQueue) {
		p := &profile{name: corev1.DefaultSchedulerName, queueSort: &queuesort.PrioritySort{}, all: []framework.Plugin{stubborn{}}}
		q := newSchedulingQueue([]*profile{p}, usual)
		q.add(task, podNamed("a", 0), "test")
		info := q.pop(task)
		info.UnschedulablePlugins = map[string]bool{stubborn{}.Name(): true}
		q.returned(task, info)
		q.happened(task, labelled, &corev1.Node{}, &corev1.Node{})
	})
	if last := lines[len(lines)-1]; last != "0s demo/a unschedulable->backoff NodeUpdateNodeLabel" {
		t.Errorf("moves %q", lines)
	}
}

// What happens during an attempt counts: the pod does not fall asleep over it.
func TestEventDuringTheAttempt(t *testing.T) {
	lines := withQueue(t, func(task *sim.Task, q *schedulingQueue) {
		q.add(task, podNamed("a", 0), "test")
		info := q.pop(task)
		q.happened(task, podDelete, podGone, nil)
		info.UnschedulablePlugins = rejectedByFit
		q.returned(task, info)
	})
	if last := lines[len(lines)-1]; last != "0s demo/a ->backoff ScheduleAttemptFailure" {
		t.Errorf("last move %q", last)
	}
}

func TestUnschedulablePodGetsAnotherChanceAfterFiveMinutes(t *testing.T) {
	lines := withQueue(t, func(task *sim.Task, q *schedulingQueue) {
		task.Sleep(7 * time.Second)
		q.add(task, podNamed("a", 0), "test")
		info := q.pop(task)
		info.UnschedulablePlugins = rejectedByFit
		q.returned(task, info)
		q.pop(task)
	})
	if last := lines[len(lines)-1]; last != "5m30s demo/a unschedulable->active UnschedulableTimeout" {
		t.Errorf("last move %q", last)
	}
}

func TestPriorityOvertakes(t *testing.T) {
	var order []string
	withQueue(t, func(task *sim.Task, q *schedulingQueue) {
		for i, p := range []int32{0, 5, 0, 100, 5} {
			q.add(task, podNamed(fmt.Sprint(i), p), "test")
			task.Sleep(time.Millisecond)
		}
		for range 5 {
			pod := q.pop(task)
			order = append(order, pod.Pod.Name)
			q.done(pod)
		}
	})
	if !slices.Equal(order, []string{"3", "1", "4", "0", "2"}) {
		t.Errorf("order %v", order)
	}
}

// However pods come, fail, change and go: each is in at most one place, the
// trace's sizes are the queues', and none is lost.
func TestEveryPodIsInExactlyOnePlace(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 79), 1, 120).Draw(r, "ops")
		withQueue(r, func(task *sim.Task, q *schedulingQueue) {
			alive := map[string]*corev1.Pod{}
			var flying *framework.QueuedPodInfo
			for _, op := range ops {
				name := fmt.Sprint("p", op%8)
				switch pod := alive[name]; op / 8 {
				case 0, 1:
					if pod == nil {
						alive[name] = podNamed(name, int32(op%3))
						q.add(task, alive[name], "test")
					}
				case 2, 3:
					if flying == nil && q.active.Len()+q.backoff.rejected.Len() > 0 {
						flying = q.pop(task)
					}
				case 4, 5:
					if flying != nil {
						if alive[flying.Pod.Name] == nil {
							q.done(flying)
						} else {
							flying.UnschedulablePlugins = map[bool]map[string]bool{true: rejectedByFit}[op/8 == 4]
							q.returned(task, flying)
						}
						flying = nil
					}
				case 6:
					q.happened(task, podDelete, podGone, nil)
				case 7:
					if pod != nil {
						changed := pod.DeepCopy()
						changed.Labels = map[string]string{"op": fmt.Sprint(op)}
						q.update(task, pod, changed)
						alive[name] = changed
					}
				case 8:
					if pod != nil {
						q.remove(task, pod, "test")
						delete(alive, name)
					}
				case 9:
					task.Sleep(time.Duration(op%8) * 700 * time.Millisecond)
				}
				checkPlaces(r, q, alive, flying)
			}
		})
	})
}

func checkPlaces(r *rapid.T, q *schedulingQueue, alive map[string]*corev1.Pod, flying *framework.QueuedPodInfo) {
	seen := map[string]string{}
	see := func(queue string, infos []*framework.QueuedPodInfo) {
		for _, i := range infos {
			if other, twice := seen[i.Key]; twice {
				r.Fatalf("%s is in %s and in %s", i.Key, other, queue)
			}
			if q.where[i.Key].info != i || q.where[i.Key].queue != queue {
				r.Fatalf("%s is in %s, where says %v", i.Key, queue, q.where[i.Key])
			}
			seen[i.Key] = queue
		}
	}
	see(active, q.active.pods)
	see(backoff, q.backoff.rejected.pods)
	see(backoff, q.backoff.errors.pods)
	see(unschedulable, q.unschedulable.Values())
	if len(q.where) != len(seen) {
		r.Fatalf("where has %d pods, the queues %d", len(q.where), len(seen))
	}
	for name := range alive {
		if _, ok := seen["demo/"+name]; !ok && (flying == nil || flying.Pod.Name != name) {
			r.Fatalf("%s is lost", name)
		}
	}
}

func TestNumFeasibleNodesToFind(t *testing.T) {
	for _, tt := range []struct{ percentage, all, want int }{
		{0, 10, 10}, {40, 10, 10}, {0, 99, 99}, {0, 100, 100}, {0, 1000, 420}, {40, 1000, 400}, {0, 6000, 300}, {40, 6000, 2400}, {0, 150, 100},
	} {
		if got := numFeasibleNodesToFind(tt.percentage, tt.all); got != tt.want {
			t.Errorf("%d %% of %d: %d, want %d", tt.percentage, tt.all, got, tt.want)
		}
	}
}

func TestNodesOfZonesTakeTurns(t *testing.T) {
	c := newCache()
	for _, n := range []string{"a1/a", "a2/a", "a3/a", "b1/b", "c1/c", "b2/b"} {
		c.setNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n[:2], Labels: map[string]string{corev1.LabelTopologyZone: n[3:]}}})
	}
	names := func() (out []string) {
		for _, n := range c.list() {
			out = append(out, n.Node.Name)
		}
		return out
	}
	if got := fmt.Sprint(names()); got != "[a1 b1 c1 a2 b2 a3]" {
		t.Errorf("order %s", got)
	}
	c.removeNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b1"}})
	if got := fmt.Sprint(names()); got != "[a1 b2 c1 a2 a3]" {
		t.Errorf("order without b1 %s", got)
	}
}

// The sums of a node are those of its pods, whatever order pods are assumed,
// forgotten, confirmed, moved and removed in.
func TestCacheSums(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		c := newCache()
		for _, n := range []string{"n1", "n2"} {
			c.setNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n}})
		}
		for _, op := range rapid.SliceOfN(rapid.IntRange(0, 59), 1, 80).Draw(r, "ops") {
			pod := podNamed(fmt.Sprint(op%6), 0)
			pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(fmt.Sprintf("%dm", 100+op))
			pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: int32(8000 + op%6)}}
			node := []string{"n1", "n2"}[op%2]
			switch op / 12 {
			case 0:
				c.assume(framework.NewPodInfo(pod), node)
			case 1:
				c.forget(pod)
			case 2, 3:
				pod.Spec.NodeName = node
				c.setPod(pod)
			case 4:
				c.remove(pod)
			}
			for name, n := range c.nodes {
				var cpu, pods int64
				for _, p := range c.pods {
					if p.info.Pod.Spec.NodeName == name {
						cpu += p.info.Pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
						pods++
					}
				}
				if n.Requested.MilliCPU != cpu || int64(len(n.Pods)) != pods {
					r.Fatalf("%s: %dm of %d pods, want %dm of %d", name, n.Requested.MilliCPU, len(n.Pods), cpu, pods)
				}
			}
		}
	})
}
