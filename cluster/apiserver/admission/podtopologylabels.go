package admission

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// PodTopologyLabels is the plugin of that name
// (plugin/pkg/admission/podtopologylabels): a pod that gets a node gets the node's
// region and zone as labels, by its Binding or, if it is made for a node, at once. A
// node that is not there has none.
type PodTopologyLabels struct{ lister Lister }

// NewPodTopologyLabels makes the plugin.
func NewPodTopologyLabels(l Lister) *PodTopologyLabels { return &PodTopologyLabels{l} }

// Name is [Plugin].
func (*PodTopologyLabels) Name() string { return "PodTopologyLabels" }

// topologyLabels are those that a pod has from its node.
var topologyLabels = []string{corev1.LabelTopologyRegion, corev1.LabelTopologyZone}

// Admit is [Mutating].
func (p *PodTopologyLabels) Admit(_ *request.Scope, a *Attributes) (Result, error) {
	if a.Operation != Create {
		return Result{}, nil
	}
	if pod := newPod(a); pod != nil {
		diff := p.label(pod.Spec.NodeName, &pod.Labels)
		if len(diff) == 0 {
			return Result{}, nil
		}
		return Result{Note: "labelled the pod with the region and zone of its node.", Diff: diff}, nil
	}
	b, ok := a.Sent.(*corev1.Binding)
	if !ok || a.Subresource != "binding" || b.Target.Kind != "Node" {
		return Result{}, nil
	}
	diff := p.label(b.Target.Name, &b.Labels)
	if len(diff) == 0 {
		return Result{}, nil
	}
	return Result{Note: "labelled the Binding, and so the pod, with the region and zone of the node.", Diff: diff}, nil
}

// label copies the labels of the node, over what there is.
func (p *PodTopologyLabels) label(name string, labels *map[string]string) (diff []trace.FieldDiff) {
	if name == "" {
		return nil
	}
	node, ok := p.lister.Get(client.Nodes, "", name).(*corev1.Node)
	if !ok {
		return nil
	}
	for _, key := range topologyLabels {
		value, has := node.Labels[key]
		if !has {
			continue
		}
		if diff == nil { // the map is the client's
			*labels = maps.Clone(*labels)
			if *labels == nil {
				*labels = map[string]string{}
			}
		}
		d := trace.FieldDiff{Path: "metadata.labels[" + key + "]", To: strconv.Quote(value)}
		if old, was := (*labels)[key]; was {
			d.From = strconv.Quote(old)
		}
		(*labels)[key] = value
		diff = append(diff, d)
	}
	return diff
}
