package scheduler

import (
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/scheduler/plugins/defaultbinder"
	"kviz/cluster/scheduler/plugins/defaultpreemption"
	"kviz/cluster/scheduler/plugins/imagelocality"
	"kviz/cluster/scheduler/plugins/interpodaffinity"
	"kviz/cluster/scheduler/plugins/nodeaffinity"
	"kviz/cluster/scheduler/plugins/nodedeclaredfeatures"
	"kviz/cluster/scheduler/plugins/nodename"
	"kviz/cluster/scheduler/plugins/nodeports"
	"kviz/cluster/scheduler/plugins/noderesources"
	"kviz/cluster/scheduler/plugins/nodeunschedulable"
	"kviz/cluster/scheduler/plugins/nodevolumelimits"
	"kviz/cluster/scheduler/plugins/podtopologyspread"
	"kviz/cluster/scheduler/plugins/queuesort"
	"kviz/cluster/scheduler/plugins/schedulinggates"
	"kviz/cluster/scheduler/plugins/tainttoleration"
	"kviz/cluster/scheduler/plugins/volumebinding"
	"kviz/cluster/scheduler/plugins/volumerestrictions"
	"kviz/cluster/scheduler/plugins/volumezone"
)

// profile is the plugins of a scheduler, sorted by extension point; each list
// is in the order in which the plugins run.
//
// Mirrors pkg/scheduler/framework/runtime/framework.go frameworkImpl.
type profile struct {
	all       []framework.Plugin
	queueSort framework.QueueSortPlugin
	preFilter []framework.PreFilterPlugin
	// preFilterExtensions are those of preFilter that add up something of all nodes.
	preFilterExtensions []framework.PreFilterExtensions
	filter              []framework.FilterPlugin
	postFilter          []framework.PostFilterPlugin
	preScore            []framework.PreScorePlugin
	score               []weighted
	reserve             []framework.ReservePlugin
	permit              []framework.PermitPlugin
	preBind             []framework.PreBindPlugin
	bind                []framework.BindPlugin
	postBind            []framework.PostBindPlugin
}

type weighted struct {
	framework.ScorePlugin
	weight int64
}

// entry is a plugin and the weight of its score.
type entry struct {
	plugin framework.Plugin
	weight int64
}

// defaultPlugins is upstream's default profile as far as this cluster has what
// the plugins are about; the weights are upstream's
// (pkg/scheduler/apis/config/v1/default_plugins.go). Missing:
// DynamicResources.
func defaultPlugins(cfg Config, s *Scheduler) []entry {
	strategy := noderesources.LeastAllocated
	if cfg.MostAllocated {
		strategy = noderesources.MostAllocated
	}
	return []entry{
		{plugin: &schedulinggates.SchedulingGates{}},
		{plugin: &queuesort.PrioritySort{}},
		{plugin: &nodename.NodeName{}},
		{plugin: &nodeunschedulable.NodeUnschedulable{}},
		{&tainttoleration.TaintToleration{}, 3},
		{&nodeaffinity.NodeAffinity{}, 2},
		{plugin: &nodeports.NodePorts{}},
		{&noderesources.Fit{Strategy: strategy}, 1},
		{plugin: &volumerestrictions.VolumeRestrictions{Claims: used{s.objects, s.cache}}},
		{plugin: &nodevolumelimits.CSILimits{Storage: s.objects}},
		{volumebinding.New(s.objects, s, s.client), 1},
		{plugin: &volumezone.VolumeZone{Storage: s.objects}},
		{&podtopologyspread.PodTopologySpread{Nodes: s.Nodes, Objects: s.objects}, 2},
		{&interpodaffinity.InterPodAffinity{Cluster: s}, 2},
		{plugin: &defaultpreemption.DefaultPreemption{Cluster: s}},
		{&noderesources.BalancedAllocation{}, 1},
		{&imagelocality.ImageLocality{
			Nodes: func() int { return len(s.cache.list()) },
			Image: func(name string) *framework.ImageState { return s.cache.images[name] },
		}, 1},
		{plugin: &defaultbinder.DefaultBinder{}},
		{plugin: &nodedeclaredfeatures.NodeDeclaredFeatures{}},
	}
}

// withPlugins adds plugins whose scores weigh 1.
func withPlugins(entries []entry, more []framework.Plugin) []entry {
	for _, pl := range more {
		entries = append(entries, entry{plugin: pl})
	}
	return entries
}

// newProfile sorts plugins by the extension points they implement.
func newProfile(entries []entry) *profile {
	p := &profile{}
	for _, e := range entries {
		p.all = append(p.all, e.plugin)
		if pl, ok := e.plugin.(framework.QueueSortPlugin); ok {
			p.queueSort = pl
		}
		if pl, ok := e.plugin.(framework.ScorePlugin); ok {
			p.score = append(p.score, weighted{pl, max(e.weight, 1)})
		}
		p.preFilter = join(p.preFilter, e.plugin)
		p.preFilterExtensions = join(p.preFilterExtensions, e.plugin)
		p.filter = join(p.filter, e.plugin)
		p.postFilter = join(p.postFilter, e.plugin)
		p.preScore = join(p.preScore, e.plugin)
		p.reserve = join(p.reserve, e.plugin)
		p.permit = join(p.permit, e.plugin)
		p.preBind = join(p.preBind, e.plugin)
		p.bind = join(p.bind, e.plugin)
		p.postBind = join(p.postBind, e.plugin)
	}
	return p
}

// join appends the plugin if it is one of the list's kind.
func join[T framework.Plugin](list []T, pl framework.Plugin) []T {
	if p, ok := pl.(T); ok {
		return append(list, p)
	}
	return list
}

func pluginNames[T framework.Plugin](list []T) []string {
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.Name()
	}
	return names
}
