package nodelifecycle

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// The states of a zone.
const (
	stateInitial = "Initial"
	stateNormal  = "Normal"
	stateFull    = "FullDisruption"    // no node is ready
	statePartial = "PartialDisruption" // more than two and 55 % are not
)

// zone is the nodes of one failure zone that wait for a NoExecute taint, and how
// fast they get it (scheduler/rate_limited_queue.go RateLimitedTimedQueue).
type zone struct {
	state string
	queue []string
	in    map[string]bool // in the queue, or through it already

	rate   float64 // nodes a second
	tokens float64 // at most one
	last   time.Time
}

// zoneOf is a node's region and zone.
func zoneOf(node *corev1.Node) string {
	region, zone := node.Labels[corev1.LabelTopologyRegion], node.Labels[corev1.LabelTopologyZone]
	if region == "" && zone == "" {
		return ""
	}
	return region + ":" + zone
}

func (c *Controller) zone(t *sim.Task, name string) *zone {
	z := c.zones[name]
	if z == nil {
		z = &zone{state: stateInitial, in: map[string]bool{}, rate: evictionRate, tokens: 1, last: t.Now()}
		c.zones[name] = z
	}
	return z
}

// add queues a node, unless it is queued or was served since it was last
// removed.
func (z *zone) add(node string) bool {
	if z.in[node] {
		return false
	}
	z.in[node] = true
	z.queue = append(z.queue, node)
	return true
}

func (z *zone) remove(node string) {
	if !z.in[node] {
		return
	}
	delete(z.in, node)
	z.queue = slices.DeleteFunc(z.queue, func(n string) bool { return n == node })
}

// accept takes the token of a node that is tainted now.
func (z *zone) accept(now time.Time) bool {
	z.tokens = min(1, z.tokens+now.Sub(z.last).Seconds()*z.rate)
	z.last = now
	if z.rate <= 0 || z.tokens < 1-1e-9 {
		return false
	}
	z.tokens--
	return true
}

// setRate changes the pace; who waits goes on waiting (SwapLimiter).
func (z *zone) setRate(rate float64, now time.Time) {
	if z.rate == rate {
		return
	}
	z.tokens = min(1, z.tokens+now.Sub(z.last).Seconds()*z.rate)
	if z.tokens < 1 || z.rate == 0 {
		z.tokens = 0
	}
	z.rate, z.last = rate, now
}

// taintPass taints the nodes whose turn it is (doNoExecuteTaintingPass). It
// gives the time until the next one's turn; zero when nobody waits for a turn.
func (c *Controller) taintPass(t *sim.Task) time.Duration {
	for _, name := range slices.Sorted(maps.Keys(c.zones)) {
		z := c.zones[name]
		for len(z.queue) > 0 && z.accept(t.Now()) {
			node := z.queue[0]
			z.queue = z.queue[1:]
			t.SetCauses(c.told[node])
			tainted := false
			c.Attempt(t, client.Nodes.Ref("", node), "the taint of the node", func() { tainted = c.taintOne(t, node) })
			if !tainted && z.in[node] {
				z.queue = append(z.queue, node)
				break
			}
		}
	}
	next := time.Duration(0)
	for _, z := range c.zones { // order does not matter: a minimum
		if len(z.queue) == 0 || z.rate <= 0 {
			continue
		}
		wait := max(evictionPeriod, time.Duration((1-z.tokens)/z.rate*float64(time.Second)).Round(evictionPeriod))
		if next == 0 || wait < next {
			next = wait
		}
	}
	return next
}

// taintOne gives a node its NoExecute taint. False: try again.
func (c *Controller) taintOne(t *sim.Task, name string) bool {
	obj, ok := c.nodes.Get(name)
	if !ok {
		return true
	}
	node := obj.(*corev1.Node)
	ready := condition(node, corev1.NodeReady)
	if ready == nil {
		return false
	}
	key, opposite := corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable
	switch ready.Status {
	case corev1.ConditionTrue:
		return true // it is well again
	case corev1.ConditionUnknown:
		key, opposite = opposite, key
	}
	if hasTaint(node, key, corev1.TaintEffectNoExecute) {
		return true
	}
	return c.swapNoExecute(t, node, key, opposite) == nil
}

// zoneState judges a zone by its nodes' Ready conditions (ComputeZoneState).
func zoneState(nodes []*corev1.NodeCondition) string {
	sick := 0
	for _, c := range nodes {
		if c == nil || c.Status != corev1.ConditionTrue {
			sick++
		}
	}
	switch {
	case sick > 0 && sick == len(nodes):
		return stateFull
	case sick > 2 && float64(sick)/float64(len(nodes)) >= unhealthyThreshold:
		return statePartial
	}
	return stateNormal
}

func (c *Controller) rateFor(state string, nodes int) float64 {
	if state == statePartial {
		if nodes > largeCluster {
			return secondaryRate
		}
		return 0
	}
	return evictionRate
}

// handleDisruption adapts the pace to the state of the zones. When every zone is
// fully disrupted, this controller is more likely cut off than all nodes dead: all
// NoExecute taints are removed and nothing is evicted until a node is well again.
func (c *Controller) handleDisruption(t *sim.Task, byZone map[string][]*corev1.NodeCondition, nodes []runtime.Object) {
	states := map[string]string{}
	allAre, allWere := true, true
	for name, conds := range byZone { // order does not matter: a map from a map
		states[name] = zoneState(conds)
		allAre = allAre && states[name] == stateFull
	}
	for name, z := range c.zones { // order does not matter: deletions and a conjunction
		if _, have := byZone[name]; !have {
			delete(c.zones, name)
			continue
		}
		allWere = allWere && z.state == stateFull
	}
	names := slices.Sorted(maps.Keys(c.zones))
	if len(names) == 0 || allAre && allWere {
		return
	}
	if allAre {
		if c.blind = slices.ContainsFunc(names, func(n string) bool { return c.zones[n].state != stateInitial }); c.blind {
			c.decide(t, "no node is ready in any zone: evict nothing until one is")
		}
		for _, obj := range nodes {
			c.markReachable(t, obj.(*corev1.Node))
		}
		for _, name := range names {
			c.zones[name].setRate(0, t.Now())
			c.zones[name].state = stateFull
		}
		return
	}
	if allWere {
		if c.blind {
			c.decide(t, "a node is ready again: start counting the silence of the others again")
			c.blind = false
		}
		for _, obj := range nodes {
			if h := c.health[obj.(*corev1.Node).Name]; h != nil {
				h.seen = t.Now()
			}
		}
	}
	for _, name := range names {
		z := c.zones[name]
		if z.state == states[name] && !allWere {
			continue
		}
		if z.state != stateInitial && states[name] != stateNormal || z.state == statePartial {
			c.decide(t, fmt.Sprintf("zone %q is now in state %s: taint %g nodes a second", name, states[name], c.rateFor(states[name], len(byZone[name]))))
		}
		z.setRate(c.rateFor(states[name], len(byZone[name])), t.Now())
		z.state = states[name]
	}
	c.wake.Signal()
}

// decide tells of a decision about no one node.
func (c *Controller) decide(t *sim.Task, why string) {
	causes := t.Causes()
	c.Act(t, "", trace.Ref{}, "update", client.Nodes.Ref("", ""), nil, nil, why)
	t.SetCauses(causes...)
}
