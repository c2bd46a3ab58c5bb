package noderesources

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/scheduler/framework"
)

// BalancedAllocationName is the name of the plugin BalancedAllocation.
const BalancedAllocationName = "NodeResourcesBalancedAllocation"

const balancedKey = "PreScore" + BalancedAllocationName

// BalancedAllocation is the plugin NodeResourcesBalancedAllocation.
type BalancedAllocation struct{}

var balancedSkip = framework.NewStatus(BalancedAllocationName, framework.Skip)

// Name is [BalancedAllocationName].
func (*BalancedAllocation) Name() string { return BalancedAllocationName }

// PreScore skips pods that request neither CPU nor memory: they change no
// node's balance.
func (*BalancedAllocation) PreScore(state *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) *framework.Status {
	r := state.Requests(pod)
	if r.MilliCPU == 0 && r.Memory == 0 {
		return balancedSkip
	}
	state.Write(balancedKey, r)
	return nil
}

// Score is between 50 and 100: about 75 if the pod leaves the balance between
// CPU and memory as it is, more if it improves it, less if it spoils it.
func (*BalancedAllocation) Score(state *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) int64 {
	cpu, memory := after(framework.Read[*framework.Resource](state, balancedKey), &node.Requested, node)
	with := balance(cpu, memory)
	without := balance(use{node.Requested.MilliCPU, cpu.capacity}, use{node.Requested.Memory, memory.capacity})
	return framework.MaxNodeScore/2 + (framework.MaxNodeScore/2+with-without)/2
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

func fraction(u use) float64 { return min(float64(u.used)/float64(u.capacity), 1) }

// ExplainScore names the balance before and after.
func (*BalancedAllocation) ExplainScore(state *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) string {
	cpu, memory := after(framework.Read[*framework.Resource](state, balancedKey), &node.Requested, node)
	without := balance(use{node.Requested.MilliCPU, cpu.capacity}, use{node.Requested.Memory, memory.capacity})
	return fmt.Sprintf("balance of cpu and memory goes from %d to %d of 100", without, balance(cpu, memory))
}
