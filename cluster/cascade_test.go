package cluster_test

import (
	"strings"
	"testing"
	"time"

	"kviz/cluster"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
)

// With the members' disks slow, slowness climbs: the fsync, then the requests that wait
// for it, then those whose time is over, then the keys of the workers that wait for
// requests. All of it is on one chart, which kviz cascade prints and the store pane draws.
func TestSlownessClimbs(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 42, NoSync: true, Nodes: 1})
		out := run(t, c, `
kubectl create deployment web --image=nginx:1.27 --replicas=12
kubectl rollout status deploy/web --timeout=5m
sleep 10
kviz fault slow member/a 250ms
kviz fault slow member/b 250ms
kviz fault slow member/c 250ms
kubectl annotate deploy/web slow=yes
kubectl create configmap late --request-timeout=120ms || true
kubectl delete deployment web --wait=false
kviz wait --timeout 1m 'queues["garbage_collector_attempt_to_delete"].depth >= 4'
sleep 2
kviz cascade
kviz cascade 5s
kviz fault heal store
`)
		if !strings.Contains(out, "Timeout: request did not complete within requested timeout - context deadline exceeded") {
			t.Errorf("a request whose time was over was answered otherwise:\n%s", out)
		}
		chart := folded(c).Cascade(60, time.Second)
		rose := map[string]int{}
		for _, f := range chart.Floors {
			if rose[f.Name] = f.Rose; f.Rose < 0 {
				t.Errorf("%s was never high:\n%s", f.Name, out)
			}
		}
		for _, order := range [][2]string{{"fsync p99", "API p99"}, {"commit p99", "API p99"}, {"API p99", "timeouts"}, {"timeouts", "queue depth"}} {
			if rose[order[0]] > rose[order[1]] {
				t.Errorf("%s rose at %v, after %s at %v:\n%s", order[0], chart.At(rose[order[0]]), order[1], chart.At(rose[order[1]]), out)
			}
		}
		if n := strings.Count(out, "queue depth "); n < 2 {
			t.Errorf("kviz cascade does not print the chart:\n%s", out)
		}
	})
}

// folded is the state after the newest event.
func folded(c *cluster.Cluster) *view.State {
	h := view.NewHistory(c.Trace())
	h.CatchUp(0)
	return h.Latest()
}
