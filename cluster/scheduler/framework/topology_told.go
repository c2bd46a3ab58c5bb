package framework

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// TopologyTeller tells how the pods are spread that a pod's constraints are about, as the plugin
// counted them in the cycle. It is this project's own, for the trace; it is asked once a cycle.
type TopologyTeller interface {
	Plugin
	// Topology lists the constraints. Where names is false the cluster is too big to look at every pod again:
	// what is known without that is told.
	Topology(state *CycleState, pod *corev1.Pod, nodes []*NodeInfo, names bool) []trace.TopologyConstraint
}

// What is told of a constraint is bounded.
const (
	maxDomains   = 32  // listed
	maxCounted   = 256 // looked at to find which to list
	maxPods      = 8   // named in a domain
	maxNamedPods = 64  // named in a constraint
)

// ByName are the pods of the node in the order of their names, for what is told of some of them.
func (n *NodeInfo) ByName() []*PodInfo {
	list := make([]*PodInfo, 0, len(n.Pods))
	for _, key := range slices.Sorted(maps.Keys(n.Pods)) {
		list = append(list, n.Pods[key])
	}
	return list
}

// Domains collects the domains of one constraint.
type Domains struct {
	by    map[string]*trace.TopologyDomain
	named int
	more  int
}

// At is the domain of a value; nil if there are too many.
func (d *Domains) At(value string) *trace.TopologyDomain {
	if at := d.by[value]; at != nil {
		return at
	}
	if len(d.by) >= maxCounted {
		d.more++
		return nil
	}
	if d.by == nil {
		d.by = map[string]*trace.TopologyDomain{}
	}
	at := &trace.TopologyDomain{Value: value}
	d.by[value] = at
	return at
}

// Pod counts a pod in, and names it if there is room.
func (d *Domains) Pod(at *trace.TopologyDomain, key string) {
	at.Count++
	if len(at.Pods) < maxPods && d.named < maxNamedPods {
		at.Pods = append(at.Pods, key)
		d.named++
	}
}

// List gives the domains by value. Of too many, those with the fewest and the most pods are taken;
// more is how many are left out.
func (d *Domains) List() (list []trace.TopologyDomain, more int) {
	all := make([]*trace.TopologyDomain, 0, len(d.by))
	for _, at := range d.by { // sorted below
		all = append(all, at)
	}
	slices.SortFunc(all, func(a, b *trace.TopologyDomain) int {
		return cmp.Or(cmp.Compare(a.Count, b.Count), cmp.Compare(a.Sum, b.Sum), cmp.Compare(a.Value, b.Value))
	})
	if n := len(all); n > maxDomains {
		all = slices.Concat(all[:maxDomains/2], all[n-maxDomains/2:])
	}
	slices.SortFunc(all, func(a, b *trace.TopologyDomain) int { return cmp.Compare(a.Value, b.Value) })
	for _, at := range all {
		list = append(list, *at)
	}
	return list, len(d.by) - len(all) + d.more
}
