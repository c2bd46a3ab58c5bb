// Package noderesources holds two plugins about CPU, memory and other
// resources. NodeResourcesFit rejects nodes whose allocatable resources, less
// what the pods there request, are not enough, and scores by how much is left;
// NodeResourcesBalancedAllocation scores by how evenly CPU and memory are used.
//
// Requests count, never usage: an idle node whose pods request everything is
// full.
//
// Mirrors pkg/scheduler/framework/plugins/noderesources.
//
// Start reading at [Fits], then [Fit.Score]; what is configured otherwise than by default is in
// strategy.go.
package noderesources

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"kviz/cluster/scheduler/framework"
)

const (
	// Name is the name of the plugin Fit.
	Name = "NodeResourcesFit"
	// ErrReasonPods is why a node with its number of pods is rejected; the
	// other reasons are "Insufficient cpu" and so on.
	ErrReasonPods = "Too many pods"

	stateKey = "PreFilter" + Name
	scoreKey = "PreScore" + Name
)

// Fit is the plugin NodeResourcesFit. The zero value is LeastAllocated, which prefers
// empty nodes, by cpu and memory.
type Fit struct {
	// Class is the DeviceClass that stands for an extended resource, nil if none does: of a node without
	// that resource the plugin DynamicResources says whether it has the devices. A nil Class is none for all.
	Class func(corev1.ResourceName) *resourcev1.DeviceClass

	args     *config.NodeResourcesFitArgs
	strategy *strategy // nil: LeastAllocated by cpu and memory
}

// Name is [Name].
func (*Fit) Name() string { return Name }

// SignPod: what is requested.
func (f *Fit) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	for name, n := range framework.PodRequests(pod).ScalarResources { // any order: is there one?
		if n != 0 && f.Class != nil && f.Class(name) != nil {
			return nil, framework.NewStatus(Name, framework.Unschedulable, "signature disabled when dra extended resources are used in the cluster")
		}
	}
	return framework.SignResources(pod), nil
}

// Insufficient is a resource that the node does not have enough of.
type Insufficient struct {
	Resource                  corev1.ResourceName
	Reason                    string
	Requested, Used, Capacity int64
	// Unresolvable: the pod asks for more than the whole node has.
	Unresolvable bool
}

var commonReasons = map[corev1.ResourceName]string{
	corev1.ResourceCPU:              "Insufficient cpu",
	corev1.ResourceMemory:           "Insufficient memory",
	corev1.ResourceEphemeralStorage: "Insufficient ephemeral-storage",
}

// Fits lists what a node lacks for the request; nothing means that it fits.
func Fits(want *framework.Resource, node *framework.NodeInfo) []Insufficient {
	return fits(want, node, nil)
}

// delegated reports whether devices stand for a resource that the node does not have itself.
//
// Mirrors shouldDelegateResourceToDRA.
func (f *Fit) delegated(name corev1.ResourceName, node *framework.NodeInfo) bool {
	return f.Class != nil && node.Allocatable.ScalarResources[name] <= 0 && f.Class(name) != nil
}

