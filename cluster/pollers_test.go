package cluster_test

import (
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// Five clients that poll beside the controllers of one process, which share a watch:
// the pollers' requests grow with their number and with time, whether or not anything
// changes, and they hear of a change only when they next ask. The watch is one request,
// and each change is told once.
func TestPollersAndWatchers(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 43, Bare: true, Nodes: 1})
		out := run(t, c, `
kviz apiserver pollers 5 replicasets 2s
kubectl create deployment web --image=nginx:1.27
kubectl rollout status deploy/web
sleep 60
kviz clients replicasets
kviz apiserver pollers 5 nodesets 2s || true
`)
		if !strings.Contains(out, `there is no "nodesets": pollers list one of configmaps, `) {
			t.Errorf("pollers of what does not exist:\n%s", out)
		}
		polled, reads, told := 0, 0, 0
		s := folded(c)
		for _, a := range s.Askers() {
			switch {
			case a.Resource != "replicasets":
			case strings.HasPrefix(a.Client, "poller-"):
				polled++
				if n := a.AskedWithin(s.At); n < 29 || n > 31 || !a.Polls() || a.Told > 0 {
					t.Errorf("%s asked %d times in a minute, was told of %d events, polls: %v", a.Client, n, a.Told, a.Polls())
				}
			case a.Client == "controller-manager":
				reads, told = int(a.Asked), int(a.Told)
				if a.AskedWithin(s.At) > 1 || !strings.Contains(s.How(a), "1 watch, ") {
					t.Errorf("the controllers asked %d times in a minute; %s", a.AskedWithin(s.At), s.How(a))
				}
			}
		}
		if polled != 5 || reads == 0 || reads > 2 || told < 3 {
			t.Errorf("%d pollers; the controllers asked %d times and were told of %d events:\n%s", polled, reads, told, out)
		}
		run(t, c, "kviz apiserver pollers 0\nsleep 65")
		s = folded(c)
		for _, a := range s.Askers() {
			if strings.HasPrefix(a.Client, "poller-") && a.AskedWithin(s.At) > 0 {
				t.Errorf("%s has asked %d times in the minute after it was ended", a.Client, a.AskedWithin(s.At))
			}
		}
	})
}
