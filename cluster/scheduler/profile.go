package scheduler

import (
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"kviz/cluster/events"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/trace"
)

// profile is what serves the pods of one schedulerName: plugins, sorted by extension
// point; each list is in the order in which the plugins run.
//
// Mirrors pkg/scheduler/framework/runtime/framework.go frameworkImpl.
type profile struct {
	name string
	// percentage is how many nodes to find before scoring; see [numFeasibleNodesToFind].
	percentage int
	events     *events.Recorder

	all        []framework.Plugin // in the order of their names
	preEnqueue []framework.PreEnqueuePlugin
	queueSort  framework.QueueSortPlugin
	preFilter  []framework.PreFilterPlugin
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
	// unprepared are the errors, by point and name, of plugins that lack what PreFilter or PreScore
	// would have remembered: a profile can leave these out.
	unprepared map[string]string
	postBind   []framework.PostBindPlugin

	signers []framework.SignPlugin
	batch   batch
}

type weighted struct {
	framework.ScorePlugin
	weight int64
}

// newProfile makes the plugins that a profile needs, and puts them where it wants them.
//
// Mirrors pkg/scheduler/framework/runtime/framework.go NewFramework, whose errors it gives.
func newProfile(s *Scheduler, from *config.KubeSchedulerProfile, more []framework.Plugin) (*profile, error) {
	p := &profile{name: from.SchedulerName}
	if from.PercentageOfNodesToScore != nil {
		p.percentage = int(*from.PercentageOfNodesToScore)
	}
	want := enabledToo(from.Plugins, more)
	b, err := newBuilder(s, want, from.PluginConfig, more)
	if err != nil {
		return nil, err
	}
	for _, name := range b.names() {
		p.all = append(p.all, b.plugins[name])
	}
	if err := p.place(b, want); err != nil {
		return nil, err
	}
	p.setSigners()
	return p, p.weigh(want, b)
}

// place fills in the extension points, in upstream's order: the error names the first wrong one.
func (p *profile) place(b *builder, want *config.Plugins) error {
	var queueSort []framework.QueueSortPlugin
	var score []framework.ScorePlugin
	points := []point{
		at(b, &p.preFilter, "PreFilterPlugin", &want.PreFilter),
		at(b, &p.filter, "FilterPlugin", &want.Filter),
		at(b, &p.postFilter, "PostFilterPlugin", &want.PostFilter),
		at(b, &p.reserve, "ReservePlugin", &want.Reserve),
		at(b, &p.preScore, "PreScorePlugin", &want.PreScore),
		at(b, &score, "ScorePlugin", &want.Score),
		at(b, &p.preBind, "PreBindPlugin", &want.PreBind),
		at(b, &p.bind, "BindPlugin", &want.Bind),
		at(b, &p.postBind, "PostBindPlugin", &want.PostBind),
		at(b, &p.permit, "PermitPlugin", &want.Permit),
		at(b, &p.preEnqueue, "PreEnqueuePlugin", &want.PreEnqueue),
		at(b, &queueSort, "QueueSortPlugin", &want.QueueSort),
	}
	for _, at := range points {
		if err := at.own(); err != nil {
			return err
		}
	}
	for _, at := range points {
		if err := at.expand(); err != nil {
			return err
		}
	}
	if len(queueSort) != 1 {
		return fmt.Errorf("only one queue sort plugin required for profile with scheduler name %q, but got %d", p.name, len(queueSort))
	}
	if len(p.bind) == 0 {
		return fmt.Errorf("at least one bind plugin is needed for profile with scheduler name %q", p.name)
	}
	p.queueSort = queueSort[0]
	for _, pl := range p.preFilter {
		if e, ok := pl.(framework.PreFilterExtensions); ok {
			p.preFilterExtensions = append(p.preFilterExtensions, e)
		}
	}
	for _, pl := range score {
		p.score = append(p.score, weighted{ScorePlugin: pl})
	}
	p.unprepared = map[string]string{}
	lacks(p.unprepared, pluginNames(p.filter), pluginNames(p.preFilter), "PreFilter", names.NodeResourcesFit, names.NodePorts, names.PodTopologySpread, names.InterPodAffinity, names.VolumeBinding, names.NodeDeclaredFeatures)
	lacks(p.unprepared, pluginNames(score), pluginNames(p.preScore), "PreScore", names.TaintToleration, names.PodTopologySpread, names.InterPodAffinity)
	return nil
}

