// Package dynamicresources is the DynamicResources plugin: a pod with ResourceClaims goes where the devices are
// that its claims ask for, and gets them.
//
// A claim that is allocated already keeps its pod on the nodes where its devices are. For one that is not,
// each node is asked for devices (Filter); what was found on the node that is chosen is kept for the claim
// (reserve.go) and written before the pod is bound: status.allocation and status.reservedFor (bind.go).
// A pod that requests an extended resource which a DeviceClass stands for gets a claim of the scheduler's
// (extended.go). Which claims there are, as they will be once what was written is seen, and which devices they
// take, is [Claims].
//
// The search for devices is upstream's (k8s.io/dynamic-resource-allocation/structured). It starts no goroutine
// and reads no clock; it draws the names of shares at random, which are replaced (nameShares).
//
// Mirrors pkg/scheduler/framework/plugins/dynamicresources. Simplified: of several claims that could be
// deallocated the first is, upstream's is any; the search ends after an amount of work, upstream's after ten
// seconds; no pod groups.
//
// Start reading at [DynamicResources.PreFilter].
package dynamicresources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/nodedeclaredfeatures/features/draoptionalnodeoperations"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"

	"kviz/cluster/client"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/simulated"
	"kviz/cluster/trace"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.Scheduling, How: simulated.Simplified,
	What: "the search for devices of a ResourceClaim ends after an amount of work, upstream's after ten seconds",
})

// Name is the plugin's name.
const Name = "DynamicResources"

// Cluster is what the plugin needs to know.
type Cluster interface {
	ResourceClaims() *Claims
	DeviceClass(name string) (*resourcev1.DeviceClass, error)
	DeviceClasses() []*resourcev1.DeviceClass
	// DeviceClassOf is the class that stands for an extended resource, nil if none does.
	DeviceClassOf(name corev1.ResourceName) *resourcev1.DeviceClass
	// ResourceSlices have the taints of DeviceTaintRules.
	ResourceSlices() []*resourcev1.ResourceSlice
	Now() time.Time
	// Eventf records an Event about a pod.
	Eventf(t *sim.Task, pod *corev1.Pod, reason, action, note string, args ...any)
}

// features are those that are on by default in v1.37 (pkg/features/kube_features.go). The others are alpha, but for
// FractionalCapacityRange: that is on from the compatibility version 1.37, and the default one is 1.36.
var features = structured.Features{
	AdminAccess: true, PrioritizedList: true, PartitionableDevices: true, DeviceTaints: true, DeviceBindingAndStatus: true,
	ConsumableCapacity: true,
}

// DynamicResources is the plugin.
type DynamicResources struct {
	Cluster Cluster
	Client  client.Interface
	// BindingTimeout is how long a device may take to get ready.
	BindingTimeout time.Duration

	compiled *cel.Cache // of selectors, the last ten
}

// New makes the plugin.
func New(c Cluster, api client.Interface, bindingTimeout time.Duration) *DynamicResources {
	return &DynamicResources{
		Cluster: c, Client: api, BindingTimeout: bindingTimeout,
		compiled: cel.NewCache(10, cel.Features{EnableConsumableCapacity: features.ConsumableCapacity, EnableListTypeAttributes: features.ListTypeAttributes}),
	}
}

// classes are the classes as the allocator wants them.
type classes struct{ Cluster }

func (c classes) Get(name string) (*resourcev1.DeviceClass, error) { return c.DeviceClass(name) }
func (c classes) List() ([]*resourcev1.DeviceClass, error)         { return c.DeviceClasses(), nil }

// state is a pod's claims, and what was found for them on each node.
type state struct {
	// claims are those of the pod, then the special one for its extended resources if it needs one.
	claims []*resourcev1.ResourceClaim
	own    int // how many are not the special one
	// special is the UID that the special claim has before it is created.
	special types.UID
	scalars map[corev1.ResourceName]int64

	allocator structured.Allocator
	allowance *allowance
	// about has an entry for each claim.
	about []about
	nodes map[string]*choice
}

// about is what the cycle knows of a claim.
type about struct {
	nodes      *nodeaffinity.NodeSelector   // where it is available; nil: everywhere, or it is not allocated
	allocation *resourcev1.AllocationResult // set by Reserve, written by PreBind
	// unavailable: it is allocated, and some node cannot use it.
	unavailable bool
}

