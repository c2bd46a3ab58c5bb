package nodelifecycle

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// monitor looks at all nodes once (monitorNodeHealth).
func (c *Controller) monitor(t *sim.Task) {
	nodes := c.nodes.List()
	c.register(t, nodes)
	states := make([]*corev1.NodeCondition, len(nodes))
	seen := make([]bool, len(nodes))
	workers := min(updateWorkers, 1+len(nodes)/nodesAWorker)
	c.Parallel(t, "update", workers, func(t *sim.Task, w int) {
		for i := w; i < len(nodes); i += workers {
			t.SetCauses(c.told[nodes[i].(*corev1.Node).Name])
			c.Attempt(t, client.RefOf(nodes[i]), "a look at the node", func() { states[i], seen[i] = c.update(t, nodes[i].(*corev1.Node)) })
		}
	})
	byZone := map[string][]*corev1.NodeCondition{}
	for i, obj := range nodes {
		node := obj.(*corev1.Node)
		if _, excluded := node.Labels["node.kubernetes.io/exclude-disruption"]; seen[i] && !excluded {
			byZone[zoneOf(node)] = append(byZone[zoneOf(node)], states[i])
		}
	}
	t.SetCauses(c.newest(nodes)...)
	c.handleDisruption(t, byZone, nodes)
}

// maxCauses bounds how many events a judgement on all nodes names.
const maxCauses = 8

// newest are the last events by which the nodes became what they are.
func (c *Controller) newest(nodes []runtime.Object) []trace.ID {
	var ids []trace.ID
	for _, obj := range nodes {
		if id := c.told[obj.(*corev1.Node).Name]; !id.IsZero() {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, trace.ID.Compare)
	return ids[max(0, len(ids)-maxCauses):]
}

// register notes nodes that are new and nodes that are gone.
func (c *Controller) register(t *sim.Task, nodes []runtime.Object) {
	now := make(map[string]trace.Ref, len(nodes))
	for _, obj := range nodes {
		node := obj.(*corev1.Node)
		now[node.Name] = client.RefOf(node)
		c.zone(t, zoneOf(node))
		if _, had := c.known[node.Name]; !had {
			t.SetCauses(c.told[node.Name])
			c.Events.Event(t, node, corev1.EventTypeNormal, "RegisteredNode", "Node %s event: Registered Node %s in Controller", node.Name, node.Name)
			c.markReachable(t, node)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.known)) {
		if _, have := now[name]; !have {
			t.SetCauses(c.told[name])
			delete(c.told, name)
			c.Events.EventRef(t, c.known[name], corev1.EventTypeNormal, "RemovingNode", "Node %s event: Removing Node %s from Controller", name, name)
			delete(c.health, name)
		}
	}
	c.known = now
}

// update brings one node's conditions, taints and pods in line with what is
// known of it. It gives its Ready condition now, and whether that is known.
func (c *Controller) update(t *sim.Task, node *corev1.Node) (ready *corev1.NodeCondition, ok bool) {
	var observed corev1.NodeCondition
	var err error
	for try := 1; ; try++ {
		var wait bool
		observed, node, wait, err = c.judge(t, node)
		if err == nil {
			break
		}
		if wait || try == updateTries {
			return nil, false // nothing is decided on what may be wrong
		}
		fresh, err := client.Get[*corev1.Node](t, c.Client, client.Nodes, "", node.Name)
		if err != nil {
			return nil, false
		}
		node = fresh
	}
	ready = condition(node, corev1.NodeReady)
	if ready == nil {
		return nil, true
	}
	c.noExecute(t, node, ready)
	fell := ready.Status != corev1.ConditionTrue && observed.Status == corev1.ConditionTrue
	if fell {
		c.Events.Event(t, node, corev1.EventTypeNormal, "NodeNotReady", "Node %s status is now: NodeNotReady", node.Name)
	}
	if fell || c.retry[node.Name] && observed.Status != corev1.ConditionTrue {
		if err := c.markPods(t, node.Name); err != nil {
			c.retry[node.Name] = true
			return ready, true
		}
	}
	delete(c.retry, node.Name)
	return ready, true
}

// noExecute has a node tainted that is not ready, or untainted that is
// (processTaintBaseEviction). Going from one taint to the other needs no queue.
func (c *Controller) noExecute(t *sim.Task, node *corev1.Node, ready *corev1.NodeCondition) {
	switch ready.Status {
	case corev1.ConditionTrue:
		c.markReachable(t, node)
	case corev1.ConditionFalse:
		c.wantTaint(t, node, corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable)
	case corev1.ConditionUnknown:
		c.wantTaint(t, node, corev1.TaintNodeUnreachable, corev1.TaintNodeNotReady)
	}
}

func (c *Controller) wantTaint(t *sim.Task, node *corev1.Node, key, opposite string) {
	if hasTaint(node, opposite, corev1.TaintEffectNoExecute) {
		_ = c.swapNoExecute(t, node, key, opposite) // the next pass tries again
		return
	}
	z := c.zone(t, zoneOf(node))
	if !hasTaint(node, key, corev1.TaintEffectNoExecute) {
		z.remove(node.Name)
	}
	if z.add(node.Name) {
		c.wake.Signal()
	}
}

// markReachable removes both NoExecute taints and the wish for one
// (markNodeAsReachable).
func (c *Controller) markReachable(t *sim.Task, node *corev1.Node) {
	var gone []corev1.Taint
	for _, key := range []string{corev1.TaintNodeUnreachable, corev1.TaintNodeNotReady} {
		if hasTaint(node, key, corev1.TaintEffectNoExecute) {
			gone = append(gone, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoExecute})
		}
	}
	if len(gone) > 0 {
		why := fmt.Sprintf("node %s is ready: remove %s", node.Name, texts(gone))
		if err := c.changeTaints(t, node, nil, gone, why); err != nil {
			return
		}
	}
	c.zone(t, zoneOf(node)).remove(node.Name)
}
