package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/control"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// SchedulerLoad is pods of one kind that come to a cluster of so many nodes.
type SchedulerLoad struct {
	Name  string // as upstream's scheduler_perf calls it
	What  string
	Nodes int
	// Before are pods that are there when the measurement starts, Pods those that are measured.
	Before, Pods int

	before, pod func() *corev1.Pod
}

// SchedulerLoads are the loads of a cluster with so many nodes, which so many pods come to: those of
// scheduler_perf, with the same pods and nodes (test/integration/scheduler_perf, SchedulingBasic,
// TopologySpreading, SchedulingPodAntiAffinity and PreemptionBasic). There are fewer pods where there is room for
// one on each node only.
func SchedulerLoads(nodes, pods int) []SchedulerLoad {
	return []SchedulerLoad{
		{"SchedulingBasic", "with the default plugins", nodes, nodes, pods, plainPod, plainPod},
		{"TopologySpreading", "spread over three zones", nodes, nodes, pods, plainPod, spreadPod},
		{"SchedulingPodAntiAffinity", "one on a node", nodes, nodes / 5, min(pods, nodes-nodes/5), lonelyPod, lonelyPod},
		{"PreemptionBasic", "each makes room for itself", nodes, 4 * nodes, min(pods, nodes), lowPod, highPod},
	}
}

// SchedulerRow is what a load took.
type SchedulerRow struct {
	SchedulerLoad
	Store string
	Took  time.Duration
	// Busy is the processor time of the whole process: API server, store and scheduler.
	Busy time.Duration
}

// Rate is how many pods were bound in a second.
func (r SchedulerRow) Rate() float64 { return float64(r.Pods) / r.Took.Seconds() }

// Each is the processor time for one pod.
func (r SchedulerRow) Each() time.Duration { return r.Busy / time.Duration(r.Pods) }

// Scheduler measures how fast a control plane of an API server, its store and a scheduler binds pods, from
// the moment at which the first is created to that at which the last is bound. There are no kubelets and, as in
// scheduler_perf, hardly any controllers: the controller-manager is stopped once the cluster is up.
func Scheduler(ctx context.Context, bare bool, load SchedulerLoad) (row SchedulerRow, err error) {
	runtime.GC() // what another load has left
	c, err := cluster.Boot(ctx, cluster.Config{Bare: bare, Nodes: -1, Demand: true, Limits: unlimited})
	if err != nil {
		return row, err
	}
	defer c.Close()
	if err := c.WaitReady(ctx); err != nil {
		return row, err
	}
	row = SchedulerRow{SchedulerLoad: load, Store: "raft"}
	if bare {
		row.Store = "mvcc"
	}
	bound := 0
	stop := c.Trace().Tee(func(e *trace.Event) {
		if d, ok := e.Payload.(*trace.Decision); ok && e.Kind == trace.SchedBind && d.Message == "" {
			bound++
		}
	})
	defer stop()
	lane := trace.Lane{Component: trace.CompConsole}
	p, api := c.Kernel().NewProcess(lane), c.Server().Client(lane, authn.Admin())
	var failed error
	do := func(name string, f func(t *sim.Task) error) error {
		if err := c.Kernel().Call(ctx, p, name, func(t *sim.Task) { failed = f(t) }); err != nil {
			return err
		}
		return failed
	}
	if err := do("accounts", func(t *sim.Task) error { return awaitAccount(t, api) }); err != nil {
		return row, err
	}
	if err := c.Fault(ctx, control.Fault{Name: "stop", Target: "controller-manager"}); err != nil {
		return row, err
	}
	bind := func(t *sim.Task, pods int, pod func() *corev1.Pod) error {
		all := bound + pods
		for range pods {
			if _, err := api.Create(t, client.Pods, metav1.NamespaceDefault, pod()); err != nil {
				return err
			}
		}
		for bound < all {
			t.Sleep(20 * time.Millisecond)
		}
		return nil
	}
	if err := do("nodes", func(t *sim.Task) error {
		if err := createNodes(t, api, load.Nodes); err != nil {
			return err
		}
		return bind(t, load.Before, load.before)
	}); err != nil {
		return row, err
	}
	runtime.GC()
	busy, err := processorTime()
	if err != nil {
		return row, err
	}
	began := time.Now()
	if err := do("pods", func(t *sim.Task) error { return bind(t, load.Pods, load.pod) }); err != nil {
		return row, err
	}
	row.Took = time.Since(began)
	row.Busy, err = processorTime()
	row.Busy -= busy
	return row, err
}

// awaitAccount waits for the controller-manager's first work, without which there are no pods, and makes
// the class of pods that make room.
func awaitAccount(t *sim.Task, api client.Interface) error {
	for {
		if _, err := api.Get(t, client.ServiceAccounts, metav1.NamespaceDefault, "default"); err == nil {
			break
		}
		t.Sleep(10 * time.Millisecond)
	}
	_, err := api.Create(t, client.PriorityClasses, "", &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 9999999})
	return err
}

// createNodes creates nodes as scheduler_perf does: they are ready, and nobody runs them.
func createNodes(t *sim.Task, api client.Interface, n int) error {
	for i := range n {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("scheduler-perf-%d", i), Labels: map[string]string{
			corev1.LabelTopologyZone: []string{"moon-1", "moon-2", "moon-3"}[i%3], corev1.LabelHostname: fmt.Sprintf("scheduler-perf-%d", i),
		}}}
		node.Status.Capacity = corev1.ResourceList{
			corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("32Gi"),
		}
		node.Status.Allocatable = node.Status.Capacity
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		made, err := client.Create(t, api, client.Nodes, "", node)
		if err != nil {
			return err
		}
		// Admission says that a new node is not ready, and the controller that would look is not there.
		made = made.DeepCopy()
		made.Spec.Taints = nil
		if _, err := client.Update(t, api, client.Nodes, "", made); err != nil {
			return err
		}
	}
	return nil
}

func plainPod() *corev1.Pod { return loadPod("pod", "100m") }

func spreadPod() *corev1.Pod {
	p := loadPod("spreading-pod", "100m")
	p.Labels = map[string]string{"color": "blue"}
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 5, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: metav1.SetAsLabelSelector(p.Labels),
	}}
	return p
}

func lonelyPod() *corev1.Pod {
	p := loadPod("anti-affinity-pod", "100m")
	p.Labels = map[string]string{"color": "green"}
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
		LabelSelector: metav1.SetAsLabelSelector(p.Labels), TopologyKey: corev1.LabelHostname, Namespaces: []string{"sched-1", "sched-0", metav1.NamespaceDefault},
	}}}}
	return p
}

func lowPod() *corev1.Pod {
	p := loadPod("low", "900m")
	p.Spec.TerminationGracePeriodSeconds = new(int64)
	return p
}

func highPod() *corev1.Pod {
	p := loadPod("pod-high-priority", "3970m")
	p.Spec.TerminationGracePeriodSeconds, p.Spec.PriorityClassName = new(int64), "high"
	return p
}

// loadPod is a pod of scheduler_perf's templates.
func loadPod(name, cpu string) *corev1.Pod {
	r := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("500Mi")}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "pause", Image: "registry.k8s.io/pause:3.10.2", Ports: []corev1.ContainerPort{{ContainerPort: 80}},
			Resources: corev1.ResourceRequirements{Requests: r, Limits: r},
		}}},
	}
}
