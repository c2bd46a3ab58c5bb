package upstream_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/imagelocality"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodedeclaredfeatures"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/schedulinggates"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumebinding"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumerestrictions"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/volumezone"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"pgregory.net/rapid"

	"kviz/cluster/client/clienttest"
	"kviz/cluster/scheduler"
	"kviz/cluster/scheduler/configuration"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

type maker = func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error)

// makers are upstream's plugins.
var makers = map[string]maker{
	names.NodeName: nodename.New, names.NodeUnschedulable: nodeunschedulable.New, names.TaintToleration: tainttoleration.New,
	names.NodeAffinity: nodeaffinity.New, names.NodePorts: nodeports.New, names.NodeResourcesFit: noderesources.NewFit,
	names.PodTopologySpread: podtopologyspread.New, names.InterPodAffinity: interpodaffinity.New,
	names.NodeResourcesBalancedAllocation: noderesources.NewBalancedAllocation, names.SchedulingGates: schedulinggates.New,
	names.NodeDeclaredFeatures: nodedeclaredfeatures.New,
	names.VolumeBinding:        volumebinding.New, names.VolumeRestrictions: volumerestrictions.New, names.VolumeZone: volumezone.New,
	names.NodeVolumeLimits: nodevolumelimits.NewCSI,
	names.DynamicResources: dynamicresources.New,
	names.ImageLocality:    plain(imagelocality.New),
	names.PrioritySort:     plain(queuesort.New),
	names.DefaultBinder:    plain(defaultbinder.New),
	names.DefaultPreemption: func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error) {
		return preempts{}, nil
	},
}

func plain(make func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error)) maker {
	return func(ctx context.Context, args runtime.Object, h fwk.Handle, _ feature.Features) (fwk.Plugin, error) {
		return make(ctx, args, h)
	}
}

// preempts stands at DefaultPreemption's extension points; nobody calls it.
type preempts struct {
	fwk.PreEnqueuePlugin
	fwk.PostFilterPlugin
	fwk.EnqueueExtensions
}

func (preempts) Name() string { return names.DefaultPreemption }

// named is a plugin that is at no extension point: those that this scheduler does not have.
type named string

func (n named) Name() string { return string(n) }

// configured is a configuration of one profile.
type configured struct {
	config *config.KubeSchedulerConfiguration
	args   map[string]runtime.Object
	points *config.Plugins // as upstream's framework has them
}

const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

func configure(file string) configured {
	c := configured{config: clienttest.Must(configuration.Read([]byte(head + file))), args: map[string]runtime.Object{}}
	for _, a := range configuration.Default().Profiles[0].PluginConfig {
		c.args[a.Name] = a.Args // of plugins that the profile has nowhere
	}
	for _, a := range c.config.Profiles[0].PluginConfig {
		c.args[a.Name] = a.Args
	}
	c.points = clienttest.Must(pointsOf(&c.config.Profiles[0]))
	return c
}

// pointsOf has upstream's framework sort a profile's plugins.
func pointsOf(p *config.KubeSchedulerProfile) (*config.Plugins, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // ends what upstream's recorder of metrics does
	k, registry := &kubernetes{claimed: map[string]bool{}}, frameworkruntime.Registry{}
	k.factory = emptyFactory()
	for name, make := range makers {
		registry[name] = func(ctx context.Context, args runtime.Object, _ fwk.Handle) (fwk.Plugin, error) {
			return make(ctx, args, k, gates)
		}
	}
	for _, name := range configuration.Default().Profiles[0].Plugins.MultiPoint.Enabled {
		if registry[name.Name] == nil {
			registry[name.Name] = func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return named(name.Name), nil }
		}
	}
	f, err := frameworkruntime.NewFramework(ctx, registry, p)
	if err != nil {
		return nil, err
	}
	return f.ListPlugins(), nil
}

var usual = func() configured {
	metrics.InitMetrics()
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	return configure("")
}()

