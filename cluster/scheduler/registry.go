package scheduler

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/scheduler/plugins/defaultbinder"
	"kviz/cluster/scheduler/plugins/defaultpreemption"
	"kviz/cluster/scheduler/plugins/dynamicresources"
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
	"kviz/cluster/scheduler/plugins/waitforapproval"
)

// factory makes a plugin with its arguments.
type factory func(s *Scheduler, args runtime.Object) (framework.Plugin, error)

// registry has the plugins by their names. Which of them a profile has, in which order and
// with which weights, its configuration says (upstream's defaults are in
// pkg/scheduler/apis/config/v1/default_plugins.go).
//
// Mirrors pkg/scheduler/framework/plugins/registry.go; WaitForApproval is of the registry of
// plugins that are not in the tree (WithFrameworkOutOfTreeRegistry).
var registry = map[string]factory{
	names.SchedulingGates:                 without(&schedulinggates.SchedulingGates{}),
	names.PrioritySort:                    without(&queuesort.PrioritySort{}),
	names.NodeName:                        without(&nodename.NodeName{}),
	names.NodeUnschedulable:               without(&nodeunschedulable.NodeUnschedulable{}),
	names.TaintToleration:                 without(&tainttoleration.TaintToleration{}),
	names.NodePorts:                       without(&nodeports.NodePorts{}),
	names.NodeDeclaredFeatures:            without(&nodedeclaredfeatures.NodeDeclaredFeatures{}),
	names.DefaultBinder:                   without(&defaultbinder.DefaultBinder{}),
	names.NodeAffinity:                    with(newNodeAffinity),
	names.NodeResourcesFit:                with(newFit),
	names.NodeResourcesBalancedAllocation: with(newBalancedAllocation),
	names.PodTopologySpread:               with(newPodTopologySpread),
	names.InterPodAffinity:                with(newInterPodAffinity),
	names.DefaultPreemption:               with(newDefaultPreemption),
	names.VolumeBinding:                   with(newVolumeBinding),
	names.DynamicResources:                with(newDynamicResources),
	names.VolumeRestrictions: func(s *Scheduler, _ runtime.Object) (framework.Plugin, error) {
		return &volumerestrictions.VolumeRestrictions{Claims: used{s.objects, s.cache}}, nil
	},
	names.NodeVolumeLimits: func(s *Scheduler, _ runtime.Object) (framework.Plugin, error) {
		return &nodevolumelimits.CSILimits{Storage: s.objects}, nil
	},
	names.VolumeZone: func(s *Scheduler, _ runtime.Object) (framework.Plugin, error) {
		return &volumezone.VolumeZone{Storage: s.objects}, nil
	},
	waitforapproval.Name: func(_ *Scheduler, args runtime.Object) (framework.Plugin, error) { return waitforapproval.New(args) },
	names.ImageLocality: func(s *Scheduler, _ runtime.Object) (framework.Plugin, error) {
		return &imagelocality.ImageLocality{
			Nodes: func() int { return len(s.cache.list()) },
			Image: func(name string) *framework.ImageState { return s.cache.images[name] },
		}, nil
	},
}

// notHere are upstream's other plugins. A configuration may name them, since upstream's own
// default one does; nothing does their work.
var notHere = []string{
	names.DeferredPodScheduling, names.GangScheduling, names.TopologyPlacementGenerator, names.PodGroupPodsCount,
}

// absent stands for one of them.
type absent struct{ name string }

// Name is upstream's.
func (a absent) Name() string { return a.name }

// without is the factory of a plugin that has no arguments and remembers nothing.
func without(pl framework.Plugin) factory {
	return func(*Scheduler, runtime.Object) (framework.Plugin, error) { return pl, nil }
}

// with is the factory of a plugin that has arguments of a type.
func with[A any, P interface {
	*A
	runtime.Object
}](make func(*Scheduler, P) (framework.Plugin, error),
) factory {
	return func(s *Scheduler, args runtime.Object) (framework.Plugin, error) {
		a, ok := args.(P)
		if !ok {
			return nil, fmt.Errorf("want args to be of type %s, got %T", reflect.TypeFor[A]().Name(), args)
		}
		return make(s, a)
	}
}

func newFit(s *Scheduler, args *config.NodeResourcesFitArgs) (framework.Plugin, error) {
	if err := validation.ValidateNodeResourcesFitArgs(nil, args); err != nil {
		return nil, err
	}
	fit := noderesources.NewFit(args)
	fit.Class = func(name corev1.ResourceName) *resourcev1.DeviceClass { return s.objects.DeviceClassOf(name) }
	return fit, nil
}

func newBalancedAllocation(_ *Scheduler, args *config.NodeResourcesBalancedAllocationArgs) (framework.Plugin, error) {
	if err := validation.ValidateNodeResourcesBalancedAllocationArgs(nil, args); err != nil {
		return nil, err
	}
	return noderesources.NewBalancedAllocation(args), nil
}

func newNodeAffinity(_ *Scheduler, args *config.NodeAffinityArgs) (framework.Plugin, error) {
	if err := validation.ValidateNodeAffinityArgs(nil, args); err != nil {
		return nil, err
	}
	return nodeaffinity.New(args.AddedAffinity)
}

func newPodTopologySpread(s *Scheduler, args *config.PodTopologySpreadArgs) (framework.Plugin, error) {
	if err := validation.ValidatePodTopologySpreadArgs(nil, args); err != nil {
		return nil, err
	}
	return &podtopologyspread.PodTopologySpread{Kinds: s.Kinds, TopologyOf: s.cache.topology, Objects: s.objects, Args: args}, nil
}

func newInterPodAffinity(s *Scheduler, args *config.InterPodAffinityArgs) (framework.Plugin, error) {
	if err := validation.ValidateInterPodAffinityArgs(nil, args); err != nil {
		return nil, err
	}
	return &interpodaffinity.InterPodAffinity{Cluster: s, Args: args}, nil
}

func newVolumeBinding(s *Scheduler, args *config.VolumeBindingArgs) (framework.Plugin, error) {
	if err := validation.ValidateVolumeBindingArgs(nil, args); err != nil {
		return nil, err
	}
	return volumebinding.New(s.objects, s, s.client, args), nil
}

// newDynamicResources leaves out filterTimeout: see the plugin's allowance.
func newDynamicResources(s *Scheduler, args *config.DynamicResourcesArgs) (framework.Plugin, error) {
	if err := validation.ValidateDynamicResourcesArgs(nil, args, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)); err != nil {
		return nil, err
	}
	timeout := config.DynamicResourcesBindingTimeoutDefault
	if args.BindingTimeout != nil {
		timeout = args.BindingTimeout.Duration
	}
	return dynamicresources.New(claiming{s.objects, s}, s.client, timeout), nil
}

func newDefaultPreemption(s *Scheduler, args *config.DefaultPreemptionArgs) (framework.Plugin, error) {
	if err := validation.ValidateDefaultPreemptionArgs(nil, args); err != nil {
		return nil, err
	}
	return &defaultpreemption.DefaultPreemption{Cluster: s, Args: args}, nil
}
