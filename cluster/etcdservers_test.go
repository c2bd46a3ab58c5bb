package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// The API server's etcd client goes through one member after another: through a
// follower, which passes on to the leader what it is asked; through the next one at
// once when that is stopped; and away from one that is cut off only after a request
// has timed out there. Its watches move along and miss nothing.
func TestTheAPIServerGoesToAnotherMember(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 35, NoSync: true, Nodes: 1})
		run(t, c, `
kviz fault lead member/a
kviz wait --timeout 10m 'store.leader == "a" && store.members["b"].last == store.members["a"].last'
`)
		from := mark(t, c)
		out := run(t, c, `
kviz apiserver etcd-servers b,c
kubectl create configmap through-b
kviz fault stop member/b
kubectl create configmap through-c
kviz apiserver etcd-servers
kviz fault start member/b
kviz wait --timeout 10m 'store.members["b"].role == "follower" && store.members["b"].last == store.members["a"].last'
kviz fault cut member/c
kubectl create configmap lost || true
kubectl create configmap through-b-again
kviz apiserver etcd-servers
kubectl get configmaps -o name
kviz fault heal member/c
kviz apiserver etcd-servers --all
`)
		golden(t, "etcd-servers", out+"\n"+endpointStory(after(t, c, from)))
		passed := map[string]int{}
		for _, e := range outside(t, c, from) {
			if m, ok := e.Payload.(*trace.RaftMessage); ok && (m.RPC == "MsgProp" || m.RPC == "MsgReadIndex") {
				passed[m.From]++
			}
		}
		if passed["b"]+passed["c"] == 0 {
			t.Errorf("the members that passed requests on to the leader: %v, want b or c", passed)
		}
		if _, err := try(t, c, "kviz apiserver etcd-servers b,x"); err == nil {
			t.Error("a member that does not exist is taken for an endpoint")
		}
	})
}

// endpointStory is where the client goes, why, and how many watches move with it.
func endpointStory(events []*trace.Event) string {
	var b strings.Builder
	moved := map[trace.ID]int{}
	for _, e := range events {
		if p, ok := e.Payload.(*trace.StoreWatch); ok && e.Kind == trace.StoreWatchClosed && p.Compacted == 0 {
			for _, id := range e.Causes {
				moved[id]++
			}
		}
	}
	for _, e := range events {
		if p, ok := e.Payload.(*trace.Endpoint); ok {
			fmt.Fprintf(&b, "%s: from %q to %q of %v: %s; watches move along: %v\n", p.Client, p.From, p.To, p.Endpoints, p.Reason, moved[e.ID] > 10)
		}
	}
	return b.String()
}

// outside are the events of the raft lane after one.
func outside(t testing.TB, c *cluster.Cluster, id trace.ID) []*trace.Event {
	t.Helper()
	var out []*trace.Event
	if err := c.Kernel().Do(func() {
		events, _, _ := c.Trace().Read(c.Trace().Search(id), 1<<20)
		for _, e := range events {
			if e.Outside() {
				out = append(out, e)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	return out
}
