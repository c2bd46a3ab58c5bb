package clienttest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// Nodes stands in for the scheduler and the kubelets: it puts each pod on one
// of Names in turn, makes it ready after Start, and ends it Stop after its
// deletion. Pods whose image contains "broken" never become ready.
type Nodes struct {
	Names       []string
	Start, Stop time.Duration

	next int
	ip   int
}

// Run runs the pods of a server until its process ends.
func (n *Nodes) Run(p *sim.Process, c client.Interface) {
	p.Go("nodes", func(t *sim.Task) {
		w, err := c.Watch(t, client.Pods, "", metav1.ListOptions{})
		if err != nil {
			panic(err)
		}
		for {
			e, ok := w.Recv(t)
			if !ok {
				return
			}
			pod := e.Object.(*corev1.Pod)
			t.SetCauses(e.ID)
			switch {
			case e.Type == watch.Deleted:
			case pod.DeletionTimestamp != nil:
				n.after(t, n.Stop, "stop", pod, func(t *sim.Task) {
					zero := int64(0)
					_ = c.Delete(t, client.Pods, pod.Namespace, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
				})
			case e.Type == watch.Added:
				node := n.Names[n.next%len(n.Names)]
				n.next++
				n.after(t, 0, "bind", pod, func(t *sim.Task) {
					_, _ = c.CreateSub(t, client.Pods, pod.Namespace, pod.Name, "binding", &corev1.Binding{Target: corev1.ObjectReference{Name: node}})
				})
				if !broken(pod) {
					n.after(t, n.Start, "start", pod, func(t *sim.Task) { n.ready(t, c, pod) })
				}
			}
		}
	})
}

func (n *Nodes) after(t *sim.Task, d time.Duration, what string, pod *corev1.Pod, fn func(*sim.Task)) {
	causes := slices.Clone(t.Causes())
	t.Process().Go(what+"-"+pod.Name, func(t *sim.Task) {
		t.Sleep(d)
		t.SetCauses(causes...)
		fn(t)
	})
}

func broken(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return strings.Contains(c.Image, "broken") })
}

func (n *Nodes) ready(t *sim.Task, c client.Interface, pod *corev1.Pod) {
	now, err := client.Get[*corev1.Pod](t, c, client.Pods, pod.Namespace, pod.Name)
	if err != nil || now.DeletionTimestamp != nil {
		return
	}
	n.ip++
	started := metav1.NewTime(now.CreationTimestamp.Time)
	now.Status.Phase, now.Status.StartTime = corev1.PodRunning, &started
	now.Status.PodIP = fmt.Sprintf("10.244.0.%d", n.ip)
	now.Status.PodIPs = []corev1.PodIP{{IP: now.Status.PodIP}}
	now.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(t.Now())}}
	_, _ = client.UpdateStatus(t, c, client.Pods, pod.Namespace, now)
}
