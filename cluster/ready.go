package cluster

import (
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// watchReadiness calls become when so many nodes are Ready and may be given pods, or, with tainted, are
// Ready. It looks at commits as they pass, as a person at the screen would, and asks nobody.
func watchReadiness(k *sim.Kernel, nodes int, tainted bool, causes []trace.ID, become func(causes []trace.ID)) {
	if nodes == 0 {
		become(causes)
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
			if n, ok := ch.Value.Value.(*corev1.Node); ok && nodeReady(n, tainted) && !ready[n.Name] {
				ready[n.Name] = true
				if len(ready) == nodes {
					id := e.ID
					k.After(0, func() {
						k.RemoveStop(watch)
						become([]trace.ID{id})
					})
				}
			}
		}
		return false
	}}
	k.AddStop(watch)
}

// watchRoom calls become when the store refuses a write because its database is full, as
// no node can then become Ready before somebody makes room. What it gives ends that.
func watchRoom(k *sim.Kernel, become func()) (unwatch func()) {
	var watch *sim.Stop
	unwatch = func() { k.RemoveStop(watch) }
	watch = &sim.Stop{At: func(e *trace.Event) bool {
		if p, ok := e.Payload.(*trace.StoreError); ok && strings.Contains(p.Error, noSpace) {
			k.After(0, func() {
				unwatch()
				become()
			})
		}
		return false
	}}
	k.AddStop(watch)
	return unwatch
}

// noSpace is what the store says when its database is over the quota, by way of the API
// server too.
var noSpace = rpctypes.ErrorDesc(rpctypes.ErrNoSpace)

func isNoSpace(err error) bool { return err != nil && strings.Contains(err.Error(), noSpace) }

// nodeReady reports whether a node is Ready and its not-ready taint is gone, or may stay.
func nodeReady(n *corev1.Node, tainted bool) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady && !tainted {
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