// choice is what the pod's claims get if it goes to a node: an allocation for each that has none, in their order.
type choice struct {
	allocations []resourcev1.AllocationResult
	// special is the claim for extended resources as it is on this node, with what its requests are for.
	special  *resourcev1.ResourceClaim
	mappings []corev1.ContainerExtendedResourceRequest
}

func (s *state) specialClaim() *resourcev1.ResourceClaim {
	if len(s.claims) <= s.own {
		return nil
	}
	return s.claims[s.own]
}

var skip = framework.NewStatus(Name, framework.Skip)

// rejected is why the pod has to wait, whatever is evicted.
func rejected(reason string) *framework.Status {
	return framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, reason)
}

func broken(err error) *framework.Status { return framework.AsStatus(Name, err) }

// Name is [Name].
func (*DynamicResources) Name() string { return Name }

// PreEnqueue keeps a pod out of the active queue until all its claims exist.
func (pl *DynamicResources) PreEnqueue(pod *corev1.Pod) *framework.Status {
	if _, err := pl.claimsOf(pod); err != nil {
		return rejected(err.Error())
	}
	return nil
}

// claimsOf are the claims that the pod names, or what is wrong with one.
//
// Mirrors foreachPodResourceClaim.
func (pl *DynamicResources) claimsOf(pod *corev1.Pod) ([]*resourcev1.ResourceClaim, error) {
	var claims []*resourcev1.ResourceClaim
	for i := range pod.Spec.ResourceClaims {
		name, checkOwner, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil {
			return nil, err
		}
		if name == nil {
			continue // none was made for it, on purpose
		}
		claim, err := pl.Cluster.ResourceClaims().get(pod.Namespace, *name)
		if err != nil {
			return nil, err
		}
		if claim.DeletionTimestamp != nil {
			return nil, fmt.Errorf("resourceclaim %q is being deleted", claim.Name)
		}
		if checkOwner {
			if err := resourceclaim.IsForPod(pod, claim, false); err != nil {
				return nil, err
			}
		}
		claims = append(claims, claim)
	}
	return claims, nil
}

// PreFilter looks at the pod's claims, and gets an allocator ready if one needs devices.
func (pl *DynamicResources) PreFilter(cs *framework.CycleState, pod *corev1.Pod, nodes []*framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	claims, err := pl.claimsOf(pod)
	if err != nil {
		return nil, rejected(err.Error())
	}
	s := &state{own: len(claims)}
	special := pl.preFilterExtended(cs, pod, s)
	if special != nil {
		claims = append(claims, special)
		s.special = special.UID
	}
	if len(claims) == 0 {
		return nil, skip
	}
	cs.Write(Name, s)
	s.about, s.nodes = make([]about, len(claims)), map[string]*choice{}
	some := false
	for i, claim := range claims {
		if claim.Status.Allocation != nil {
			if s.about[i].nodes, err = availableOn(claim.Status.Allocation); err != nil {
				return nil, broken(err)
			}
			continue
		}
		some = true
		if pl.Cluster.ResourceClaims().pending(claim.UID) != nil {
			return nil, rejected(fmt.Sprintf("resource claim %s is in the process of being allocated", keyOf(claim)))
		}
		if claim != special {
			if st := pl.valid(claim); st != nil {
				return nil, st
			}
		}
	}
	if some {
		slices := pl.Cluster.ResourceSlices()
		s.allowance = newAllowance(len(nodes), slices)
		s.allocator, err = structured.NewAllocator(context.Background(), features, pl.Cluster.ResourceClaims().allocated(), classes{pl.Cluster}, slices, pl.compiled)
		if err != nil {
			return nil, broken(err)
		}
	}
	s.claims = claims
	return nil, nil
}

// valid rejects a claim with a request that nobody can satisfy.
func (pl *DynamicResources) valid(claim *resourcev1.ResourceClaim) *framework.Status {
	for _, r := range claim.Spec.Devices.Requests {
		switch {
		case r.Exactly != nil:
			if st := pl.validClass(r.Exactly.DeviceClassName, r.Name); st != nil {
				return st
			}
		case len(r.FirstAvailable) > 0:
			for _, sub := range r.FirstAvailable {
				if st := pl.validClass(sub.DeviceClassName, resourceclaim.CreateSubRequestRef(r.Name, sub.Name)); st != nil {
					return st
				}
			}
		default:
			return rejected(fmt.Sprintf("resource claim %s, request %s: unknown request type", keyOf(claim), r.Name))
		}
	}
	return nil
}

