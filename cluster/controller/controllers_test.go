package controller_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller"
	"kviz/cluster/controller/replicaset"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"

	"pgregory.net/rapid"
)

// startOf starts the controllers in a process of their own.
func startOf(b *clienttest.Bench, each *controller.Controllers) *sim.Process {
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	controller.Run(p, b.Client(), controller.Config{RootCA: "PEM", Controllers: each})
	return p
}

func replicas(n int32) *appsv1.ReplicaSet {
	set := map[string]string{"app": "web"}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: set},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: set}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "web:1"}}}},
		},
	}
}

// remove deletes a pod at once.
func remove(t *sim.Task, c client.Interface, pod string) {
	now := int64(0)
	clienttest.Must(0, c.Delete(t, client.Pods, "demo", pod, metav1.DeleteOptions{GracePeriodSeconds: &now}))
}

func podsOf(b *clienttest.Bench) (names []string) {
	for _, o := range b.Objects(client.Pods) {
		names = append(names, o.(*corev1.Pod).Name)
	}
	return names
}

// One controller stops, the others go on; it stays down when the process starts again, and
// when it is started it does what it has missed. How often a change comes into its queue is
// the same in its tenth life as in its first.
func TestOneControllerStops(t *testing.T) {
	const name = replicaset.Name
	each := controller.NewControllers()
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		p := startOf(b, each)
		clienttest.Must(client.Create(t, c, client.ReplicaSets, "demo", replicas(2)))
		t.Sleep(5 * time.Second)
		clienttest.Note(t, "a pod is deleted")
		remove(t, c, podsOf(b)[0])
		t.Sleep(5 * time.Second)
		clienttest.Note(t, "the controller stops, and a pod is deleted")
		each.Stop(name, nil, "fault: stop")
		remove(t, c, podsOf(b)[0])
		t.Sleep(time.Minute)
		clienttest.Note(t, "the process starts again")
		p.Kill()
		startOf(b, each)
		t.Sleep(time.Minute)
		clienttest.Note(t, "the controller starts")
		each.Start(name, nil, "started again")
		t.Sleep(5 * time.Second)
		clienttest.Note(t, "it starts nine times more")
		for range 3 {
			each.Stop(name, nil, "fault: stop")
			each.Start(name, nil, "started again")
			each.Restart(name, nil, "fault: restart")
			each.Crash(name, nil, "fault: crash")
			each.Crash(name, nil, "fault: crash") // what is down stays as it is
			each.Start(name, nil, "started again")
			each.Start(name, nil, "started again")
		}
		t.Sleep(5 * time.Second)
		clienttest.Note(t, "a pod is deleted")
		remove(t, c, podsOf(b)[0])
		t.Sleep(5 * time.Second)
	})
	var out strings.Builder
	for _, line := range strings.SplitAfter(b.Transcript(trace.ReconcileAction, trace.CommandStart, trace.ProcessStart, trace.ProcessExit, trace.QueueAdd), "\n") {
		if strings.Contains(line, name) || strings.Contains(line, "test ") {
			out.WriteString(line)
		}
	}
	clienttest.Golden(t, "one-stops.txt", out.String())
}

// What is stopped in the midst of its run ends the run first; what is crashed does not.
func TestStopWaitsForTheRun(t *testing.T) {
	for _, end := range []string{"stop", "crash"} {
		each := controller.NewControllers()
		const name = replicaset.Name
		b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
			startOf(b, each)
			t.Sleep(time.Second)
			each.Slow(name, 10*time.Second)
			clienttest.Must(client.Create(t, b.Client(), client.ReplicaSets, "demo", replicas(2)))
			t.Sleep(5 * time.Second)
			switch end {
			case "stop":
				each.Stop(name, nil, "fault: stop")
			case "crash":
				each.Crash(name, nil, "fault: crash")
			}
			t.Sleep(time.Minute)
		})
		var order []string
		for _, e := range b.Events {
			if e.Lane.Component == name && slices.Contains([]trace.Kind{trace.ReconcileStart, trace.ReconcileEnd, trace.ProcessExit}, e.Kind) {
				order = append(order, string(e.Kind))
			}
		}
		want := "reconcile.start process.exit"
		if end == "stop" {
			want = "reconcile.start reconcile.end process.exit"
		}
		if got := strings.Join(order, " "); got != want {
			t.Errorf("%s: %s, want %s", end, got, want)
		}
		if made := len(podsOf(b)); (made == 2) != (end == "stop") {
			t.Errorf("%s: %d pods are made", end, made)
		}
	}
}

// Whatever controllers are stopped, crashed, slowed and started, and whenever: in the end,
// with all of them at work, there is what is wanted.
func TestControllersComeAndGo(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		each := controller.NewControllers()
		seed := rapid.Uint64().Draw(r, "seed")
		b := clienttest.Run(r, seed, func(b *clienttest.Bench, t *sim.Task) {
			c := b.Client()
			startOf(b, each)
			clienttest.Must(client.Create(t, c, client.Namespaces, "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}))
			two := int32(2)
			spec := replicas(2).Spec
			clienttest.Must(client.Create(t, c, client.Deployments, "demo", &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"},
				Spec:       appsv1.DeploymentSpec{Replicas: &two, Selector: spec.Selector, Template: spec.Template, Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}},
			}))
			names := each.Names()
			often := []string{"deployment-controller", "replicaset-controller", "garbage-collector-controller"}
			for range rapid.IntRange(1, 12).Draw(r, "steps") {
				name := rapid.OneOf(rapid.SampledFrom(often), rapid.SampledFrom(names)).Draw(r, "name")
				switch rapid.IntRange(0, 5).Draw(r, "what") {
				case 0:
					each.Stop(name, nil, "fault: stop")
				case 1:
					each.Crash(name, nil, "fault: crash")
				case 2:
					each.Start(name, nil, "started again")
				case 3:
					each.Restart(name, nil, "fault: restart")
				case 4:
					each.Slow(name, time.Duration(rapid.IntRange(0, 2000).Draw(r, "ms"))*time.Millisecond)
				case 5:
					if all := podsOf(b); len(all) > 0 {
						remove(t, c, all[0])
					}
				}
				t.Sleep(time.Duration(rapid.IntRange(0, 3000).Draw(r, "wait")) * time.Millisecond)
			}
			for _, name := range names {
				each.Slow(name, 0)
				each.Start(name, nil, "started again")
			}
			t.Sleep(10 * time.Minute)
		})
		d := b.Object(client.Deployments, "demo", "web").(*appsv1.Deployment)
		if len(podsOf(b)) != 2 || d.Status.Replicas != 2 || b.Object(client.ConfigMaps, "demo", "kube-root-ca.crt") == nil {
			r.Fatalf("pods %v, status %+v", podsOf(b), d.Status)
		}
	})
}
