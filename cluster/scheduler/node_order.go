package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/scheduler/framework"
)

// nodeOrder is the order in which nodes are tried: one of each zone in turn, so
// that a sample of the nodes is spread over the zones.
//
// Mirrors pkg/scheduler/backend/cache/node_tree.go nodeTree.
type nodeOrder struct {
	zones  []string
	byZone map[string][]string
	cached []*framework.NodeInfo // nil when it must be computed again
}

func zoneOf(n *corev1.Node) string {
	return n.Labels[corev1.LabelTopologyRegion] + "\x00" + n.Labels[corev1.LabelTopologyZone]
}

func (o *nodeOrder) add(n *corev1.Node) {
	zone := zoneOf(n)
	if o.byZone == nil {
		o.byZone = map[string][]string{}
	}
	if slices.Contains(o.byZone[zone], n.Name) {
		return
	}
	if _, ok := o.byZone[zone]; !ok {
		o.zones = append(o.zones, zone)
	}
	o.byZone[zone] = append(o.byZone[zone], n.Name)
	o.cached = nil
}

func (o *nodeOrder) remove(n *corev1.Node) {
	zone := zoneOf(n)
	names := slices.DeleteFunc(o.byZone[zone], func(s string) bool { return s == n.Name })
	o.byZone[zone] = names
	if len(names) == 0 {
		delete(o.byZone, zone)
		o.zones = slices.DeleteFunc(o.zones, func(s string) bool { return s == zone })
	}
	o.cached = nil
}

func (o *nodeOrder) list(nodes map[string]*framework.NodeInfo) []*framework.NodeInfo {
	if o.cached != nil {
		return o.cached
	}
	for i, more := 0, true; more; i++ {
		more = false
		for _, zone := range o.zones {
			if names := o.byZone[zone]; i < len(names) {
				o.cached = append(o.cached, nodes[names[i]])
				more = true
			}
		}
	}
	return o.cached
}