// lacks finds those of the plugins that read at an extension point what they have written at
// the one before, where the profile does not have them there.
func lacks(found map[string]string, here, before []string, point string, readers ...string) {
	for _, name := range here {
		if slices.Contains(readers, name) && !slices.Contains(before, name) {
			found[point+name] = fmt.Sprintf("reading %q from cycleState: not found", point+name)
		}
	}
}

// devicesOn are the devices that the pod of the cycle gets on a node.
func (p *profile) devicesOn(state *framework.CycleState, node string) (devices []trace.ClaimedDevice) {
	for _, pl := range p.reserve {
		if c, ok := pl.(framework.DeviceChooser); ok {
			devices = append(devices, c.DevicesOn(state, node)...)
		}
	}
	return devices
}

// weigh gives the scores their weights: that of the extension point, or else that of multiPoint,
// or else 1.
//
// Mirrors framework.go getValidScoreWeights.
func (p *profile) weigh(want *config.Plugins, b *builder) error {
	weights := map[string]int64{}
	left := int64(math.MaxInt64)
	for _, e := range slices.Concat(want.Score.Enabled, want.MultiPoint.Enabled) {
		if _, ok := b.plugins[e.Name].(framework.ScorePlugin); !ok || weights[e.Name] != 0 {
			continue
		}
		weight := int64(e.Weight)
		if weight == 0 {
			weight = 1
		}
		if weight*framework.MaxNodeScore > left {
			return fmt.Errorf("score plugins: total score of Score plugins could overflow")
		}
		weights[e.Name] = weight
		left -= weight * framework.MaxNodeScore
	}
	for i := range p.score {
		p.score[i].weight = weights[p.score[i].Name()]
	}
	return nil
}

// enabledToo is a profile's plugins with more of them, which are compiled in
// (WithFrameworkOutOfTreeRegistry) and which nobody had to configure.
func enabledToo(want *config.Plugins, more []framework.Plugin) *config.Plugins {
	all := *want
	all.MultiPoint.Enabled = slices.Clone(all.MultiPoint.Enabled)
	for _, pl := range more {
		all.MultiPoint.Enabled = append(all.MultiPoint.Enabled, config.Plugin{Name: pl.Name()})
	}
	return &all
}

// builder has the plugins that a profile needs.
type builder struct {
	plugins map[string]framework.Plugin
	multi   []config.Plugin
}

func newBuilder(s *Scheduler, want *config.Plugins, args []config.PluginConfig, more []framework.Plugin) (*builder, error) {
	b := &builder{plugins: map[string]framework.Plugin{}, multi: want.MultiPoint.Enabled}
	byName := map[string]runtime.Object{}
	for i := range args {
		if _, ok := byName[args[i].Name]; ok {
			return nil, fmt.Errorf("repeated config for plugin %s", args[i].Name)
		}
		byName[args[i].Name] = args[i].Args
	}
	for _, pl := range more {
		b.plugins[pl.Name()] = pl
	}
	for _, name := range needed(want) {
		if make := registry[name]; make != nil {
			pl, err := make(s, byName[name])
			if err != nil {
				return nil, fmt.Errorf("initializing plugin %q: %w", name, err)
			}
			b.plugins[name] = pl
		} else if slices.Contains(notHere, name) {
			b.plugins[name] = absent{name}
		}
	}
	return b, nil
}

