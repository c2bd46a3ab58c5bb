package scheduler

import (
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/trace"
)

// maxConstraints is how many constraints a decision tells of.
const maxConstraints = 8

// topology has a decision tell how the pods are spread that the pod's constraints are about. A pod
// that is not spread and has no affinity costs two looks into the state.
func (s *Scheduler) topology(state *framework.CycleState, pod *framework.PodInfo, chosen *framework.NodeInfo, d *trace.Decision) {
	all := s.cache.list()
	names := len(all) <= s.shows()
	for _, pl := range s.profile.all {
		teller, ok := pl.(framework.TopologyTeller)
		if !ok {
			continue
		}
		for _, c := range teller.Topology(state, pod.Pod, all, names) {
			if len(d.Topology) >= maxConstraints {
				d.Unlisted++
				continue
			}
			if chosen != nil {
				mark(&c, chosen)
			}
			d.Topology = append(d.Topology, c)
		}
	}
}

// mark marks the domain that the chosen node belongs to.
func mark(c *trace.TopologyConstraint, chosen *framework.NodeInfo) {
	value, ok := chosen.Node.Labels[c.Key]
	for i := range c.Domains {
		c.Domains[i].Chosen = ok && c.Domains[i].Value == value
	}
}
