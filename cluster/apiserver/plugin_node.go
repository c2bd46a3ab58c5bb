package apiserver

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// Plugins that know nodes: TaintNodesByCondition, PodTopologyLabels.

// admitTaintNodes is the TaintNodesByCondition plugin
// (plugin/pkg/admission/nodetaint): a new node is not ready until its kubelet
// says so.
func admitTaintNodes(c *call, op operation) (string, []trace.FieldDiff, error) {
	n, ok := c.obj.(*corev1.Node)
	if !ok || op != opCreate {
		return "", nil, nil
	}
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady && t.Effect == corev1.TaintEffectNoSchedule {
			return "", nil, nil
		}
	}
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule})
	return "tainted the node as not ready, until its kubelet reports otherwise.",
		[]trace.FieldDiff{{Path: "spec.taints", To: `[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]`}}, nil
}

// topologyLabels are those that a pod has from its node.
var topologyLabels = []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone}

// admitTopology is the PodTopologyLabels plugin
// (plugin/pkg/admission/podtopologylabels): a pod that gets a node gets the node's
// region and zone as labels, by its Binding or, if it is made for a node, at once. A
// node that is not there has none.
func admitTopology(c *call, op operation) (string, []trace.FieldDiff, error) {
	if op != opCreate {
		return "", nil, nil
	}
	if p := newPod(c, op); p != nil {
		diff := c.labelTopology(p.Spec.NodeName, &p.Labels)
		if len(diff) == 0 {
			return "", nil, nil
		}
		return "labelled the pod with the region and zone of its node.", diff, nil
	}
	b, ok := c.sent.(*corev1.Binding)
	if !ok || c.req.Subresource != "binding" || b.Target.Kind != "Node" {
		return "", nil, nil
	}
	diff := c.labelTopology(b.Target.Name, &b.Labels)
	if len(diff) == 0 {
		return "", nil, nil
	}
	return "labelled the Binding, and so the pod, with the region and zone of the node.", diff, nil
}

// labelTopology copies the labels of the node, over what there is.
func (c *call) labelTopology(node string, labels *map[string]string) (diff []trace.FieldDiff) {
	en := c.s.cacheOf(registry.KindFor(client.Nodes.GroupVersionResource)).Get(node)
	if node == "" || en == nil {
		return nil
	}
	for _, key := range topologyLabels {
		value, has := en.Object.(*corev1.Node).Labels[key]
		if !has {
			continue
		}
		if diff == nil { // the map is the client's
			*labels = maps.Clone(*labels)
			if *labels == nil {
				*labels = map[string]string{}
			}
		}
		d := trace.FieldDiff{Path: "metadata.labels[" + key + "]", To: quoted(value)}
		if old, was := (*labels)[key]; was {
			d.From = quoted(old)
		}
		(*labels)[key] = value
		diff = append(diff, d)
	}
	return diff
}
