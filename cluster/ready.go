package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// watchReadiness closes c.ready when every node is Ready and may be given pods. It looks
// at commits as they pass, as a person at the screen would, and asks nobody.
func (c *Cluster) watchReadiness(t *sim.Task) {
	if c.cfg.Nodes == 0 {
		c.becomeReady(t.Causes())
		return
	}
	ready := map[string]bool{}
	var watch *sim.Stop
	watch = &sim.Stop{At: func(e *trace.Event) bool {
		commit, ok := e.Payload.(*trace.Commit)
		if !ok {
			return false
		}
		for _, ch := range commit.Changes {
			if ch.Value == nil {
				continue
			}
			if n, ok := ch.Value.Value.(*corev1.Node); ok && nodeReady(n) && !ready[n.Name] {
				ready[n.Name] = true
				if len(ready) == c.cfg.Nodes {
					id := e.ID
					c.k.After(0, func() {
						c.k.RemoveStop(watch)
						c.becomeReady([]trace.ID{id})
					})
				}
			}
		}
		return false
	}}
	c.k.AddStop(watch)
}

// nodeReady reports whether a node is Ready and its not-ready taint is gone.
func nodeReady(n *corev1.Node) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady {
			return false
		}
	}
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady {
			return cond.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (c *Cluster) becomeReady(causes []trace.ID) {
	c.k.Emit(trace.Event{Lane: trace.Lane{Component: trace.CompSimulation}, Kind: trace.Ready, Causes: causes})
	c.k.AddDemand(-1)
	c.k.SetSpeed(c.cfg.Speed) // booting itself is as fast as the machine allows
	close(c.ready)
}
