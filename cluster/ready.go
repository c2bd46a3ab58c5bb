package cluster

import (
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/controller/cloudnode"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// lasting are the taints of new nodes that nobody takes off, with what is left out.
func (cfg Config) lasting() []string {
	var keys []string
	if cfg.without(trace.CompKCM) {
		keys = append(keys, corev1.TaintNodeNotReady)
	}
	if cfg.without(trace.CompCCM) {
		keys = append(keys, cloudnode.Taint)
	}
	return keys
}

// watchReadiness calls become when so many nodes are Ready and may be given pods, as far as taints go
// that do not last. It looks at commits as they pass, as a person at the screen would, and asks nobody.
func watchReadiness(k *sim.Kernel, nodes int, lasting []string, causes []trace.ID, become func(causes []trace.ID)) {
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
			if n, ok := ch.Value.Value.(*corev1.Node); ok && nodeReady(n, lasting) && !ready[n.Name] {
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

// nodeReady reports whether a node is Ready, and the taints of a new node are gone, or may stay.
func nodeReady(n *corev1.Node, lasting []string) bool {
	for _, t := range n.Spec.Taints {
		if (t.Key == corev1.TaintNodeNotReady || t.Key == cloudnode.Taint) && !slices.Contains(lasting, t.Key) {
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
