package view

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/kubernetes/pkg/controller/daemon/util"
)

// Nodeless is a node on which a DaemonSet has no pod.
type Nodeless struct {
	Node *Object
	Why  string // why it is to have none; "" where one is to come
}

// Nodeless lists the nodes on which a DaemonSet has no pod, by name; none if there are more than so many nodes.
func (s *State) Nodeless(o *Object, most int) (list []Nodeless) {
	ds, ok := o.Value.(*appsv1.DaemonSet)
	if !ok {
		return nil
	}
	var nodes []*Object
	s.EachObject("nodes", "", func(n *Object) bool { nodes = append(nodes, n); return len(nodes) <= most })
	if len(nodes) > most {
		return nil
	}
	has := map[string]bool{}
	for _, p := range s.ChildrenOf(o.UID, "pods", 4*most) {
		if pod, ok := p.Value.(*corev1.Pod); ok {
			has[TargetOf(pod)] = true
		}
	}
	spec := ds.Spec.Template.Spec
	util.AddOrUpdateDaemonPodTolerations(&spec)
	affinity := nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity)
	for _, n := range nodes {
		if node, ok := n.Value.(*corev1.Node); ok && !has[node.Name] {
			why, _ := refuses(ds, spec.Tolerations, affinity, node)
			list = append(list, Nodeless{n, why})
		}
	}
	return list
}

// TargetOf is the node a pod is on, or for which a DaemonSet made it; "" for none.
func TargetOf(pod *corev1.Pod) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	name, _ := util.GetTargetNodeName(pod)
	return name
}
