// Package bench measures whole clusters on the real machine: how long until
// the control plane is ready, until pods run, how much memory and processor
// an idle cluster takes, how a thousand nodes fare. `kviz bench` prints what
// it finds beside the budgets.
//
// Every measurement is of this process, by the machine's clock: run it alone. Start reading at
// [Small] and [Large].
//
// Kubernetes measures itself with clusterloader2 on clusters of real machines;
// these numbers say what kviz costs, not what Kubernetes does.
package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/host"
)

// Result is one measured number beside its budget.
type Result struct {
	Name   string
	Got    string
	Budget string // "" where none was set
	OK     bool   // within the budget, or no budget
}

func within(name string, got, budget time.Duration) Result {
	return Result{name, got.Round(time.Millisecond).String(), "under " + budget.String(), got < budget}
}

// Small boots three members and three nodes, starts three pods, and watches
// the cluster idle.
func Small(ctx context.Context, idle time.Duration) ([]Result, error) {
	start := time.Now()
	c, err := cluster.Boot(ctx, cluster.Config{})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.WaitReady(ctx); err != nil {
		return nil, err
	}
	ready := time.Since(start)
	if err := runPods(ctx, c, 3); err != nil {
		return nil, err
	}
	running := time.Since(start)
	if err := c.Speed(1); err != nil {
		return nil, err
	}
	cpu, err := idleCPU(ctx, idle)
	if err != nil {
		return nil, err
	}
	runtime.GC()
	m, unknown, err := measured()
	if err != nil {
		return nil, err
	}
	return []Result{
		within("start to a ready control plane and 3 Ready nodes", ready, 500*time.Millisecond),
		within("start to 3 pods Running, as fast as possible", running, time.Second),
		inMemory("resident memory, 3 nodes, 3 pods", m.Resident, 120, unknown),
		inMemory("its own part of that; the rest is pages of the program's file", m.Own, 0, unknown),
		{"idle processor time at speed 1, nothing on screen", fmt.Sprintf("%.2f %% of a core", cpu), "under 1.5 %", cpu < 1.5},
	}, nil
}

// unlimited are limits that nothing reaches: those that kwokctl gives kube-controller-manager
// and kube-scheduler with --disable-qps-limits (pkg/consts DefaultUnlimitedQPS,
// DefaultUnlimitedBurst).
var unlimited = throttle.Limits{QPS: 5000, Burst: 10000}

// Large brings nodes and pods up, with the trace on. The controllers' clients have no rate
// limit, as those of the cluster that it is compared with cannot have: at 20 requests a
// second 5,000 pods and their Events take more than eight minutes, on any machine.
func Large(ctx context.Context, bare bool, nodes, pods int) ([]Result, error) {
	start := time.Now()
	before, err := processorTime()
	if err != nil {
		return nil, err
	}
	c, err := cluster.Boot(ctx, cluster.Config{Bare: bare, Nodes: nodes, Light: true, Demand: true, Limits: unlimited})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.WaitReady(ctx); err != nil {
		return nil, err
	}
	if err := runPods(ctx, c, pods); err != nil {
		return nil, err
	}
	took := time.Since(start)
	after, err := processorTime()
	if err != nil {
		return nil, err
	}
	m, unknown, err := measured()
	if err != nil {
		return nil, err
	}
	store, budget := "raft", 15*time.Second
	if bare {
		store, budget = "mvcc", 6*time.Second
	}
	events := c.Trace().Len()
	return []Result{
		within(fmt.Sprintf("%d nodes, %d pods to Running, %s store", nodes, pods, store), took, budget),
		{fmt.Sprintf("processor time of that, %s store", store), (after - before).Round(time.Millisecond).String(), "", true},
		inMemory(fmt.Sprintf("resident memory, %d nodes, %d pods, %s store", nodes, pods, store), m.Resident, 600, unknown),
		{fmt.Sprintf("events of that run, %s store", store), fmt.Sprintf("%d (%.0f/s)", events, float64(events)/took.Seconds()), "", true},
	}, nil
}

// runPods makes a deployment of n pods and waits until all run.
func runPods(ctx context.Context, c *cluster.Cluster, n int) error {
	lane := trace.Lane{Component: trace.CompConsole}
	p := c.Kernel().NewProcess(lane)
	var failed error
	err := c.Kernel().Call(ctx, p, "bench", func(t *sim.Task) {
		api := c.Server().Client(lane, authn.Admin())
		if _, failed = api.Create(t, client.Deployments, "default", deployment(n)); failed != nil {
			return
		}
		for {
			d, err := client.Get[*appsv1.Deployment](t, api, client.Deployments, "default", "bench")
			if err != nil || int(d.Status.AvailableReplicas) == n {
				failed = err
				return
			}
			t.Sleep(250 * time.Millisecond)
		}
	})
	if err != nil {
		return err
	}
	return failed
}

func deployment(n int) *appsv1.Deployment {
	replicas := int32(n)
	labels := map[string]string{"app": "bench"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "bench"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:stable"}}},
			},
		},
	}
}

// idleCPU is the processor time this process takes in percent of a core.
func idleCPU(ctx context.Context, d time.Duration) (float64, error) {
	start := time.Now()
	before, err := processorTime()
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := processorTime()
	return 100 * (after - before).Seconds() / time.Since(start).Seconds(), err
}

// processorTime is what the processor has spent on this process.
func processorTime() (time.Duration, error) { return host.ProcessorTime(os.Getpid()) }

// inMemory is a row about bytes that lie in RAM, with a budget in MiB or 0; where the
// system does not tell them it says so.
func inMemory(name string, bytes uint64, budget int, err error) Result {
	if errors.Is(err, errors.ErrUnsupported) {
		return Result{name, "not known on " + runtime.GOOS, "", true}
	}
	mib := float64(bytes) / (1 << 20)
	r := Result{name, fmt.Sprintf("%.0f MiB", mib), "", true}
	if budget > 0 {
		r.Budget, r.OK = fmt.Sprintf("under %d MiB", budget), mib < float64(budget)
	}
	return r
}

// measured is what of this process lies in RAM. That the system does not tell it is no
// failure of a measurement.
func measured() (m host.Memory, unknown, failed error) {
	m, err := host.MemoryOf(os.Getpid())
	if errors.Is(err, errors.ErrUnsupported) {
		return m, err, nil
	}
	return m, nil, err
}
