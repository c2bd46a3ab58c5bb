package scheduler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

func condition(p *corev1.Pod) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c
		}
	}
	return corev1.PodCondition{}
}

func (e *env) pod(name string) *corev1.Pod {
	p, _ := e.Object(client.Pods, "demo", name).(*corev1.Pod)
	return p
}

// What kubectl shows: the condition PodScheduled and the Events of the pod.
func TestFailureIsToldToPeople(t *testing.T) {
	clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		e := start(b, scheduler.Config{})
		e.do(task, strings.Fields("node n1 cpu=1 memory=1Gi taints=dedicated/gpu:NoSchedule"))
		e.do(task, strings.Fields("node n2 cpu=1 memory=1Gi"))
		e.do(task, strings.Fields("pod web cpu=2"))
		task.Sleep(time.Second)
		const why = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s). " +
			"preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
		if c := condition(e.pod("web")); c.Status != corev1.ConditionFalse || c.Reason != "Unschedulable" || c.Message != why {
			t.Errorf("condition %+v", c)
		}
		e.do(task, strings.Fields("node n3 cpu=4 memory=1Gi"))
		task.Sleep(time.Second)
		if got := e.pod("web").Spec.NodeName; got != "n3" {
			t.Errorf("bound to %q", got)
		}
		var told []string
		for _, o := range b.Objects(client.NewEvents) {
			ev := o.(*eventsv1.Event)
			told = append(told, fmt.Sprintf("%s %s %s, %s: %s", ev.ReportingInstance, ev.Type, ev.Reason, ev.Action, ev.Note))
		}
		want := []string{
			"default-scheduler-control-plane Warning FailedScheduling, Scheduling: " + why,
			"default-scheduler-control-plane Normal Scheduled, Binding: Successfully assigned demo/web to n3",
		}
		if !slices.Equal(told, want) {
			t.Errorf("events %q", told)
		}
	})
}

// Every decision leads back, cause by cause, to the watch event that brought
// the pod; and one after a move also to what moved it.
func TestDecisionLeadsBackToItsCauses(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		e := start(b, scheduler.Config{})
		e.do(task, strings.Fields("node n1 cpu=1 memory=1Gi"))
		e.do(task, strings.Fields("pod web cpu=2"))
		task.Sleep(time.Second)
		e.do(task, strings.Fields("node n2 cpu=4 memory=1Gi"))
		task.Sleep(time.Second)
	})
	byID := map[trace.ID]*trace.Event{}
	var bound *trace.Event
	for _, e := range b.Events {
		byID[e.ID] = e
		if e.Kind == trace.SchedBind {
			bound = e
		}
	}
	if bound == nil {
		t.Fatal("the pod was not bound")
	}
	roots := map[string]bool{}
	seen := map[trace.ID]bool{}
	var back func(*trace.Event)
	back = func(e *trace.Event) {
		if seen[e.ID] {
			return
		}
		seen[e.ID] = true
		if e.Kind == trace.WatchDelivered {
			roots[e.Object.String()] = true
		}
		for _, c := range e.Causes {
			if c.Compare(e.ID) >= 0 {
				t.Errorf("%v is caused by %v", e.ID, c)
			}
			back(byID[c])
		}
	}
	back(bound)
	if !roots["Pod demo/web"] || !roots["Node n2"] || roots["Node n1"] {
		t.Errorf("the binding leads back to %v", roots)
	}
}

// Killing the process stops everything, and a new one picks up what is left.
func TestKilledSchedulerIsReplaced(t *testing.T) {
	clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		e := start(b, scheduler.Config{})
		e.do(task, strings.Fields("nodes 3 cpu=4 memory=4Gi"))
		for i := range 10 {
			e.do(task, strings.Fields(fmt.Sprintf("pod web-%d cpu=500m", i)))
			if i == 5 {
				e.p.Kill()
			}
		}
		task.Sleep(time.Hour)
		if p := e.pod("web-9"); p.Spec.NodeName != "" {
			t.Error("a dead scheduler bound a pod")
		}
		events := len(b.Events)
		task.Sleep(time.Hour)
		if len(b.Events) != events {
			t.Error("a dead scheduler speaks")
		}
		e = start(b, scheduler.Config{})
		task.Sleep(time.Second)
		for i := range 10 {
			if p := e.pod(fmt.Sprint("web-", i)); p.Spec.NodeName == "" {
				t.Errorf("%s has no node", p.Name)
			}
		}
	})
}

// Of two copies, the one that holds the Lease works; when it dies the other
// takes over once the Lease has run out.
func TestOnlyTheLeaderSchedules(t *testing.T) {
	clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		e := &env{Bench: b, c: b.Client()}
		var copies [2]*sim.Process
		for i := range copies {
			copies[i] = b.Kernel.NewProcess(trace.Lane{Component: trace.CompScheduler, Instance: string(rune('a' + i))})
			scheduler.Start(copies[i], e.c, scheduler.Config{})
		}
		e.do(task, strings.Fields("node n1 cpu=4 memory=4Gi"))
		e.do(task, strings.Fields("pod one cpu=1"))
		task.Sleep(5 * time.Second)
		leader := -1
		for _, ev := range b.Events {
			if ev.Kind == trace.SchedCycle {
				leader = int(ev.Lane.Instance[0] - 'a')
			}
		}
		if leader < 0 || e.pod("one").Spec.NodeName == "" {
			t.Fatal("nobody schedules")
		}
		copies[leader].Kill()
		e.do(task, strings.Fields("pod two cpu=1"))
		task.Sleep(10 * time.Second)
		if e.pod("two").Spec.NodeName != "" {
			t.Error("bound before the Lease ran out")
		}
		task.Sleep(20 * time.Second)
		if e.pod("two").Spec.NodeName == "" {
			t.Error("nobody took over")
		}
	})
}

