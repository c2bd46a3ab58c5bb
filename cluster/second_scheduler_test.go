package cluster_test

import (
	"regexp"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// logged is what varies in what programs log, and in the names of those that are elected.
var logged = []varies{{regexp.MustCompile(`([IE])0101 [0-9:.]+`), "${1}… TIME"}, {regexp.MustCompile(`_[0-9a-f]{8}\b`), "_xxxxxxxx"}}

// A pod whose schedulerName nobody serves is Pending until a scheduler for it runs in a pod: with its
// configuration from a ConfigMap, as its ServiceAccount, and no longer than its container. A wrong configuration
// ends the container again and again. testdata/second-scheduler.txt is what is typed and seen.
func TestASecondScheduler(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 3, Bare: true, Nodes: 3})
		golden(t, "second-scheduler", typed(t, c, "testdata/second-scheduler.txt", identities, varying, logged))

		// Each of the two has decided about its own pods, and about no other.
		by := map[string]map[string]bool{}
		for _, e := range after(t, c, trace.ID{}) {
			if p, ok := e.Payload.(*trace.Decision); ok && e.Kind == trace.SchedBind {
				if by[p.Pod] == nil {
					by[p.Pod] = map[string]bool{}
				}
				by[p.Pod][e.Lane.Component] = true
			}
		}
		for pod, lanes := range by {
			want := trace.CompScheduler
			if pod == "default/mine" || pod == "default/later" {
				want = trace.CompPod
			}
			if len(lanes) != 1 || !lanes[want] {
				t.Errorf("%s was bound by %v, want %s", pod, lanes, want)
			}
		}
		if !by["default/mine"][trace.CompPod] || !by["default/later"][trace.CompPod] {
			t.Errorf("bound: %v", by)
		}
	})
}
