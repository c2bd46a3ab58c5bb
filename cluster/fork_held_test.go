package cluster_test

import (
	"slices"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// A run in which an event was held on its way to a client, one was lost and one came behind
// the next is run again to any place before, within and after: the control plane's trace is the same up to there,
// and what is held in the branch is held as it was.
func TestForksPastHeldWatchEvents(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]cluster.Config{"mvcc": {Seed: 51, Bare: true}, "raft": {Seed: 52, NoSync: true}} {
		t.Run(name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				c := boot(t, cfg)
				run(t, c, `kubectl create deployment web --image=nginx --replicas=2
kviz wait 'object("deployments", "default", "web").status.availableReplicas == 2'
kviz fault hold informer/scheduler/pods
kubectl scale deployment web --replicas=4
sleep 3
kviz fault release informer/scheduler/pods
sleep 2
kviz fault drop informer/controller-manager/pods
kviz fault delay informer/kubelet/node-1/pods
kubectl scale deployment web --replicas=3
sleep 3
kviz fault hold informer/controller-manager/replicasets
kubectl set image deployment/web nginx=nginx:1.27
sleep 2
`)
				events := past(t, c)
				var at []trace.ID
				held := 0
				for i, e := range events {
					switch e.Kind {
					case trace.WatchHeld:
						held++
						at = append(at, e.ID, events[i-1].ID)
					case trace.WatchLost, trace.FaultHealed:
						at = append(at, e.ID)
					}
				}
				if held == 0 {
					t.Fatal("no event was held")
				}
				at = append(at, events[len(events)-1].ID)
				at = slices.DeleteFunc(at, func(id trace.ID) bool { return id.Sub != 0 })
				for len(at) > 8 { // each takes as long as the run
					at = slices.Delete(at, len(at)/2, len(at)/2+1)
				}
				for _, id := range at {
					forkAsItWas(t, events, id)
				}
			})
		})
	}
}

// forkAsItWas forks a run at an event, and compares what led there and what is held.
func forkAsItWas(t *testing.T, events []*trace.Event, id trace.ID) {
	t.Helper()
	b, err := cluster.Fork(t.Context(), events, cluster.ForkConfig{At: trace.ID{Seq: id.Seq}})
	if err != nil {
		t.Fatalf("fork at #%s: %v", id, err)
	}
	defer b.Close()
	again := past(t, b)
	if sum(t, upTo(events, id.Seq)) != sum(t, upTo(again, id.Seq)) {
		t.Errorf("the branch from #%s does not begin as the run did", id)
	}
	if was, is := heldUpTo(events, id.Seq), heldUpTo(again, id.Seq); !slices.Equal(was, is) {
		t.Errorf("at #%s %v had been held, in the branch %v", id, was, is)
	}
}

// heldUpTo are the events that had been held on their way by then, to whom and of what.
func heldUpTo(events []*trace.Event, seq uint64) (held []string) {
	for _, e := range upTo(events, seq) {
		if e.Kind == trace.WatchHeld {
			held = append(held, e.Payload.(*trace.WatchEvent).Client+" "+e.Object.String())
		}
	}
	return held
}
