package noderesources

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"kviz/cluster/scheduler/framework"
)

// BalancedAllocationName is the name of the plugin BalancedAllocation.
const BalancedAllocationName = "NodeResourcesBalancedAllocation"

const balancedKey = "PreScore" + BalancedAllocationName

// BalancedAllocation is the plugin NodeResourcesBalancedAllocation. The zero value
// balances cpu and memory.
type BalancedAllocation struct{ resources []config.ResourceSpec }

// NewBalancedAllocation is the plugin with arguments that are valid.
func NewBalancedAllocation(args *config.NodeResourcesBalancedAllocationArgs) *BalancedAllocation {
	if usual(args.Resources) {
		return &BalancedAllocation{}
	}
	return &BalancedAllocation{resources: args.Resources}
}

var balancedSkip = framework.NewStatus(BalancedAllocationName, framework.Skip)

// Name is [BalancedAllocationName].
func (*BalancedAllocation) Name() string { return BalancedAllocationName }

// SignPod: what is requested.
func (*BalancedAllocation) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	return framework.SignResources(pod), nil
}

// PreScore skips pods that request none of the resources, such as neither CPU nor memory: they change no
// node's balance.
func (b *BalancedAllocation) PreScore(state *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) *framework.Status {
	r := state.Requests(pod)
	if b.bestEffort(r) {
		return balancedSkip
	}
	state.Write(balancedKey, r)
	return nil
}

// bestEffort reports whether a pod requests none of the resources.
func (b *BalancedAllocation) bestEffort(r *framework.Resource) bool {
	if b.resources == nil {
		return r.MilliCPU == 0 && r.Memory == 0
	}
	return !slices.ContainsFunc(b.resources, func(s config.ResourceSpec) bool { return amount(r, s.Name) != 0 })
}

// Score is between 50 and 100: about 75 if the pod leaves the balance between
// CPU and memory as it is, more if it improves it, less if it spoils it.
func (b *BalancedAllocation) Score(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) int64 {
	r := framework.Read[*framework.Resource](state, balancedKey)
	if r == nil { // where the profile has no PreScore of this plugin
		if r = state.Requests(pod); b.bestEffort(r) {
			return 0
		}
	}
	with, without := b.balances(r, node)
	return framework.MaxNodeScore/2 + (framework.MaxNodeScore/2+with-without)/2
}

// balances are the balance with the pod on the node, and without.
func (b *BalancedAllocation) balances(pod *framework.Resource, node *framework.NodeInfo) (with, without int64) {
	if b.resources != nil {
		after, before := uses(b.resources, pod, node, &node.Requested)
		return balanceOf(after), balanceOf(before)
	}
	cpu, memory := after(pod, &node.Requested, node)
	return balance(cpu, memory), balance(use{node.Requested.MilliCPU, cpu.capacity}, use{node.Requested.Memory, memory.capacity})
}

// balance is 100 when CPU and memory are used to the same fraction, and falls
// by the standard deviation of the two fractions.
func balance(cpu, memory use) int64 {
	if cpu.capacity == 0 || memory.capacity == 0 {
		return framework.MaxNodeScore
	}
	std := math.Abs((fraction(cpu) - fraction(memory)) / 2)
	return int64((1 - std) * float64(framework.MaxNodeScore))
}

// balanceOf is balance for any number of resources, of which those without capacity do not count.
//
// Mirrors balanced_allocation.go balancedResourceScore.
func balanceOf(all []use) int64 {
	var fractions []float64
	var total float64
	for _, u := range all {
		if u.capacity != 0 {
			fractions = append(fractions, fraction(u))
			total += fraction(u)
		}
	}
	std := 0.0
	switch n := float64(len(fractions)); {
	case n == 2:
		std = math.Abs((fractions[0] - fractions[1]) / 2)
	case n > 2:
		var sum float64
		for _, f := range fractions {
			sum += (f - total/n) * (f - total/n)
		}
		std = math.Sqrt(sum / n)
	}
	return int64((1 - std) * float64(framework.MaxNodeScore))
}

func fraction(u use) float64 { return min(float64(u.used)/float64(u.capacity), 1) }

// ExplainScore names the balance before and after.
func (b *BalancedAllocation) ExplainScore(state *framework.CycleState, pod *corev1.Pod, node *framework.NodeInfo) string {
	r := framework.Read[*framework.Resource](state, balancedKey)
	if r == nil {
		r = state.Requests(pod)
	}
	of := "cpu and memory"
	if b.resources != nil {
		of = listed(b.resources)
	}
	with, without := b.balances(r, node)
	return fmt.Sprintf("balance of %s goes from %d to %d of 100", of, without, with)
}
