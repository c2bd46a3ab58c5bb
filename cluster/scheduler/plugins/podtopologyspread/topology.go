package podtopologyspread

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/trace"
)

// Topology tells how the pods are spread that the constraints are about: of those that reject
// nodes as PreFilter counted them, of those that score in a cluster that is small enough to be looked at again.
func (pl *PodTopologySpread) Topology(state *framework.CycleState, pod *corev1.Pod, nodes []*framework.NodeInfo, names bool) []trace.TopologyConstraint {
	own := len(pod.Spec.TopologySpreadConstraints) > 0
	var told []trace.TopologyConstraint
	if s := framework.Read[*filterState](state, filterKey); s != nil {
		for i := range s.constraints {
			told = append(told, s.told(i, pod, nodes, own && names, !own))
		}
	}
	if s := framework.Read[*scoreState](state, scoreKey); s != nil && names {
		affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
		for i := range s.constraints {
			told = append(told, s.told(i, pod, nodes, affinity, own))
		}
	}
	return told
}

// head is what there is to say of a constraint besides its domains.
func (c *constraint) head(pod *corev1.Pod, isDefault bool) trace.TopologyConstraint {
	t := trace.TopologyConstraint{
		Plugin: Name, What: trace.TopologySpread, Default: isDefault, Key: c.topologyKey, Selector: c.selector.String(), MaxSkew: int(c.maxSkew),
	}
	if c.selector.Matches(labels.Set(pod.Labels)) {
		t.Self = 1
	}
	return t
}

func (s *filterState) told(i int, pod *corev1.Pod, nodes []*framework.NodeInfo, names, isDefault bool) trace.TopologyConstraint {
	c := &s.constraints[i]
	t := c.head(pod, isDefault)
	t.Hard, t.Min = true, s.fewest(i)
	if len(s.domains[i]) > 256 {
		t.More = len(s.domains[i]) // a thousand hostnames: the numbers alone
		return t
	}
	var d framework.Domains
	for value, is := range s.domains[i] { // Domains sorts them
		at := d.At(value)
		at.Nodes, at.Count = is.nodes, is.pods
		at.Refused = is.pods+t.Self-t.Min > t.MaxSkew
	}
	if names {
		for _, n := range nodes {
			if !labelled(n.Node, s.constraints) || !c.includes(pod, s.affinity, n.Node) {
				continue
			}
			if at := d.At(n.Node.Labels[c.topologyKey]); at != nil {
				count := at.Count
				c.name(&d, at, n, pod)
				at.Count = count
			}
		}
	}
	t.Domains, t.More = d.List()
	return t
}

func (s *scoreState) told(i int, pod *corev1.Pod, nodes []*framework.NodeInfo, affinity nodeaffinity.RequiredNodeAffinity, own bool) trace.TopologyConstraint {
	c := &s.constraints[i]
	t := c.head(pod, !own)
	var d framework.Domains
	for _, n := range nodes {
		value, ok := n.Node.Labels[c.topologyKey]
		if !ok {
			continue
		}
		at := d.At(value)
		if at == nil {
			continue
		}
		at.Nodes++
		switch {
		case !c.includes(pod, affinity, n.Node):
		case own:
			c.name(&d, at, n, pod)
		default:
			at.Count += matching(n, c.selector, pod.Namespace)
		}
	}
	t.Domains, t.More = d.List()
	return t
}

// name counts the pods of a node that the constraint is about, with their names.
func (c *constraint) name(d *framework.Domains, at *trace.TopologyDomain, n *framework.NodeInfo, pod *corev1.Pod) {
	if c.selector.Empty() {
		return
	}
	for _, p := range n.ByName() {
		if p.Pod.Namespace == pod.Namespace && p.Pod.DeletionTimestamp == nil && c.selector.Matches(labels.Set(p.Pod.Labels)) {
			d.Pod(at, p.Key)
		}
	}
}
