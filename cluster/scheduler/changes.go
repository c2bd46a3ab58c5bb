package scheduler

import (
	"slices"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/scheduler/whatif"
	"kviz/cluster/trace"
)

// changes is what would have to change on each node for the pod to fit there, the
// smallest first. The filters of the cycle are asked again, about copies of its nodes, at the
// same instant; of as many nodes as the trace has verdicts of.
func (s *Scheduler) changes(state *framework.CycleState, pod *framework.PodInfo, fit *framework.FitError) []trace.NodeChange {
	if fit.Diagnosis.PreFilterMsg != "" {
		return nil // it is the pod that fits nowhere, whatever the nodes are like
	}
	// What has nothing to do now may have with another label or pod.
	state = state.Clone()
	for _, pl := range s.profile.preFilterExtensions {
		delete(state.SkipFilter, pl.Name())
	}
	plugins := s.activeFilters(state)
	byNode := map[string]*framework.NodeInfo{}
	ask := func(pod *framework.PodInfo, node *framework.NodeInfo) *framework.Status {
		state := state
		if was := byNode[node.Node.Name]; was != node {
			state = state.Clone()
			for _, pl := range s.profile.preFilterExtensions {
				pl.ReplaceNode(state, pod.Pod, was, node)
			}
		}
		_, st := s.runFilters(state, pod, node, plugins)
		return st
	}
	statuses := &fit.Diagnosis.Statuses
	var found []whatif.Change
	for _, node := range s.cache.list() {
		if len(found) >= s.shows() {
			break
		}
		byNode[node.Node.Name] = node
		if absent := statuses.Absent; absent != nil && statuses.Of(node.Node.Name) == absent {
			found = append(found, whatif.Change{Node: node.Node.Name, Never: absent.Message()})
			continue
		}
		found = append(found, whatif.Node(ask, pod, node))
	}
	slices.SortStableFunc(found, func(a, b whatif.Change) int { return whatif.Compare(&a, &b) })
	told := make([]trace.NodeChange, 0, len(found))
	for _, c := range found {
		told = append(told, c.Told(pod, byNode[c.Node]))
	}
	return told
}