func (pl *DynamicResources) validClass(class, request string) *framework.Status {
	if class == "" {
		return broken(fmt.Errorf("request %s: unsupported request type", request))
	}
	if _, err := pl.Cluster.DeviceClass(class); apierrors.IsNotFound(err) {
		return rejected(fmt.Sprintf("request %s: device class %s does not exist", request, class))
	}
	return nil
}

func availableOn(a *resourcev1.AllocationResult) (*nodeaffinity.NodeSelector, error) {
	if a.NodeSelector == nil {
		return nil, nil
	}
	return nodeaffinity.NewNodeSelector(a.NodeSelector)
}

// Filter rejects a node that an allocated claim is not available on, or that has no devices for one that is not.
func (pl *DynamicResources) Filter(cs *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	s := framework.Read[*state](cs, Name)
	if s == nil {
		return broken(errors.New("not found"))
	}
	if len(s.claims) == 0 {
		return nil
	}
	special, mappings, st := pl.filterExtended(s, pod, node)
	if st != nil {
		return st
	}
	if special == nil && s.own == 0 {
		return nil // device plugins have what it wants
	}
	var lacking []int
	for i, claim := range s.claims {
		if !pl.available(s, i, claim, node.Node) {
			lacking = append(lacking, i)
		}
	}
	var found []resourcev1.AllocationResult
	if s.allocator != nil {
		if found, st = s.allocate(special, node.Node); st != nil {
			return st
		}
	}
	if len(lacking) > 0 {
		for _, i := range lacking {
			s.about[i].unavailable = true
		}
		return rejected("resourceclaim not available on the node")
	}
	if s.allocator != nil {
		s.nodes[node.Node.Name] = &choice{allocations: found, special: special, mappings: mappings}
	}
	return nil
}

// available reports whether an allocated claim can be used on a node. It is not where its devices failed to get
// ready, or took too long.
func (pl *DynamicResources) available(s *state, i int, claim *resourcev1.ResourceClaim, node *corev1.Node) bool {
	a := claim.Status.Allocation
	switch {
	case s.about[i].nodes != nil && !s.about[i].nodes.Match(node), needsOptionalOperations(a) && !slices.Contains(node.Status.DeclaredFeatures, draoptionalnodeoperations.DRAOptionalNodeOperationsFeatureGate):
		return false
	case a == nil:
		return true
	}
	done, err := ready(claim)
	return err == nil && (done || !pl.late(claim))
}

// Mirrors allocationResultRequiresDRAOptionalNodeOperations.
func needsOptionalOperations(a *resourcev1.AllocationResult) bool {
	return a != nil && slices.ContainsFunc(a.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool { return len(r.SkipNodeOperations) > 0 })
}

// allocate finds devices on a node for the claims that have none.
func (s *state) allocate(special *resourcev1.ResourceClaim, node *corev1.Node) ([]resourcev1.AllocationResult, *framework.Status) {
	var wanting []*resourcev1.ResourceClaim
	for _, claim := range s.claims {
		switch {
		case claim.Status.Allocation != nil:
		case claim == s.specialClaim() && special != nil:
			wanting = append(wanting, special)
		default:
			wanting = append(wanting, claim)
		}
	}
	found, err := s.allocator.Allocate(s.allowance.on(node.Name), node, wanting)
	switch {
	case s.allowance.spent():
		return nil, broken(fmt.Errorf("node %s: timed out trying to allocate devices", node.Name))
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		return nil, rejected(err.Error())
	case err != nil:
		return nil, broken(err)
	case len(found) != len(wanting):
		return nil, rejected("cannot allocate all claims")
	}
	for i := range found {
		nameShares(&found[i], wanting[i])
	}
	return found, nil
}

// Score prefers nodes that have what a claim asks for first (firstAvailable).
func (pl *DynamicResources) Score(cs *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) int64 {
	var score int64
	for _, a := range alternatives(cs, node) {
		score += int64(resourcev1.FirstAvailableDeviceRequestMaxSize - a.place)
	}
	return score
}

// alternative is one that was found for a request with several.
type alternative struct {
	ref   string // request/subrequest
	place int
}