// fits is Fits without the extended resources that are ignored.
func fits(want *framework.Resource, node *framework.NodeInfo, ignored func(corev1.ResourceName) bool) []Insufficient {
	var lacks []Insufficient
	if pods := node.PodCount; pods+1 > node.Allocatable.AllowedPodNumber {
		lacks = append(lacks, Insufficient{Resource: corev1.ResourcePods, Reason: ErrReasonPods, Requested: 1, Used: int64(pods), Capacity: int64(node.Allocatable.AllowedPodNumber)})
	}
	check := func(name corev1.ResourceName, want, used, capacity int64) {
		if want <= 0 || want <= capacity-used {
			return
		}
		reason, ok := commonReasons[name]
		if !ok {
			reason = "Insufficient " + string(name)
		}
		lacks = append(lacks, Insufficient{Resource: name, Reason: reason, Requested: want, Used: used, Capacity: capacity, Unresolvable: want > capacity})
	}
	check(corev1.ResourceCPU, want.MilliCPU, node.Requested.MilliCPU, node.Allocatable.MilliCPU)
	check(corev1.ResourceMemory, want.Memory, node.Requested.Memory, node.Allocatable.Memory)
	check(corev1.ResourceEphemeralStorage, want.EphemeralStorage, node.Requested.EphemeralStorage, node.Allocatable.EphemeralStorage)
	if len(want.ScalarResources) > 0 {
		names := make([]corev1.ResourceName, 0, len(want.ScalarResources))
		for name := range want.ScalarResources {
			if ignored == nil || !ignored(name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			check(name, want.ScalarResources[name], node.Requested.ScalarResources[name], node.Allocatable.ScalarResources[name])
		}
	}
	return lacks
}

// PreFilter adds up the pod's requests.
func (*Fit) PreFilter(state *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	state.Write(stateKey, state.Requests(pod))
	return nil, nil
}

// lacks is fits without what devices stand for either.
func (f *Fit) lacks(want *framework.Resource, node *framework.NodeInfo, ignored func(corev1.ResourceName) bool) []Insufficient {
	if f.Class == nil || len(want.ScalarResources) == 0 {
		return fits(want, node, ignored)
	}
	return fits(want, node, func(name corev1.ResourceName) bool {
		return ignored != nil && ignored(name) || f.delegated(name, node)
	})
}

// Filter rejects nodes without enough left; all lacking resources are named.
func (f *Fit) Filter(state *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	lacks := f.lacks(framework.Read[*framework.Resource](state, stateKey), node, f.ignored())
	if len(lacks) == 0 {
		return nil
	}
	code := framework.Unschedulable
	reasons := make([]string, len(lacks))
	for i, l := range lacks {
		reasons[i] = l.Reason
		if l.Unresolvable {
			code = framework.UnschedulableAndUnresolvable
		}
	}
	return framework.NewStatus(Name, code, reasons...)
}

// PreScore adds up the requests that count for scoring: containers that ask
// for nothing count as 100m and 200Mi. What the pod requests as a whole does not
// count here, though it does in Filter and on the nodes: upstream's NewFit does not
// tell its scorer of enablePodLevelResources.
func (*Fit) PreScore(state *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) *framework.Status {
	state.Write(scoreKey, scored(pod, state))
	return nil
}

func scored(pod *corev1.Pod, state *framework.CycleState) *framework.Resource {
	requests := state.NonZeroRequests(pod)
	if pod.Spec.Resources != nil {
		own := framework.ContainerRequests(pod)
		requests = &own
	}
	return requests
}

// requests are what PreScore has added up, or would where the profile has no PreScore of this plugin.
func (f *Fit) requests(state *framework.CycleState, pod *corev1.Pod) *framework.Resource {
	if r := framework.Read[*framework.Resource](state, scoreKey); r != nil {
		return r
	}
	return scored(pod, state)
}

// Score is the mean over CPU and memory of the part that would be left, of 100; or what
// another strategy comes to.
func (f *Fit) Score(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) int64 {
	if f.strategy != nil {
		return f.strategy.score(f.requests(state, pod), node)
	}
	cpu, memory := after(f.requests(state, pod), &node.NonZeroRequested, node)
	return mean(cpu, memory, leastRequested)
}

// use is a resource's use, of its capacity.
type use struct{ used, capacity int64 }

// after is the use of CPU and memory with the pod on the node.
func after(pod, used *framework.Resource, node *framework.NodeInfo) (cpu, memory use) {
	return use{used.MilliCPU + pod.MilliCPU, node.Allocatable.MilliCPU}, use{used.Memory + pod.Memory, node.Allocatable.Memory}
}

// mean of the scores of the resources that the node has; both weigh 1.
func mean(cpu, memory use, score func(use) int64) int64 {
	var sum, n int64
	for _, u := range [2]use{cpu, memory} {
		if u.capacity > 0 {
			sum += score(u)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

func leastRequested(u use) int64 {
	if u.used > u.capacity {
		return 0
	}
	return (u.capacity - u.used) * framework.MaxNodeScore / u.capacity
}

func mostRequested(u use) int64 {
	return min(u.used, u.capacity) * framework.MaxNodeScore / u.capacity
}

// ExplainScore shows the arithmetic.
func (f *Fit) ExplainScore(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) string {
	if f.strategy != nil {
		return f.strategy.explain(f.requests(state, pod), node)
	}
	cpu, memory := after(f.requests(state, pod), &node.NonZeroRequested, node)
	return fmt.Sprintf("with the pod: cpu %dm of %dm, %d %% left; memory %dMi of %dMi, %d %% left; the mean counts",
		cpu.used, cpu.capacity, percent(cpu), memory.used>>20, memory.capacity>>20, percent(memory))
}

func percent(u use) int64 {
	if u.capacity == 0 {
		return 0
	}
	return leastRequested(u)
}

// EventsToRegister: a pod goes or shrinks, a node comes or grows.
func (f *Fit) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.AssignedPod, Action: framework.Delete}, Hint: afterPodDelete},
		{Event: framework.ClusterEvent{Resource: framework.Node, Action: framework.Add | framework.UpdateNodeAllocatable}, Hint: f.afterNodeChange},
		{Event: framework.ClusterEvent{Resource: framework.DeviceClass, Action: framework.Add | framework.Update}, Hint: afterClass},
		{Event: framework.ClusterEvent{Resource: framework.AssignedPod, Action: framework.UpdatePodScaleDown}, Hint: afterPodScaleDown},
		{Event: framework.ClusterEvent{Resource: framework.TargetPod, Action: framework.UpdatePodScaleDown}},
	}
}

