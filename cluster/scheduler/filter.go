package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// From a hundred nodes on the search stops when enough feasible ones are found
// (pkg/scheduler/schedule_one.go).
const (
	minFeasibleNodesToFind           = 100
	minFeasibleNodesPercentageToFind = 5
)

// numFeasibleNodesToFind is how many feasible nodes are enough: all of fewer
// than 100; else 50 % less one for each 125 nodes, at least 5 %, at least 100
// nodes.
func numFeasibleNodesToFind(percentage, all int) int {
	if all < minFeasibleNodesToFind {
		return all
	}
	if percentage == 0 {
		percentage = max(50-all/125, minFeasibleNodesPercentageToFind)
	}
	return max(all*percentage/100, minFeasibleNodesToFind)
}

// findNodesThatFitPod runs PreFilter, then Filter on one node after another.
//
// Mirrors pkg/scheduler/schedule_one.go findNodesThatFitPod.
func (s *Scheduler) findNodesThatFitPod(t *sim.Task, state *framework.CycleState, info *framework.QueuedPodInfo) ([]*framework.NodeInfo, *framework.Diagnosis, error) {
	all := s.cache.list()
	d := &framework.Diagnosis{}
	pre, err := s.runPreFilter(t, state, info, d)
	if err != nil || d.PreFilterMsg != "" {
		return nil, d, err
	}
	nodes := all
	if pre.names != nil {
		nodes = nil
		for _, n := range all {
			if pre.names[n.Node.Name] {
				nodes = append(nodes, n)
			}
		}
		d.Statuses.Absent = framework.NewStatus("", framework.UnschedulableAndUnresolvable,
			fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", slices.Sorted(maps.Keys(pre.by))))
		for name := range pre.by {
			d.AddPlugin(framework.NewStatus(name, framework.UnschedulableAndUnresolvable))
		}
	}
	s.offered(t, state, info)
	if node := s.nominatedNode(state, info, pre.names); node != nil {
		emitPoint(t, info, framework.Filter, pluginNames(s.activeFilters(state)), "the nominated node "+node.Node.Name+" is tried first, and fits: no other is looked at")
		return []*framework.NodeInfo{node}, d, nil
	}
	if node := s.offeredNode(t, state, info); node != nil {
		return []*framework.NodeInfo{node}, d, nil
	}
	feasible, err := s.findNodesThatPassFilters(t, state, info, nodes, d)
	s.nextStart = (s.nextStart + len(feasible) + d.Statuses.Len()) % len(all)
	return feasible, d, err
}

// offeredNode is the node that the cycle before has left over, if the pod fits there.
//
// Mirrors pkg/scheduler/schedule_one.go evaluateNominatedNode.
func (s *Scheduler) offeredNode(t *sim.Task, state *framework.CycleState, info *framework.QueuedPodInfo) *framework.NodeInfo {
	node := s.known(s.offer.node)
	if node == nil {
		return nil
	}
	plugins := s.activeFilters(state)
	if _, st := s.runFilters(state, info.PodInfo, node, plugins); st != nil {
		return nil
	}
	names := pluginNames(plugins)
	if s.shows() > 0 {
		v := verdict(info, node, names, nil)
		t.Emit(trace.Event{Kind: trace.SchedFilter, Object: info.Ref, Payload: &v})
	}
	emitPoint(t, info, framework.Filter, names, "the pod is as "+s.offer.like+" before it: "+node.Node.Name+", the next best of that cycle, is tried first, and fits: no other is looked at")
	return node
}

// preFiltered is what the PreFilter plugins said together.
type preFiltered struct {
	names map[string]bool // the only nodes that matter; nil means all
	by    map[string]bool // the plugins that narrowed
}

// runPreFilter mirrors framework/runtime/framework.go RunPreFilterPlugins.
func (s *Scheduler) runPreFilter(t *sim.Task, state *framework.CycleState, info *framework.QueuedPodInfo, d *framework.Diagnosis) (preFiltered, error) {
	pre := preFiltered{by: map[string]bool{}}
	state.SkipFilter = map[string]bool{}
	var idle, notes []string
	for _, pl := range s.profile.preFilter {
		r, st := pl.PreFilter(state, info.Pod, s.cache.list())
		switch {
		case st.IsSkip():
			state.SkipFilter[pl.Name()] = true
			idle = append(idle, pl.Name())
		case st.IsRejected():
			d.AddPlugin(st)
			d.PreFilterMsg = st.Message()
			d.Statuses.Absent = st
			emitPoint(t, info, framework.PreFilter, pluginNames(s.profile.preFilter), pl.Name()+" rejects the pod on every node: "+st.Message())
			return pre, nil
		case !st.IsSuccess():
			return pre, fmt.Errorf("running PreFilter plugin %q: %w", pl.Name(), st.Err())
		}
		if r == nil || r.NodeNames == nil {
			continue
		}
		pre.by[pl.Name()] = true
		if pre.names == nil {
			pre.names = r.NodeNames
		} else {
			maps.DeleteFunc(pre.names, func(n string, _ bool) bool { return !r.NodeNames[n] })
		}
		notes = append(notes, fmt.Sprintf("%s leaves %s to look at", pl.Name(), count(len(pre.names), "node")))
		if len(pre.names) == 0 {
			d.PreFilterMsg = fmt.Sprintf("node(s) didn't satisfy plugin(s) %v simultaneously", slices.Sorted(maps.Keys(pre.by)))
			for name := range pre.by {
				d.AddPlugin(framework.NewStatus(name, framework.UnschedulableAndUnresolvable))
			}
			break
		}
	}
	notes = append(nothingTo("do", idle), notes...)
	emitPoint(t, info, framework.PreFilter, pluginNames(s.profile.preFilter), strings.Join(notes, "; "))
	return pre, nil
}

// nothingTo says which plugins skip the pod, if any do.
func nothingTo(do string, plugins []string) []string {
	switch last := len(plugins) - 1; last {
	case -1:
		return nil
	case 0:
		return []string{plugins[0] + " has nothing to " + do + " for this pod"}
	default:
		return []string{strings.Join(plugins[:last], ", ") + " and " + plugins[last] + " have nothing to " + do + " for this pod"}
	}
}

// findNodesThatPassFilters looks at nodes, starting where the last cycle
// stopped, until enough are feasible.
func (s *Scheduler) findNodesThatPassFilters(t *sim.Task, state *framework.CycleState, info *framework.QueuedPodInfo, nodes []*framework.NodeInfo, d *framework.Diagnosis) ([]*framework.NodeInfo, error) {
	plugins := s.activeFilters(state)
	names := pluginNames(plugins)
	enough := numFeasibleNodesToFind(s.profile.percentage, len(nodes))
	if len(s.profile.score) == 0 {
		enough = 1 // nothing to choose by (schedule_one.go findNodesThatPassFilters)
	}
	for _, name := range names {
		if why := s.profile.unprepared["PreFilter"+name]; why != "" {
			return nil, fmt.Errorf("running %q filter plugin: %s", name, why)
		}
	}
	feasible := s.scratch.feasible[:0]
	verdicts := make([]trace.FilterVerdict, min(s.shows(), len(nodes)))
	looked := 0
	for ; looked < len(nodes) && len(feasible) < enough; looked++ {
		node := nodes[(s.nextStart+looked)%len(nodes)]
		passed, st := s.runFilters(state, info.PodInfo, node, plugins)
		if st.Code() == framework.Error {
			return nil, fmt.Errorf("running %q filter plugin: %w", plugins[passed].Name(), st.Err())
		}
		if looked < len(verdicts) {
			verdicts[looked] = verdict(info, node, names[:passed:passed], st)
			t.Emit(trace.Event{Kind: trace.SchedFilter, Object: info.Ref, Payload: &verdicts[looked]})
		}
		if st == nil {
			feasible = append(feasible, node)
			continue
		}
		d.Statuses.Set(node.Node.Name, st)
		d.AddPlugin(st)
	}
	s.scratch.feasible = feasible
	note := fmt.Sprintf("%d of %s feasible", len(feasible), count(looked, "node"))
	if looked < len(nodes) {
		note = fmt.Sprintf("looked at %d of %d nodes, until %d feasible ones were found: enough to choose from", looked, len(nodes), len(feasible))
	}
	emitPoint(t, info, framework.Filter, names, note+s.shown(looked))
	return feasible, nil
}

// shown says for how many nodes the trace has the details.
func (s *Scheduler) shown(nodes int) string {
	if nodes <= s.shows() {
		return ""
	}
	return fmt.Sprintf("; details of %d are shown", s.shows())
}

func verdict(info *framework.QueuedPodInfo, node *framework.NodeInfo, passed []string, st *framework.Status) trace.FilterVerdict {
	v := trace.FilterVerdict{Pod: info.Key, Node: node.Node.Name, Passed: passed}
	if st != nil {
		v.By, v.Code, v.Reasons = st.Plugin(), st.Code().String(), st.Reasons()
	}
	return v
}

// activeFilters are the filter plugins that have something to do.
func (s *Scheduler) activeFilters(state *framework.CycleState) []framework.FilterPlugin {
	plugins := make([]framework.FilterPlugin, 0, len(s.profile.filter))
	for _, pl := range s.profile.filter {
		if !state.SkipFilter[pl.Name()] {
			plugins = append(plugins, pl)
		}
	}
	return plugins
}

// runFilters judges one node; passed is how many plugins let it pass.
//
// A node on which room is being made for another pod of at least this pod's
// priority is judged twice: as if that pod were there already, and without it,
// since it may never come.
//
// Mirrors framework/runtime/framework.go RunFilterPluginsWithNominatedPods.
func (s *Scheduler) runFilters(state *framework.CycleState, pod *framework.PodInfo, node *framework.NodeInfo, plugins []framework.FilterPlugin) (passed int, st *framework.Status) {
	if nominated := s.nominator.on(node, pod); len(nominated) > 0 {
		state, with := state.Clone(), node.Clone()
		for _, p := range nominated {
			s.AddPod(state, pod.Pod, p, with)
		}
		for i, pl := range plugins {
			if st := pl.Filter(state, pod.Pod, with); st != nil {
				return i, st
			}
		}
	}
	for i, pl := range plugins {
		if st := pl.Filter(state, pod.Pod, node); st != nil {
			return i, st
		}
	}
	return len(plugins), nil
}