// Same seed, same trace; and whatever comes and goes, no node ever holds more
// than it has, and in the end a pod waits only if it fits nowhere.
func TestRandomClusters(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		ops := rapid.SliceOfN(rapid.IntRange(0, 9), 5, 40).Draw(r, "ops")
		seed := rapid.Uint64().Draw(r, "seed")
		run := func() (string, *clienttest.Bench) {
			b := clienttest.Run(r, seed, func(b *clienttest.Bench, task *sim.Task) {
				e := start(b, scheduler.Config{})
				down := false
				for i, op := range ops {
					switch {
					case down:
						task.Sleep(1500 * time.Millisecond)
						b.SetDown(false)
						down = false
					case op < 2:
						e.do(task, strings.Fields(fmt.Sprintf("node n%d cpu=%d memory=4Gi", i, 1+op)))
					case op < 7:
						e.do(task, strings.Fields(fmt.Sprintf("pod p%d cpu=%d00m", i, op*2)))
					case op == 7:
						if pods := b.Objects(client.Pods); len(pods) > 0 {
							e.do(task, []string{"delete", pods[i%len(pods)].(*corev1.Pod).Name})
						}
					case op == 8:
						b.SetDown(true)
						down = true
					default:
						b.EndWatches()
						task.Sleep(700 * time.Millisecond)
					}
				}
				b.SetDown(false)
				task.Sleep(20 * time.Minute)
			})
			var out strings.Builder
			for _, ev := range b.Events {
				fmt.Fprintf(&out, "%v %v %v %v %v %+v\n", ev.ID, ev.At, ev.Lane, ev.Kind, ev.Causes, ev.Object)
			}
			return out.String(), b
		}
		first, b := run()
		if second, _ := run(); first != second {
			r.Fatal("the same seed gave another trace")
		}
		checkPlacement(r, b)
	})
}

func checkPlacement(r *rapid.T, b *clienttest.Bench) {
	free := map[string]int64{}
	most := int64(0)
	for _, o := range b.Objects(client.Nodes) {
		n := o.(*corev1.Node)
		free[n.Name] = n.Status.Allocatable.Cpu().MilliValue()
	}
	for _, o := range b.Objects(client.Pods) {
		p := o.(*corev1.Pod)
		if p.Spec.NodeName != "" {
			free[p.Spec.NodeName] -= p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
		}
	}
	for name, left := range free {
		if left < 0 {
			r.Fatalf("%s is overcommitted by %dm", name, -left)
		}
		most = max(most, left)
	}
	for _, o := range b.Objects(client.Pods) {
		p := o.(*corev1.Pod)
		if want := p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue(); p.Spec.NodeName == "" && want <= most {
			r.Fatalf("%s waits for %dm, and a node has %dm", p.Name, want, most)
		}
	}
}

// A decision without a node says what would have to change, the smallest change first;
// done in the cluster, as it is said, the pod gets its node, and with the smallest piece less it does not.
func TestSaidChangeIsEnough(t *testing.T) {
	clienttest.Run(t, 1, func(b *clienttest.Bench, task *sim.Task) {
		e := start(b, scheduler.Config{})
		do := func(line string) { e.do(task, strings.Fields(line)); task.Sleep(time.Second) }
		do("node n1 cpu=1 memory=1Gi taints=dedicated/gpu:NoSchedule")
		do("node n2 cpu=1 memory=1Gi")
		do("pod old cpu=800m")
		do("pod web cpu=700m memory=1Gi")
		var last *trace.Decision
		for _, ev := range b.Events {
			if d, ok := ev.Payload.(*trace.Decision); ok && d.Pod == "demo/web" {
				last = d
			}
		}
		var said []string
		for _, c := range last.Changes {
			for _, s := range c.Steps {
				said = append(said, fmt.Sprintf("%s: %s, or %s; without %v", c.Node, s.What, s.Or, c.Evict))
			}
		}
		want := []string{
			"n1: remove the taint dedicated=gpu:NoSchedule, or tolerate it; without []",
			"n2: 500m more free cpu, or request at most 200m; without [demo/old]",
		}
		if !slices.Equal(said, want) {
			t.Fatalf("said %q, not %q", said, want)
		}
		do("pod less cpu=201m memory=1Gi")
		do("pod enough cpu=200m memory=1Gi")
		if a, b := e.pod("less").Spec.NodeName, e.pod("enough").Spec.NodeName; a != "" || b != "n2" {
			t.Errorf("a pod with a thousandth too much is on %q, one with what was said on %q", a, b)
		}
		do("change n1 cpu=1 memory=1Gi")
		if got := e.pod("web").Spec.NodeName; got != "n1" {
			t.Errorf("web is on %q", got)
		}
	})
}
