package apiserver

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

func TestSmoke(t *testing.T) {
	w := run(t, Config{}, func(w *world, task *sim.Task) {
		c := w.admin()
		n := len(w.sink.events)
		watch, err := c.Watch(task, client.ConfigMaps, "default", metav1.ListOptions{})
		w.must(err)
		cm, err := client.Create(task, c, client.ConfigMaps, "default", configMap("a", "k", "v"))
		w.must(err)
		e, ok := watch.Recv(task)
		t.Log(e.Type, ok, e.Revision)
		cm.Data["k"] = "w"
		_, err = client.Update(task, c, client.ConfigMaps, "default", cm)
		w.must(err)
		_, err = client.Update(task, c, client.ConfigMaps, "default", cm)
		t.Log(err)
		items, rev, err := c.List(task, client.ConfigMaps, "", metav1.ListOptions{})
		t.Log(len(items), rev, err)
		w.must(c.Delete(task, client.ConfigMaps, "default", "a", metav1.DeleteOptions{}))
		_, err = c.Create(task, client.ServiceAccounts, "default", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
		w.must(err)
		p, err := client.Create(task, c, client.Pods, "default", pod("web"))
		w.must(err)
		_, err = c.CreateSub(task, client.Pods, "default", "web", "binding", &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Target: corev1.ObjectReference{Kind: "Node", Name: "node-1"}})
		w.must(err)
		p, err = client.Get[*corev1.Pod](task, c, client.Pods, "default", "web")
		w.must(err)
		p.Status.Phase = corev1.PodRunning
		_, err = client.UpdateStatus(task, c, client.Pods, "default", p)
		w.must(err)
		w.must(c.Delete(task, client.Pods, "default", "web", metav1.DeleteOptions{}))
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
		_, err = c.Create(task, client.Nodes, "", node)
		w.must(err)
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Type: "NodePort", Ports: []corev1.ServicePort{{Port: 80}}}}
		_, err = c.Create(task, client.Services, "default", svc)
		w.must(err)
		t.Log(transcript(w.sink.events[n:]))
	})
	t.Log(len(w.sink.events), w.k.Elapsed())
}
