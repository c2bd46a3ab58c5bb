package whatif

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/trace"
)

// tell describes a step: what would have to change about the node, or alternatively
// about the pod.
func (c *candidate) tell(pod *framework.PodInfo, node *framework.NodeInfo) trace.ChangeStep {
	switch c.kind {
	case cordon:
		return trace.ChangeStep{What: "uncordon it", Or: "tolerate " + corev1.TaintNodeUnschedulable}
	case taint:
		name := c.taints[0].ToString()
		if what := conditions[c.taints[0].Key]; what != "" {
			return trace.ChangeStep{What: what, Or: "tolerate " + name}
		}
		return trace.ChangeStep{What: "remove the taint " + name, Or: "tolerate it"}
	case label:
		by := "affinity"
		if _, ok := pod.Pod.Spec.NodeSelector[c.key]; ok {
			by = "nodeSelector"
		}
		or := fmt.Sprintf("take %s out of the pod's %s", c.key, by)
		if c.value == nil {
			return trace.ChangeStep{What: "take the label " + c.key + " off", Or: or}
		}
		return trace.ChangeStep{What: fmt.Sprintf("label it %s=%s", c.key, *c.value), Or: or}
	case gone:
		return trace.ChangeStep{What: "delete pod " + c.pod + c.ports(pod, node)}
	}
	if c.resource == corev1.ResourcePods {
		return trace.ChangeStep{What: fmt.Sprintf("room for %d more than its %d pods", c.more, node.Allocatable.AllowedPodNumber)}
	}
	step := trace.ChangeStep{
		What: fmt.Sprintf("%s more free %s", quantity(c.resource, c.more), c.resource),
		Or:   "request no " + string(c.resource),
	}
	if left := amount(&pod.Requests, c.resource) - c.more; left > 0 {
		step.Or = fmt.Sprintf("request at most %s", quantity(c.resource, left))
	}
	return step
}

// ports names the host ports that a pod has and the other wants.
func (c *candidate) ports(pod *framework.PodInfo, node *framework.NodeInfo) string {
	has := node.Pods[c.pod]
	if has == nil {
		return ""
	}
	var both []string
	for _, p := range pod.Ports {
		if slices.ContainsFunc(has.Ports, func(q corev1.ContainerPort) bool { return q.HostPort == p.HostPort }) {
			both = append(both, fmt.Sprint(p.HostPort))
		}
	}
	if len(both) == 0 {
		return ""
	}
	return ", which has host port " + strings.Join(both, ", ")
}

func quantity(name corev1.ResourceName, n int64) string {
	switch name {
	case corev1.ResourceCPU:
		return resource.NewMilliQuantity(n, resource.DecimalSI).String()
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return resource.NewQuantity(n, resource.BinarySI).String()
	}
	return resource.NewQuantity(n, resource.DecimalSI).String()
}