// afterClass: does the class stand for a resource that the pod requests, and did it not before?
//
// Mirrors isSchedulableAfterDeviceClassEvent.
func afterClass(pod *corev1.Pod, old, new runtime.Object) bool {
	was, before := old.(*resourcev1.DeviceClass)
	is, ok := new.(*resourcev1.DeviceClass)
	if !ok {
		return true
	}
	name := is.Spec.ExtendedResourceName
	want := framework.PodRequests(pod).ScalarResources
	if before {
		if had := was.Spec.ExtendedResourceName; had == name || had != nil && name != nil && *had == *name {
			return false
		}
	} else if _, asked := want[corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix+is.Name)]; asked {
		return true
	}
	if name == nil {
		return false
	}
	_, asked := want[corev1.ResourceName(*name)]
	return asked
}

func afterPodDelete(_ *corev1.Pod, old, _ runtime.Object) bool {
	gone, ok := old.(*corev1.Pod)
	return ok && gone.Spec.NodeName != ""
}

// afterPodScaleDown: did it give back anything the pod asks for?
func afterPodScaleDown(pod *corev1.Pod, old, new runtime.Object) bool {
	o, ok1 := old.(*corev1.Pod)
	n, ok2 := new.(*corev1.Pod)
	if !ok1 || !ok2 {
		return true
	}
	want, was, is := framework.PodRequests(pod), framework.PodRequests(o), framework.PodRequests(n)
	return grew(&want, &is, &was)
}

// afterNodeChange: would the pod fit on the node if it were empty, and is there
// more of something it asks for than before?
func (f *Fit) afterNodeChange(pod *corev1.Pod, old, new runtime.Object) bool {
	is, ok := new.(*corev1.Node)
	if !ok {
		return true
	}
	want, now := framework.PodRequests(pod), framework.NewNodeInfo(is)
	if len(f.lacks(&want, now, nil)) > 0 {
		return false
	}
	was, _ := old.(*corev1.Node)
	if was == nil {
		return true
	}
	for name, n := range want.ScalarResources { // any order: is there one?
		if n != 0 && f.delegated(name, now) {
			return true
		}
	}
	before := framework.NewNodeInfo(was)
	return now.Allocatable.AllowedPodNumber > before.Allocatable.AllowedPodNumber || grew(&want, &before.Allocatable, &now.Allocatable)
}

// grew reports whether b has more than a of anything that is wanted.
func grew(want, a, b *framework.Resource) bool {
	if want.MilliCPU > 0 && b.MilliCPU > a.MilliCPU || want.Memory > 0 && b.Memory > a.Memory ||
		want.EphemeralStorage > 0 && b.EphemeralStorage > a.EphemeralStorage {
		return true
	}
	for name, n := range want.ScalarResources {
		if n > 0 && b.ScalarResources[name] > a.ScalarResources[name] {
			return true
		}
	}
	return false
}
