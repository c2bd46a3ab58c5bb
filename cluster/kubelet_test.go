package cluster_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// TestAPodThroughItsKubelet runs a pod through the real API server: bound by hand, it comes
// to Ready, answers, and goes when it is deleted; and the start of its container
// leads back, link by link, to the binding.
func TestAPodThroughItsKubelet(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		ctx := t.Context()
		c, err := cluster.Boot(ctx, cluster.Config{Bare: true, Nodes: 2, Demand: true, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.WaitReady(ctx); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = c.Console().RunScript(ctx, t.Name(), `
kubectl create deployment web --image=nginx --replicas=2
kubectl rollout status deployment web
kubectl get pods -o wide
kubectl delete deployment web
kubectl wait --for=delete pod -l app=web --timeout=60s
kubectl get pods
`, control.Streams{Out: &out, Err: &out})
		events, _, _ := c.Trace().Read(c.Trace().First(), 1<<20)
		if err != nil || strings.Count(out.String(), "1/1     Running") != 2 || !strings.Contains(out.String(), "No resources found") {
			var b strings.Builder
			trace.Text(&b, events[max(0, len(events)-60):])
			t.Fatalf("%v\n%s\n%s", err, out.String(), b.String())
		}
		byID := map[trace.ID]*trace.Event{}
		started := 0
		for _, e := range events {
			byID[e.ID] = e
			if s, ok := e.Payload.(*trace.ContainerState); ok && s.State == "running" {
				started++
				want := []string{"container.state", "cri.call StartContainer", "kubelet.pod", "watch.event", "api.request create pods/binding", "api.request create deployments"}
				if chain := ancestors(byID, e); !inOrder(chain, want) {
					t.Errorf("the start of %s leads back only through:\n%s", s.Pod, strings.Join(chain, "\n"))
				}
			}
		}
		if started != 2 {
			t.Errorf("%d containers started, want 2", started)
		}
	})
}

// ancestors are the events that led to one, newest first.
func ancestors(byID map[trace.ID]*trace.Event, e *trace.Event) []string {
	seen := map[trace.ID]bool{e.ID: true}
	list := []*trace.Event{e}
	for i := 0; i < len(list); i++ {
		for _, id := range list[i].Causes {
			if p := byID[id]; p != nil && !seen[id] {
				seen[id] = true
				list = append(list, p)
			}
		}
	}
	slices.SortFunc(list, func(a, b *trace.Event) int { return b.ID.Compare(a.ID) })
	out := make([]string, len(list))
	for i, o := range list {
		out[i] = string(o.Kind)
		switch p := o.Payload.(type) {
		case *trace.RuntimeCall:
			out[i] += " " + p.Call
		case *trace.Request:
			out[i] += " " + p.Verb + " " + strings.TrimSuffix(p.Resource+"/"+p.Subresource, "/")
		}
	}
	return out
}
