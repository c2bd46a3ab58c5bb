package dynamicresources

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
)

// What the search for devices may cost in one cycle, in looks at a device: so many, and so many more for each
// node of the cluster. The evaluation of a selector counts as several.
const (
	looks       = 100_000
	looksByNode = 1000
	evaluation  = 20
)

// allowance bounds what one cycle spends on the search for devices, which tries every combination. Upstream's
// ends after ten seconds by the clock (filterTimeout); here it ends after as much work on any machine.
//
// It is a context, since that is how the allocator can be stopped: it asks before each device that it
// chooses (Err), and at each evaluation (Done).
type allowance struct {
	context.Context
	left    int
	step    int // what a choice costs: a look at each device of the node
	perNode map[string]int
	shared  int
}

func newAllowance(nodes int, slices []*resourcev1.ResourceSlice) *allowance {
	a := &allowance{Context: context.Background(), left: looks + looksByNode*nodes, perNode: map[string]int{}}
	for _, s := range slices {
		if s.Spec.NodeName != nil {
			a.perNode[*s.Spec.NodeName] += len(s.Spec.Devices)
		} else {
			a.shared += len(s.Spec.Devices)
		}
	}
	return a
}

// on is the allowance for a node.
func (a *allowance) on(node string) *allowance {
	a.step = 1 + a.perNode[node] + a.shared
	return a
}

func (a *allowance) spent() bool { return a.left < 0 }

// Err is DeadlineExceeded once the allowance is spent.
func (a *allowance) Err() error {
	a.left -= a.step
	if a.spent() {
		return context.DeadlineExceeded
	}
	return nil
}

var over = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done is closed once the allowance is spent.
func (a *allowance) Done() <-chan struct{} {
	a.left -= evaluation
	if a.spent() {
		return over
	}
	return nil
}
