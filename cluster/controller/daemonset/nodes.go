package daemonset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	upstream "k8s.io/kubernetes/pkg/controller/daemon"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// syncNode finds the DaemonSets that a new or changed node concerns (syncNodeUpdate).
func (c *Controller) syncNode(run *reconcile.Run) error {
	obj, ok := c.nodes.Get(run.Key)
	if !ok {
		return nil
	}
	node := obj.(*corev1.Node)
	has := map[string]bool{}
	for _, obj := range c.pods.List() {
		pod := obj.(*corev1.Pod)
		if ref := metav1.GetControllerOfNoCopy(pod); pod.Spec.NodeName == node.Name && ref != nil && ref.Kind == client.DaemonSets.Kind {
			has[pod.Namespace+"/"+ref.Name] = true
		}
	}
	for _, obj := range c.sets.List() {
		ds := obj.(*appsv1.DaemonSet)
		should, may := shouldRun(node, ds)
		scheduled := has[ds.Namespace+"/"+ds.Name]
		if should && !scheduled || !may && scheduled || scheduled && ds.Status.NumberMisscheduled > 0 {
			c.enqueue(run.T, ds)
		}
	}
	return nil
}

// shouldRun reports whether a pod of ds should run on a node, and whether one that runs there may
// stay: a NoSchedule taint that came later does not drive it away.
func shouldRun(node *corev1.Node, ds *appsv1.DaemonSet) (should, may bool) {
	return upstream.NodeShouldRunDaemonPod(klog.Background(), node, ds)
}
