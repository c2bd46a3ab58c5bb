package cluster_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"kviz/cluster"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/client/throttle"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// BenchmarkWorkloads runs a DaemonSet on n nodes, a StatefulSet of n pods in parallel, and a Job of n
// pods, on the bare store: the time for each pod should grow far less than their number.
func BenchmarkWorkloads(b *testing.B) {
	labels := map[string]string{"app": "bench"}
	pod := func(restart corev1.RestartPolicy, command ...string) corev1.PodTemplateSpec {
		return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			RestartPolicy: restart, Containers: []corev1.Container{{Name: "c", Image: "busybox", Command: command}},
		}}
	}
	meta := metav1.ObjectMeta{Name: "bench"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	kinds := []struct {
		name string
		of   client.Resource
		made func(n int32) runtime.Object
		done func(runtime.Object, int32) bool
	}{
		{"daemonset", client.DaemonSets, func(int32) runtime.Object {
			return &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: pod(corev1.RestartPolicyAlways, "sleep", "1d")}}
		}, func(o runtime.Object, n int32) bool { return o.(*appsv1.DaemonSet).Status.NumberAvailable == n }},
		{"statefulset", client.StatefulSets, func(n int32) runtime.Object {
			return &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: &n, ServiceName: "bench", PodManagementPolicy: appsv1.ParallelPodManagement, Selector: selector, Template: pod(corev1.RestartPolicyAlways, "sleep", "1d")}}
		}, func(o runtime.Object, n int32) bool { return o.(*appsv1.StatefulSet).Status.AvailableReplicas == n }},
		{"job", client.Jobs, func(n int32) runtime.Object {
			return &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{
				Completions: &n, Parallelism: ptr.To(n / 2), CompletionMode: ptr.To(batchv1.IndexedCompletion), BackoffLimitPerIndex: ptr.To[int32](1), Template: pod(corev1.RestartPolicyNever, "true"),
			}}
		}, func(o runtime.Object, n int32) bool { return o.(*batchv1.Job).Status.Succeeded == n }},
	}
	for _, k := range kinds {
		for _, n := range []int32{100, 1000, 5000} {
			if n > 1000 && k.name != "job" {
				continue
			}
			b.Run(fmt.Sprint(k.name, "/", n), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					c, err := cluster.Boot(b.Context(), cluster.Config{Bare: true, Nodes: int(min(n, 1000)), Light: true, Demand: true, Limits: throttle.Limits{QPS: 5000, Burst: 10000}})
					if err != nil {
						b.Fatal(err)
					}
					if err := c.WaitReady(b.Context()); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
					lane := trace.Lane{Component: trace.CompConsole}
					p := c.Kernel().NewProcess(lane)
					var failed error
					err = c.Kernel().Call(b.Context(), p, "bench", func(t *sim.Task) {
						api := c.Server().Client(lane, authn.Admin())
						if _, failed = api.Create(t, k.of, "default", k.made(n)); failed != nil {
							return
						}
						for {
							o, err := api.Get(t, k.of, "default", "bench")
							if err != nil || k.done(o, n) {
								failed = err
								return
							}
							t.Sleep(250 * time.Millisecond)
						}
					})
					if err != nil || failed != nil {
						b.Fatal(err, failed)
					}
					b.ReportMetric(float64(c.Trace().Len())/float64(n), "events/pod")
					b.ReportMetric(c.Kernel().Elapsed().Seconds(), "virtual-s")
					c.Close()
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/pod")
			})
		}
	}
}
