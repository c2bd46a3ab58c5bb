package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/client/throttle"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// What each run has read from its caches and asked of the API server is reported when it
// ends, also what tasks beside it did for it. Another run at the same time counts for
// itself.
func TestCounts(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
		f := informer.NewFactory(p, p.Lane, b.Client())
		env := reconcile.NewEnv(p, "counting", "counting", b.Client(), f, 2)
		pods := f.For(client.Pods)
		loop := reconcile.NewLoop(env, "counting", client.Pods, func(run *reconcile.Run) error {
			if _, there := pods.Get(run.Key); !there {
				return nil
			}
			n := len(run.Name)
			_ = pods.List()
			_, _ = env.Client.Get(run.T, client.Pods, run.Namespace, run.Name)
			env.Parallel(run.T, "create", n, func(t *sim.Task, i int) {
				_, _ = pods.Get(run.Key)
				_, _ = client.Create(t, env.Client, client.ConfigMaps, "demo", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: fmt.Sprint(run.Name, i)}})
			})
			return nil
		})
		loop.Start(pods)
		f.Start()
		for _, name := range []string{"a", "bbb"} {
			if _, err := client.Create(t, b.Client(), client.Pods, "demo", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}); err != nil {
				panic(err)
			}
		}
		t.Sleep(time.Second)
		for _, key := range []string{"demo/a", "demo/bbb", "demo/none"} {
			loop.Add(t, key)
		}
		t.Sleep(time.Minute)
	})
	got := map[string]string{}
	for _, e := range b.Events {
		if e.Kind == trace.ReconcileEnd {
			r := e.Payload.(*trace.Reconcile)
			got[r.Key] = fmt.Sprint(r.CacheReads, " cached, ", r.LiveReads, " live, ", r.Writes, " written")
		}
	}
	want := map[string]string{
		"demo/a":    "3 cached, 1 live, 1 written",
		"demo/bbb":  "5 cached, 1 live, 3 written",
		"demo/none": "1 cached, 0 live, 0 written",
	}
	for key, w := range want {
		if got[key] != w {
			t.Errorf("%s: %s, want %s", key, got[key], w)
		}
	}
}

// A run that its client's rate limit has held back ends because of the last wait, also where
// tasks beside it waited; one that was not ends because of its beginning alone.
func TestARunEndsBecauseOfItsWaits(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
		f := informer.NewFactory(p, p.Lane, b.Client())
		limited := throttle.New(p, p.Lane, b.Client(), "waiting", throttle.Limits{QPS: 1, Burst: 2})
		env := reconcile.NewEnv(p, "waiting", "waiting", limited, f, 1)
		loop := reconcile.NewLoop(env, "waiting", client.Pods, func(run *reconcile.Run) error {
			env.Parallel(run.T, "get", len(run.Name), func(t *sim.Task, _ int) {
				_, _ = env.Client.Get(t, client.Pods, run.Namespace, run.Name)
			})
			return nil
		})
		loop.Start()
		for _, key := range []string{"demo/aa", "demo/bb", "demo/c"} {
			loop.Add(t, key)
			t.Sleep(time.Minute)
		}
		loop.Add(t, "demo/dddd")
		t.Sleep(time.Minute)
	})
	kinds := map[trace.ID]string{}
	var got []string
	for _, e := range b.Events {
		kinds[e.ID] = string(e.Kind)
		if p, ok := e.Payload.(*trace.ClientLimit); ok {
			kinds[e.ID] += fmt.Sprint(" ", p.Delay)
		}
		if r, ok := e.Payload.(*trace.Reconcile); ok && e.Kind == trace.ReconcileEnd {
			line := r.Key + ":"
			for _, id := range e.Causes {
				line += " " + kinds[id]
			}
			got = append(got, line)
		}
	}
	want := []string{"demo/aa: reconcile.start", "demo/bb: reconcile.start", "demo/c: reconcile.start", "demo/dddd: reconcile.start client.limit 2s"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
