package daemonset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon/util"

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
	for _, obj := range c.pods.ByIndex(onNode, node.Name) {
		pod := obj.(*corev1.Pod)
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && ref.Kind == client.DaemonSets.Kind {
			has[pod.Namespace+"/"+ref.Name] = true
		}
	}
	for _, obj := range c.sets.List() {
		ds := obj.(*appsv1.DaemonSet)
		should, may := placeOf(ds).on(node)
		scheduled := has[ds.Namespace+"/"+ds.Name]
		if should && !scheduled || !may && scheduled || scheduled && ds.Status.NumberMisscheduled > 0 {
			c.enqueue(run.T, ds)
		}
	}
	return nil
}

// place is where the pods of a DaemonSet may run.
type place struct {
	node        string // the only one, where the template names it
	tolerations []corev1.Toleration
	affinity    nodeaffinity.RequiredNodeAffinity
}

// placeOf reads it from the template, once for all nodes: to read the affinity takes longer than
// to compare it with a node.
func placeOf(ds *appsv1.DaemonSet) place {
	spec := ds.Spec.Template.Spec
	util.AddOrUpdateDaemonPodTolerations(&spec)
	return place{spec.NodeName, spec.Tolerations, nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity)}
}

// on reports whether a pod should run on a node, and whether one that runs there may stay: a
// NoSchedule taint that came later does not drive it away (nodeShouldRunDaemonPod).
func (p place) on(node *corev1.Node) (should, may bool) {
	if p.node != "" && p.node != node.Name {
		return false, false
	}
	if fits, _ := p.affinity.Match(node); !fits { // one that cannot be read fits nowhere
		return false, false
	}
	if p.tolerates(node, corev1.TaintEffectNoExecute, corev1.TaintEffectNoSchedule) {
		return true, true
	}
	return false, p.tolerates(node, corev1.TaintEffectNoExecute)
}

func (p place) tolerates(node *corev1.Node, effects ...corev1.TaintEffect) bool {
	_, kept := v1helper.FindMatchingUntoleratedTaint(klog.Logger{}, node.Spec.Taints, p.tolerations, func(t *corev1.Taint) bool {
		for _, e := range effects {
			if t.Effect == e {
				return true
			}
		}
		return false
	}, false)
	return !kept
}