// The scheduler with a configuration against upstream's plugins with the same.
func TestConfiguredCyclesAreUpstreams(t *testing.T) {
	args := func(plugin, args string) string {
		return fmt.Sprintf("profiles: [{pluginConfig: [{name: %s, args: {%s}}]}]", plugin, args)
	}
	for name, file := range map[string]string{
		"MostAllocated": args("NodeResourcesFit", "scoringStrategy: {type: MostAllocated}"),
		"MostAllocated of three resources": args("NodeResourcesFit",
			"scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 3}, {name: example.com/gpu, weight: 5}, {name: memory, weight: 2}]}"),
		"LeastAllocated of one": args("NodeResourcesFit", "scoringStrategy: {resources: [{name: memory, weight: 7}], type: LeastAllocated}"),
		"RequestedToCapacityRatio": args("NodeResourcesFit",
			"scoringStrategy: {type: RequestedToCapacityRatio, resources: [{name: cpu, weight: 3}, {name: memory}, {name: example.com/gpu, weight: 5}, {name: ephemeral-storage}], requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 40, score: 9}, {utilization: 90, score: 3}]}}"),
		"ignored resources":       args("NodeResourcesFit", "ignoredResources: [example.com/gpu]"),
		"ignored resource groups": args("NodeResourcesFit", "ignoredResourceGroups: [example.com]"),
		"balance of three":        args("NodeResourcesBalancedAllocation", "resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}, {name: example.com/gpu, weight: 1}, {name: ephemeral-storage, weight: 1}]"),
		"balance of one":          args("NodeResourcesBalancedAllocation", "resources: [{name: cpu, weight: 1}]"),
		"default constraints": args("PodTopologySpread",
			"defaultingType: List, defaultConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: disk, whenUnsatisfiable: ScheduleAnyway}]"),
		"no default constraints": args("PodTopologySpread", "defaultingType: List"),
		"added affinity": args("NodeAffinity",
			"addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [x, z]}]}]}, preferredDuringSchedulingIgnoredDuringExecution: [{weight: 7, preference: {matchExpressions: [{key: disk, operator: In, values: [ssd]}]}}]}"),
		"hard pod affinity":       args("InterPodAffinity", "hardPodAffinityWeight: 60"),
		"no hard pod affinity":    args("InterPodAffinity", "hardPodAffinityWeight: 0"),
		"terms of others":         args("InterPodAffinity", "ignorePreferredTermsOfExistingPods: true"),
		"shape of volumes":        args("VolumeBinding", "shape: [{utilization: 10, score: 1}, {utilization: 60, score: 10}, {utilization: 90, score: 3}]"),
		"plugins off":             "profiles: [{plugins: {multiPoint: {disabled: [{name: TaintToleration}, {name: InterPodAffinity}]}, score: {disabled: [{name: ImageLocality}]}, filter: {disabled: [{name: NodePorts}]}}}]",
		"weights":                 "profiles: [{plugins: {score: {enabled: [{name: ImageLocality, weight: 11}, {name: NodeResourcesFit, weight: 4}]}, multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}}}]",
		"scores without PreScore": "profiles: [{plugins: {preScore: {disabled: [{name: ImageLocality}, {name: NodeResourcesFit}, {name: NodeResourcesBalancedAllocation}, {name: NodeAffinity}]}}}]",
		"a few plugins":           "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: DefaultBinder}, {name: NodeResourcesFit, weight: 3}, {name: PodTopologySpread}]}}}]",
	} {
		t.Run(name, func(t *testing.T) {
			p := configure(file)
			rejected, scored := 0, 0
			for i := range *cases {
				c := class{name: "configured", core: true, spread: i%2 == 0, affinity: i%3 > 0, replicated: true, gpus: true, volumes: strings.Contains(file, "VolumeBinding")}
				r, s, _, _ := cycles(t, *first+uint64(i), c, p, map[string]int{})
				rejected, scored = rejected+r, scored+s
			}
			if *cases >= 25 && (rejected == 0 || scored == 0) {
				t.Errorf("only %d rejections and %d scored nodes to compare", rejected, scored)
			}
		})
	}
}

