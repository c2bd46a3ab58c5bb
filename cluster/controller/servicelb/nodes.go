package servicelb

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/controller/reconcile"
)

// balanced are the nodes that load balancers forward to, by name.
func (c *Controller) balanced() []*corev1.Node {
	var out []*corev1.Node
	for _, obj := range c.nodes.List() {
		if n := obj.(*corev1.Node); stable(n) {
			out = append(out, n)
		}
	}
	return out
}

// among says which nodes these are, and how many are left out.
func (c *Controller) among(nodes []*corev1.Node) string {
	if left := c.nodes.Len() - len(nodes); left > 0 {
		return fmt.Sprintf("%s, without %s that a label, a taint or their deletion leaves out", listed(nodes), count(left))
	}
	return listed(nodes)
}

// mostNames is how many nodes are named (maxNodeNamesToLog).
const mostNames = 20

// names are the nodes' names, of very many the first (loggableNodeNames).
func names(nodes []*corev1.Node) []string {
	var out []string
	for i, n := range nodes {
		if i == mostNames {
			out = append(out, fmt.Sprintf("<%d more>", len(nodes)-mostNames))
			break
		}
		out = append(out, n.Name)
	}
	return out
}

// count is "1 node" or "3 nodes".
func count(n int) string {
	if n == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", n)
}

func listed(nodes []*corev1.Node) string {
	if len(nodes) == 0 {
		return "no node"
	}
	return strings.Join(names(nodes), ", ")
}

// syncNodes gives every load balancer the nodes there are now, because of one that came,
// went or changed; Services for which that fails are tried again by themselves (syncNodes).
func (c *Controller) syncNodes(run *reconcile.Run) error {
	run.Look(c.nodes.Len() * len(c.known))
	for _, key := range slices.Sorted(maps.Keys(c.known)) {
		svc := c.known[key]
		if svc == nil || !Wants(svc) {
			continue
		}
		now := c.balanced()
		// The nodes may have changed since they were given: a taint does not count for itself.
		old := slices.DeleteFunc(slices.Clone(c.synced[key]), func(n *corev1.Node) bool { return !stable(n) })
		c.synced[key] = now
		if sameNodes(old, now) {
			continue
		}
		if err := c.update(run, key, svc, old, now); err != nil {
			c.loop.Add(run.T, key)
		}
	}
	return nil
}

// update is lockedUpdateLoadBalancerHosts.
func (c *Controller) update(run *reconcile.Run, key string, svc *corev1.Service, old, now []*corev1.Node) error {
	run.Act("update", client.RefOf(svc), len(now), len(old), "The load balancer of %s forwards to %s, and is to forward to %d: have the cloud give it %s", key, count(len(old)), len(now), c.among(now))
	err := c.cloud.Update(run.T, svc, now)
	switch {
	case err == nil && len(now) == 0:
		c.Events.Event(run.T, svc, corev1.EventTypeWarning, "UnAvailableLoadBalancer", "There are no available nodes for LoadBalancer")
	case err == nil:
		c.Events.Event(run.T, svc, corev1.EventTypeNormal, "UpdatedLoadBalancer", "Updated load balancer with new hosts")
	default:
		// It is only an error if the load balancer is still there.
		if there, getErr := c.cloud.Get(run.T, svc); getErr == nil && there == nil {
			return nil
		}
		c.Events.Event(run.T, svc, corev1.EventTypeWarning, "UpdateLoadBalancerFailed",
			"Error updating load balancer with new hosts %v [node names limited, total number of nodes: %d], error: %v", names(now), len(now), err)
		return err
	}
	return nil
}
