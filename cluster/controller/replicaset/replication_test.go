package replicaset_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/replicaset"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func TestReplicationControllerKeepsItsNumber(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		(&clienttest.Nodes{Names: []string{"node-1", "node-2"}, Start: 2 * time.Second, Stop: 5 * time.Second}).Run(t.Process(), c)
		p := b.Kernel.NewProcess(trace.Lane{Component: "controller-manager"})
		f := informer.NewFactory(p, p.Lane, c)
		replicaset.New(reconcile.NewEnv(p, replicaset.Name, replicaset.Name, c, f, 1)).Start()
		replicaset.NewReplication(reconcile.NewEnv(p, replicaset.ReplicationName, replicaset.ReplicationSource, c, f, 1)).Start()
		f.Start()
		clienttest.Note(t, "a ReplicaSet of the same name and with the same labels has pods of its own")
		clienttest.Must(client.Create(t, c, client.ReplicaSets, "demo", web(1)))
		t.Sleep(10 * time.Second)
		clienttest.Note(t, "create the ReplicationController web with 3 replicas; a pod that nobody owns is there")
		clienttest.Must(client.Create(t, c, client.Pods, "demo", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "lonely", Labels: map[string]string{"app": "old"}}}))
		three := int32(3)
		clienttest.Must(client.Create(t, c, client.ReplicationControllers, "demo", &corev1.ReplicationController{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "web"},
			Spec:       corev1.ReplicationControllerSpec{Replicas: &three, Selector: map[string]string{"app": "old"}, Template: old()},
		}))
		t.Sleep(20 * time.Second)
		clienttest.Note(t, "scale to 1")
		rc := clienttest.Must(client.Get[*corev1.ReplicationController](t, c, client.ReplicationControllers, "demo", "web"))
		one := int32(1)
		rc.Spec.Replicas = &one
		clienttest.Must(client.Update(t, c, client.ReplicationControllers, "demo", rc))
		t.Sleep(20 * time.Second)
	})
	clienttest.Golden(t, "replication-controller.txt", b.Transcript(story...))
	rc := b.Object(client.ReplicationControllers, "demo", "web").(*corev1.ReplicationController)
	if want := (corev1.ReplicationControllerStatus{Replicas: 1, FullyLabeledReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, ObservedGeneration: rc.Generation}); rc.Status.Replicas != want.Replicas ||
		rc.Status.FullyLabeledReplicas != want.FullyLabeledReplicas || rc.Status.ReadyReplicas != want.ReadyReplicas || rc.Status.AvailableReplicas != want.AvailableReplicas || rc.Status.ObservedGeneration != want.ObservedGeneration {
		t.Errorf("the status is %+v", rc.Status)
	}
	for _, obj := range b.Objects(client.Pods) {
		pod := obj.(*corev1.Pod)
		if ref := metav1.GetControllerOf(pod); pod.Labels["app"] == "old" && (ref == nil || ref.APIVersion != "v1" || ref.Kind != "ReplicationController" || ref.UID != rc.UID) {
			t.Errorf("%s is controlled by %v", pod.Name, ref)
		}
	}
}

func old() *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "old"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "web:1"}}},
	}
}
