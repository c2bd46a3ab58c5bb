package framework

// Topology says which nodes belong together by one label: those with the same value. Nodes
// are known by their slots, so that nobody looks at the labels of a thousand nodes for each pod.
type Topology struct {
	Domains int
	of      []int32
	has     []bool
}

// NewTopology looks at the labels of all nodes of a cluster.
func NewTopology(key string, nodes []*NodeInfo) *Topology {
	t := &Topology{}
	known := map[string]int32{}
	for _, n := range nodes {
		for n.Slot >= len(t.of) {
			t.of, t.has = append(t.of, 0), append(t.has, false)
		}
		value, ok := n.Node.Labels[key]
		domain, old := known[value]
		if !old {
			domain = int32(len(known))
			known[value] = domain
		}
		t.of[n.Slot], t.has[n.Slot] = domain, ok
	}
	t.Domains = len(known)
	return t
}

// Domain is the number of the node's domain. One without the label is counted to those where its
// value is "", as upstream's maps do.
func (t *Topology) Domain(n *NodeInfo) int { return int(t.of[n.Slot]) }

// Has reports whether the node has the label.
func (t *Topology) Has(n *NodeInfo) bool { return t.has[n.Slot] }

// Slots is more than the slot of any of the nodes.
func (t *Topology) Slots() int { return len(t.of) }
