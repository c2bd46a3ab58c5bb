package upstream_test

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

var (
	cases = flag.Int("cases", 25, "random clusters of each class")
	first = flag.Uint64("seed", 1, "the first seed")
)

// verdict is why a node is rejected; nothing of one that is feasible.
type verdict struct{ by, code, reasons string }

type score struct{ raw, normalized, weighted int64 }

// scores are a node's, by plugin; "total" is their sum.
type scores map[string]score

// The scheduler as a whole, on an API server in memory, against upstream's plugins on the
// objects that this API server has.
func TestCyclesAreUpstreams(t *testing.T) {
	for _, c := range classes {
		t.Run(c.name, func(t *testing.T) {
			rejected, scored := 0, 0
			for i := range *cases {
				r, s := cycles(t, *first+uint64(i), c)
				rejected, scored = rejected+r, scored+s
			}
			t.Logf("%d rejections, %d scored nodes", rejected, scored)
			if *cases >= 25 && (rejected == 0 || scored == 0) {
				t.Errorf("only %d rejections and %d scored nodes to compare", rejected, scored)
			}
		})
	}
}

// cycles schedules a few pods in a random cluster.
func cycles(t *testing.T, seed uint64, c class) (rejected, scored int) {
	t.Helper()
	d := roll(seed, c)
	clienttest.Run(t, seed, func(b *clienttest.Bench, task *sim.Task) {
		api := b.Client()
		d.world().create(task, api)
		for _, o := range b.Objects(client.Pods) {
			if d.one(10) { // on their way out
				clienttest.Must(0, api.Delete(task, client.Pods, o.(*corev1.Pod).Namespace, o.(*corev1.Pod).Name, metav1.DeleteOptions{}))
			}
		}
		scheduler.Start(b.Kernel.NewProcess(trace.Lane{Component: trace.CompScheduler}), api, scheduler.Config{NoElection: true})
		task.Sleep(20 * time.Millisecond)
		for range 3 {
			before, seen := stored(b), len(b.Events)
			pod := clienttest.Must(client.Create(task, api, client.Pods, "", d.pod()))
			task.Sleep(20 * time.Millisecond)
			gotVerdicts, gotScores, decision := told(b.Events[seen:], pod.Namespace+"/"+pod.Name)
			wantVerdicts, wantScores := newKubernetes(before).schedule(pod)
			if diff := cmp.Diff(wantVerdicts, gotVerdicts, cmp.AllowUnexported(verdict{})); diff != "" {
				t.Errorf("class %s, seed %d, %s: verdicts (-upstream +here):\n%s", c.name, seed, pod.Name, diff)
			}
			if diff := cmp.Diff(wantScores, gotScores, cmp.AllowUnexported(score{})); diff != "" {
				t.Errorf("class %s, seed %d, %s: scores (-upstream +here):\n%s", c.name, seed, pod.Name, diff)
			}
			for node, s := range wantScores {
				if s["total"].weighted > wantScores[decision.Node]["total"].weighted {
					t.Errorf("class %s, seed %d: %s is on %q, and %s has a higher total", c.name, seed, pod.Name, decision.Node, node)
				}
			}
			for _, v := range wantVerdicts {
				if v.by != "" {
					rejected++
				}
			}
			scored += len(wantScores)
		}
	})
	return rejected, scored
}

func create[T interface {
	runtime.Object
	metav1.Object
}](t *sim.Task, api client.Interface, r client.Resource, list []T) {
	for _, o := range list {
		clienttest.Must(client.Create(t, api, r, o.GetNamespace(), o))
	}
}

func (w *world) create(t *sim.Task, api client.Interface) {
	create(t, api, client.Namespaces, w.namespaces)
	create(t, api, client.Nodes, w.nodes)
	create(t, api, client.Services, w.services)
	create(t, api, client.ReplicaSets, w.replicaSets)
	create(t, api, client.Pods, w.pods)
}

// stored is the world that the API server has.
func stored(b *clienttest.Bench) *world {
	w := &world{nodes: all[*corev1.Node](b, client.Nodes), namespaces: all[*corev1.Namespace](b, client.Namespaces)}
	w.services, w.replicaSets = all[*corev1.Service](b, client.Services), all[*appsv1.ReplicaSet](b, client.ReplicaSets)
	for _, p := range all[*corev1.Pod](b, client.Pods) {
		if p.Spec.NodeName != "" {
			w.pods = append(w.pods, p)
		}
	}
	return w
}

func all[T runtime.Object](b *clienttest.Bench, r client.Resource) (list []T) {
	for _, o := range b.Objects(r) {
		list = append(list, o.(T))
	}
	return list
}

// told is what the trace says of a pod's first cycle.
func told(events []*trace.Event, pod string) (map[string]verdict, map[string]scores, *trace.Decision) {
	verdicts := map[string]verdict{}
	var rated map[string]scores
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *trace.FilterVerdict:
			if p.Pod == pod {
				verdicts[p.Node] = verdict{p.By, p.Code, strings.Join(p.Reasons, ", ")}
			}
		case *trace.NodeScore:
			if p.Pod != pod {
				continue
			}
			if rated == nil {
				rated = map[string]scores{}
			}
			rated[p.Node] = scores{"total": {weighted: p.Total}}
			for _, s := range p.Scores {
				rated[p.Node][s.Plugin] = score{s.Raw, s.Normalized, s.Weighted}
			}
		case *trace.Decision:
			if p.Pod == pod {
				return verdicts, rated, p
			}
		}
	}
	return verdicts, rated, &trace.Decision{}
}