// names are those of the plugins, in the order in which multiPoint has them, the others after them.
func (b *builder) names() []string {
	var names []string
	for _, e := range b.multi {
		if b.plugins[e.Name] != nil && !slices.Contains(names, e.Name) {
			names = append(names, e.Name)
		}
	}
	var rest []string
	for name := range b.plugins {
		if !slices.Contains(names, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	return append(names, rest...)
}

// needed are the names of the plugins that a profile enables somewhere.
func needed(p *config.Plugins) []string {
	var names []string
	for _, set := range []*config.PluginSet{
		&p.PreFilter, &p.Filter, &p.PostFilter, &p.Reserve, &p.PreScore, &p.Score, &p.PreBind, &p.Bind, &p.PostBind, &p.Permit,
		&p.PreEnqueue, &p.QueueSort, &p.PlacementGenerate, &p.PlacementScore, &p.PodGroupPostFilter, &p.MultiPoint,
	} {
		for _, e := range set.Enabled {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// point is an extension point that is being filled in.
type point struct {
	own    func() error // what it enables itself
	expand func() error // what multiPoint enables there
}

// at is an extension point. What it enables itself and multiPoint as well comes first, in
// its own order; then what only multiPoint enables; then the rest.
//
// Mirrors framework.go updatePluginList and expandMultiPointPlugins.
func at[T framework.Plugin](b *builder, list *[]T, kind string, set *config.PluginSet) point {
	var own []string
	return point{
		own: func() (err error) {
			own, err = ownOf[T](b, kind, set)
			return err
		},
		expand: func() error {
			both, multi, err := multiOf[T](b, kind, set, own)
			if err != nil {
				return err
			}
			var first, last []string
			for _, name := range own {
				if slices.Contains(both, name) {
					first = append(first, name)
				} else {
					last = append(last, name)
				}
			}
			for _, name := range slices.Concat(first, multi, last) {
				*list = append(*list, b.plugins[name].(T))
			}
			return nil
		},
	}
}

// multiOf are the names of the plugins that multiPoint enables at an extension point: those that it
// enables itself as well, and the others.
func multiOf[T framework.Plugin](b *builder, kind string, set *config.PluginSet, own []string) (both, multi []string, err error) {
	disabled := func(name string) bool {
		return slices.ContainsFunc(set.Disabled, func(d config.Plugin) bool { return d.Name == name })
	}
	if disabled("*") {
		return nil, nil, nil
	}
	for _, e := range b.multi {
		pl, ok := b.plugins[e.Name]
		if !ok {
			return nil, nil, fmt.Errorf("%s %q does not exist", kind, e.Name)
		}
		_, fits := pl.(T)
		switch {
		case !fits || disabled(e.Name):
		case slices.Contains(own, e.Name):
			both = append(both, e.Name)
		case slices.Contains(multi, e.Name):
			return nil, nil, fmt.Errorf("plugin %q already registered as %q", e.Name, kind)
		default:
			multi = append(multi, e.Name)
		}
	}
	return both, multi, nil
}

// idleAt are plugins that upstream has at an extension point for something that is not here: pods
// whose resize is deferred. onlyHereAt are those that it does not have there.
var (
	idleAt     = map[string][]string{"PreFilterPlugin": {names.NodeUnschedulable, names.TaintToleration}}
	onlyHereAt = map[string][]string{"PreScorePlugin": {names.ImageLocality, names.DynamicResources}}
)

// ownOf are the names of the plugins that an extension point enables itself.
func ownOf[T framework.Plugin](b *builder, kind string, set *config.PluginSet) ([]string, error) {
	var own, seen []string
	for _, e := range set.Enabled {
		pl, ok := b.plugins[e.Name]
		if !ok {
			return nil, fmt.Errorf("%s %q does not exist", kind, e.Name)
		}
		_, not := pl.(absent)
		_, fits := pl.(T)
		idle := not || slices.Contains(idleAt[kind], e.Name)
		if !fits && !idle || fits && slices.Contains(onlyHereAt[kind], e.Name) {
			return nil, fmt.Errorf("plugin %q does not extend %s plugin", e.Name, kind)
		}
		if slices.Contains(seen, e.Name) {
			return nil, fmt.Errorf("plugin %q already registered as %q", e.Name, kind)
		}
		if seen = append(seen, e.Name); !idle {
			own = append(own, e.Name)
		}
	}
	return own, nil
}

func pluginNames[T framework.Plugin](list []T) []string {
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.Name()
	}
	return names
}
