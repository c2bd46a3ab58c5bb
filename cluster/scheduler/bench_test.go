package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

type counter struct{ kinds map[trace.Kind]int }

func (c *counter) Append(e *trace.Event) { c.kinds[e.Kind]++ }

// BenchmarkSchedule5000 schedules 5,000 pods on 1,000 nodes through the API
// server in memory, whose share is about half.
func BenchmarkSchedule5000(b *testing.B) {
	const nodes, pods = 1000, 5000
	for b.Loop() {
		b.StopTimer()
		c := &counter{kinds: map[trace.Kind]int{}}
		k := sim.New(sim.Config{Seed: 1, Sink: c})
		server := clienttest.New(k)
		var began time.Time
		k.NewProcess(trace.Lane{Component: "test"}).Go("main", func(t *sim.Task) {
			defer k.Stop()
			api := server.Client()
			for i := range nodes {
				clienttest.Must(client.Create(t, api, client.Nodes, "", node(fmt.Sprintf("node-%04d", i), map[string]string{"cpu": "4", "memory": "8Gi"})))
			}
			for i := range pods {
				clienttest.Must(client.Create(t, api, client.Pods, "demo", pod(fmt.Sprintf("pod-%04d", i), map[string]string{"cpu": "500m", "memory": "256Mi"})))
			}
			b.StartTimer()
			began = time.Now()
			scheduler.Start(k.NewProcess(trace.Lane{Component: trace.CompScheduler}), api, scheduler.Config{NoElection: true})
			for c.kinds[trace.SchedBind] < pods {
				t.Sleep(100 * time.Millisecond)
			}
		})
		if err := k.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(began).Microseconds())/pods, "µs/pod")
		unbound := 0
		for _, o := range server.Objects(client.Pods) {
			if o.(*corev1.Pod).Spec.NodeName == "" {
				unbound++
			}
		}
		if unbound > 0 {
			b.Fatalf("%d pods have no node", unbound)
		}
	}
}