// Random profiles, most of them wrong: upstream's framework refuses the same in the same words, or has the same
// plugins at the same points in the same order with the same weights.
func TestProfilesAreUpstreams(t *testing.T) {
	refused, made := 0, 0
	all := []string{"*", "Nobody"}
	for name := range makers {
		all = append(all, name)
	}
	slices.Sort(all)
	steady.Check(t, func(t *rapid.T) {
		set := func(point string) string {
			list := func(most int) string {
				var in []string
				for range rapid.IntRange(0, most).Draw(t, point) {
					name := rapid.SampledFrom(all).Draw(t, "plugin")
					in = append(in, fmt.Sprintf("{name: '%s', weight: %d}", name, rapid.IntRange(0, 3).Draw(t, "weight")))
				}
				return strings.Join(in, ", ")
			}
			disabled := strings.ReplaceAll(list(2), ", weight", ", _")
			for _, n := range []string{"0", "1", "2", "3"} {
				disabled = strings.ReplaceAll(disabled, ", _: "+n, "")
			}
			return fmt.Sprintf("%s: {enabled: [%s], disabled: [%s]}", point, list(2), disabled)
		}
		var sets []string
		for _, point := range []string{"multiPoint", "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit", "preBind", "bind", "postBind"} {
			if rapid.IntRange(0, 3).Draw(t, "some") == 0 {
				sets = append(sets, set(point))
			}
		}
		file := head + "profiles: [{plugins: {" + strings.Join(sets, ", ") + "}}]"
		cfg, err := configuration.Read([]byte(file))
		if err != nil {
			return // upstream's own validation has refused it
		}
		want, wantErr := pointsOf(&cfg.Profiles[0])
		_, got, gotErr := scheduler.Configured([]byte(file))
		if wantErr != nil || gotErr != nil {
			refused++
			if wantErr == nil || gotErr == nil || gotErr.Error() != "initializing profiles: creating profile for scheduler name default-scheduler: "+wantErr.Error() {
				t.Fatalf("%s\nupstream: %v\nhere: %v", file, wantErr, gotErr)
			}
			return
		}
		made++
		if diff := cmp.Diff(shared(asTold(want)), shared(got.Profiles[0].Points)); diff != "" {
			t.Fatalf("%s\n(-upstream +here)\n%s", file, diff)
		}
	})
	if refused == 0 || made == 0 {
		t.Errorf("%d profiles were refused, %d were not", refused, made)
	}
}

// shared are the points without the plugins that only one of the two has there: upstream's PreFilter
// of two plugins looks at pods whose resize is deferred, and ImageLocality and DynamicResources prepare their scores here.
func shared(points []trace.SchedPlugins) (all []trace.SchedPlugins) {
	for _, p := range points {
		p.Plugins = slices.DeleteFunc(slices.Clone(p.Plugins), func(name string) bool {
			return p.Point == "PreFilter" && (name == names.NodeUnschedulable || name == names.TaintToleration) || p.Point == "PreScore" && (name == names.ImageLocality || name == names.DynamicResources)
		})
		if len(p.Plugins) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// asTold are upstream's extension points as this scheduler tells of its own.
func asTold(p *config.Plugins) (points []trace.SchedPlugins) {
	for _, at := range []struct {
		name string
		set  config.PluginSet
	}{
		{"PreEnqueue", p.PreEnqueue},
		{"QueueSort", p.QueueSort},
		{"PreFilter", p.PreFilter},
		{"Filter", p.Filter},
		{"PostFilter", p.PostFilter},
		{"PreScore", p.PreScore},
		{"Score", p.Score},
		{"Reserve", p.Reserve},
		{"Permit", p.Permit},
		{"PreBind", p.PreBind},
		{"Bind", p.Bind},
		{"PostBind", p.PostBind},
	} {
		var plugins []string
		for _, e := range at.set.Enabled {
			name := e.Name
			if at.name == "Score" {
				name = fmt.Sprintf("%s %d", name, e.Weight)
			}
			plugins = append(plugins, name)
		}
		if plugins != nil {
			points = append(points, trace.SchedPlugins{Point: at.name, Plugins: plugins})
		}
	}
	return points
}