// Mirrors computeScore.
func alternatives(cs *framework.CycleState, node *framework.NodeInfo) (taken []alternative) {
	s := framework.Read[*state](cs, Name)
	if s == nil || s.nodes[node.Node.Name] == nil {
		return nil
	}
	found := s.nodes[node.Node.Name].allocations
	for _, claim := range s.claims {
		allocation := claim.Status.Allocation
		if allocation == nil {
			if len(found) == 0 {
				return taken
			}
			allocation, found = &found[0], found[1:]
		}
		for _, r := range claim.Spec.Devices.Requests {
			for i, sub := range r.FirstAvailable {
				ref := resourceclaim.CreateSubRequestRef(r.Name, sub.Name)
				if slices.ContainsFunc(allocation.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool { return r.Request == ref }) {
					taken = append(taken, alternative{ref, i})
				}
			}
		}
	}
	return taken
}

// PreScore skips a pod that no node has alternatives for: upstream rates each node 0 then.
func (pl *DynamicResources) PreScore(cs *framework.CycleState, _ *corev1.Pod, nodes []*framework.NodeInfo) *framework.Status {
	for _, n := range nodes {
		if len(alternatives(cs, n)) > 0 {
			return nil
		}
	}
	return skip
}

// NormalizeScore scales by the best node's.
func (*DynamicResources) NormalizeScore(_ *framework.CycleState, _ []*framework.NodeInfo, scores []int64) {
	framework.DefaultNormalizeScore(false, scores)
}

// ExplainScore names the alternatives.
func (pl *DynamicResources) ExplainScore(cs *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) string {
	text := ""
	for _, a := range alternatives(cs, node) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s is alternative %d: %d points", a.ref, a.place+1, resourcev1.FirstAvailableDeviceRequestMaxSize-a.place)
	}
	return text
}

// DevicesOn are the devices that the pod's claims get on the node, for the trace.
func (pl *DynamicResources) DevicesOn(cs *framework.CycleState, node string) (devices []trace.ClaimedDevice) {
	s := framework.Read[*state](cs, Name)
	if s == nil {
		return nil
	}
	var found []resourcev1.AllocationResult
	if c := s.nodes[node]; c != nil {
		found = c.allocations
	}
	for _, claim := range s.claims {
		allocation, had := claim.Status.Allocation, claim.Status.Allocation != nil
		if !had {
			if len(found) == 0 {
				return devices
			}
			allocation, found = &found[0], found[1:]
		}
		for _, r := range allocation.Devices.Results {
			devices = append(devices, trace.ClaimedDevice{Claim: claim.Name, Request: r.Request, Driver: r.Driver, Pool: r.Pool, Device: r.Device, Before: had})
		}
	}
	return devices
}

// PostFilter takes the devices back from an allocated claim that nobody else uses and that some node could not
// use: the next attempt may find others. Or it deletes what an earlier attempt has left.
//
// Mirrors deallocateOrDeletePodClaims.
func (pl *DynamicResources) PostFilter(t *sim.Task, cs *framework.CycleState, pod *corev1.Pod, _ *framework.NodeStatuses) (*framework.PostFilterResult, *framework.Status) {
	nothing := framework.NewStatus(Name, framework.Unschedulable)
	s := framework.Read[*state](cs, Name)
	if s == nil {
		return nil, nothing
	}
	special := s.specialClaim()
	for i, claim := range s.claims {
		if !s.about[i].unavailable || claim == special {
			continue
		}
		if by := claim.Status.ReservedFor; len(by) == 0 || len(by) == 1 && by[0].UID == pod.UID {
			claim = claim.DeepCopy()
			claim.Status = resourcev1.ResourceClaimStatus{}
			if _, err := client.UpdateStatus(t, pl.Client, client.ResourceClaims, claim.Namespace, claim); err != nil {
				return nil, broken(err)
			}
			return nil, framework.NewStatus(Name, framework.Unschedulable, "deallocation of ResourceClaim completed")
		}
	}
	if special != nil && special.Name != specialClaimInMemName {
		if err := pl.deleteClaim(t, special); err != nil {
			return nil, broken(err)
		}
		return nil, framework.NewStatus(Name, framework.Unschedulable, "deletion of ResourceClaim completed")
	}
	return nil, nothing
}
