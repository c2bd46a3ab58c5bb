package controller_test

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// An object at which a controller panics is named in the trace and in a Warning, and tried again less and
// less often; other objects are looked after, and so they are by the next process that finds it stored.
func TestAPanicIsOfOneObject(t *testing.T) {
	around := func(queue string, sync reconcile.Sync) reconcile.Sync {
		return func(run *reconcile.Run) error {
			if queue == "replicaset" && run.Name == "bad" {
				made := map[string]map[string]int{}
				made[run.Namespace][run.Name] = 1
			}
			return sync(run)
		}
	}
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		begin := func(name string) *sim.Process {
			p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM, Instance: name})
			controller.Start(p, b.Client(), controller.Config{Identity: name, RootCA: "PEM", Around: around})
			return p
		}
		one := func(name string) {
			labels := map[string]string{"app": name}
			n := int32(2)
			clienttest.Must(client.Create(t, c, client.ReplicaSets, "default", &appsv1.ReplicaSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
				Spec: appsv1.ReplicaSetSpec{Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
				}},
			}))
		}
		first := begin("a")
		one("bad")
		one("good")
		t.Sleep(time.Minute)
		first.Kill()
		begin("b")
		t.Sleep(30 * time.Second)
		one("later")
		t.Sleep(time.Minute)
	})
	ended, warned := 0, 0
	made := map[string]int{}
	for _, e := range b.Events {
		switch p := e.Payload.(type) {
		case *trace.Reconcile:
			if e.Kind == trace.ReconcileEnd && p.Key == "default/bad" && p.Controller == "replicaset-controller" {
				if ended++; p.Result != "error" || !strings.Contains(p.Error, "panic: assignment to entry in nil map (controller_test.TestAPanicIsOfOneObject") {
					t.Errorf("a run ended with %+v", p)
				}
			}
		case *trace.KubeEvent:
			if p.Reason == "ControllerPanic" && p.Type == corev1.EventTypeWarning && p.Regarding.Kind == "ReplicaSet" && p.Regarding.Name == "bad" {
				warned++
			}
		case *trace.Action:
			if p.Verb == "create" && p.Target.Kind == "Pod" {
				made[strings.TrimPrefix(p.Key, "default/")]++
			}
		}
	}
	if ended < 8 || ended > 40 || warned == 0 {
		t.Errorf("it was tried %d times, with %d Warnings", ended, warned)
	}
	if made["good"] == 0 || made["later"] == 0 || made["bad"] > 0 {
		t.Errorf("pods were made for %v", made)
	}
}
