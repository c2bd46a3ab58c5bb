package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

type counter struct{ kinds map[trace.Kind]int }

func (c *counter) Append(e *trace.Event) { c.kinds[e.Kind]++ }

// workloads are what the pods of a benchmark want.
var workloads = map[string]func(p *corev1.Pod){
	"plain": func(*corev1.Pod) {},
	// A ReplicaSet's pod: the default constraints spread it.
	"owned": func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: new(true)}}
	},
	"spread": func(p *corev1.Pod) {
		for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
				MaxSkew: 5, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: metav1.SetAsLabelSelector(p.Labels),
			})
		}
	},
	"anti-affinity": func(p *corev1.Pod) {
		p.Labels["group"] = fmt.Sprint(len(p.Name)+int(p.Name[len(p.Name)-1])) + p.Name[len(p.Name)-2:]
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: metav1.SetAsLabelSelector(map[string]string{"group": p.Labels["group"]}),
		}}}}
	},
}

// BenchmarkSchedule5000 schedules 5,000 pods on 1,000 nodes through the API
// server in memory, whose share is about half.
func BenchmarkSchedule5000(b *testing.B) {
	for _, kind := range []string{"plain", "owned", "spread", "anti-affinity"} {
		b.Run(kind, func(b *testing.B) { schedule(b, 1000, 5000, workloads[kind]) })
	}
}

// BenchmarkScheduleNodes tells how the cost of a decision grows with the cluster. Filters look
// at nodes until 100, 230, 420 and 500 are feasible.
func BenchmarkScheduleNodes(b *testing.B) {
	for _, kind := range []string{"plain", "owned", "spread", "anti-affinity"} {
		for _, nodes := range []int{100, 500, 1000, 5000} {
			b.Run(fmt.Sprintf("%s/%d", kind, nodes), func(b *testing.B) { schedule(b, nodes, 500, workloads[kind]) })
		}
	}
}

func schedule(b *testing.B, nodes, pods int, shape func(*corev1.Pod)) {
	for b.Loop() {
		b.StopTimer()
		c := &counter{kinds: map[trace.Kind]int{}}
		k := sim.New(sim.Config{Seed: 1, Sink: c})
		server := clienttest.New(k)
		var took time.Duration
		k.NewProcess(trace.Lane{Component: "test"}).Go("main", func(t *sim.Task) {
			defer k.Stop()
			api := server.Client()
			for i := range nodes {
				clienttest.Must(client.Create(t, api, client.Nodes, "", node(fmt.Sprintf("node-%04d", i), map[string]string{
					"cpu": "4", "memory": "8Gi", "labels": fmt.Sprintf("%s:zone-%d", corev1.LabelTopologyZone, i%3),
				})))
			}
			web := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "demo"}, Spec: appsv1.ReplicaSetSpec{Selector: metav1.SetAsLabelSelector(map[string]string{"app": "web"})}}
			clienttest.Must(client.Create(t, api, client.ReplicaSets, "demo", web))
			for i := range pods {
				p := pod(fmt.Sprintf("pod-%04d", i), map[string]string{"cpu": "500m", "memory": "256Mi", "labels": "app:web"})
				shape(p)
				clienttest.Must(client.Create(t, api, client.Pods, "demo", p))
			}
			b.StartTimer()
			began := b.Elapsed()
			scheduler.Start(k.NewProcess(trace.Lane{Component: trace.CompScheduler}), api, scheduler.Config{NoElection: true})
			for c.kinds[trace.SchedBind] < pods {
				t.Sleep(100 * time.Millisecond)
			}
			took = b.Elapsed() - began
		})
		if err := k.Run(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(took.Microseconds())/float64(pods), "µs/pod")
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
