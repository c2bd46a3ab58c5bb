package apiserver

import (
	"strconv"
	"testing"

	"k8s.io/utils/ptr"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// discard drops the trace of a benchmark but counts it.
func benchWorld(b *testing.B, fn func(w *world, t *sim.Task)) {
	w := run(b, Config{}, func(w *world, t *sim.Task) {
		_, err := w.admin().Create(t, client.ServiceAccounts, "default", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
		w.must(err)
		b.ReportAllocs()
		b.ResetTimer()
		fn(w, t)
		b.StopTimer()
	})
	b.ReportMetric(float64(len(w.sink.events))/float64(b.N), "events/op")
}

// replica is a pod as the ReplicaSet controller makes it.
func replica() *corev1.Pod {
	p := pod("")
	p.GenerateName = "web-5d8c7b6f9-"
	p.Labels = map[string]string{"app": "web", "pod-template-hash": "5d8c7b6f9"}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5d8c7b6f9", UID: "b6e6b6c6-0000-4000-8000-000000000001", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}}
	return p
}

func BenchmarkCreatePod(b *testing.B) {
	benchWorld(b, func(w *world, t *sim.Task) {
		c := w.s.Client(trace.Lane{Component: "replicaset-controller"}, authn.ServiceAccount("kube-system", "replicaset-controller"))
		for b.Loop() {
			if _, err := c.Create(t, client.Pods, "default", replica()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkUpdateStatus(b *testing.B) {
	benchWorld(b, func(w *world, t *sim.Task) {
		c := w.s.Client(trace.Lane{Component: "kubelet", Instance: "node-1"}, authn.Node("node-1"))
		p := replica()
		p.Spec.NodeName = "node-1"
		made, err := client.Create(t, w.admin(), client.Pods, "default", p)
		w.must(err)
		made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue}, {Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
		for i := 0; b.Loop(); i++ {
			made.Status.Message = strconv.Itoa(i)
			if made, err = client.UpdateStatus(t, c, client.Pods, "default", made); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		run(b, Config{}, func(*world, *sim.Task) {})
	}
}
