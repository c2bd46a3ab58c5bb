// Package bench measures whole clusters on the real machine: how long until
// the control plane is ready, until pods run, how much memory and processor
// an idle cluster takes, how a thousand nodes fare. `kviz bench` prints what
// it finds beside the budgets.
//
// Every measurement is of this process, by the machine's clock: run it alone. Start reading at
// [Small] and [Large].
package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
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
	rss, own := residentMiB("VmRSS:"), residentMiB("RssAnon:")
	return []Result{
		within("start to a ready control plane and 3 Ready nodes", ready, 500*time.Millisecond),
		within("start to 3 pods Running, as fast as possible", running, time.Second),
		{"resident memory, 3 nodes, 3 pods", fmt.Sprintf("%.0f MiB", rss), "under 120 MiB", rss < 120},
		{"its own part of that; the rest is pages of the program's file", fmt.Sprintf("%.0f MiB", own), "", true},
		{"idle processor time at speed 1, nothing on screen", fmt.Sprintf("%.2f %% of a core", cpu), "under 1.5 %", cpu < 1.5},
	}, nil
}

// Large brings nodes and pods up, with the trace on.
func Large(ctx context.Context, bare bool, nodes, pods int) ([]Result, error) {
	start, before := time.Now(), processorTime()
	c, err := cluster.Boot(ctx, cluster.Config{Bare: bare, Nodes: nodes, Light: true, Demand: true})
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
	work, rss := processorTime()-before, residentMiB("VmRSS:")
	store := "raft"
	if bare {
		store = "mvcc"
	}
	events := c.Trace().Len()
	return []Result{
		within(fmt.Sprintf("%d nodes, %d pods to Running, %s store", nodes, pods, store), took, 6*time.Second),
		{fmt.Sprintf("processor time of that, %s store", store), work.Round(time.Millisecond).String(), "", true},
		{fmt.Sprintf("resident memory, %d nodes, %d pods, %s store", nodes, pods, store), fmt.Sprintf("%.0f MiB", rss), "under 600 MiB", rss < 600},
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
	before, start := processorTime(), time.Now()
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return 100 * (processorTime() - before).Seconds() / time.Since(start).Seconds(), nil
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// residentMiB is the memory of this process that is in RAM, by a field of its status:
// all of it is "VmRSS:", what no file backs "RssAnon:".
func residentMiB(field string) float64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, field); ok {
			var kb float64
			if _, err := fmt.Sscan(rest, &kb); err == nil {
				return kb / 1024
			}
		}
	}
	return 0
}
