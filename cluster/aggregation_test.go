package cluster_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// An aggregated API as an administrator meets it: metrics-server is installed, kubectl
// top shows what it says, its pod goes away, and a namespace that is deleted meanwhile
// stays until it is back. testdata/aggregation.txt is what is typed and what is seen.
// Then, from the trace: what a request that is sent on passes, and that what is said of
// the namespace leads back to the command that took metrics-server away.
func TestAggregatedAPI(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 5, Bare: true})
		golden(t, "aggregation", typed(t, c, "testdata/aggregation.txt"))

		var stages []string
		var asked uint64
		var stuck, scaled *trace.Event
		for _, e := range after(t, c, trace.ID{}) {
			switch p := e.Payload.(type) {
			case *trace.Stage:
				if p.Stage == trace.StageAggregator && p.Verdict == "pass" && asked == 0 {
					asked = p.Request
				}
			case *trace.Command:
				if e.Kind == trace.CommandStart && scaled == nil && strings.Contains(p.Line, "scale deployment metrics-server") {
					scaled = e
				}
			case *trace.Action:
				if stuck == nil && p.Controller == "namespace-controller" && strings.Contains(p.Why, "Discovery failed") {
					stuck = e
				}
			}
		}
		for _, e := range after(t, c, trace.ID{}) {
			if p, ok := e.Payload.(*trace.Stage); ok && asked != 0 && p.Request == asked {
				stages = append(stages, p.Stage)
			}
		}
		want := []string{"authentication", "audit", "impersonation", "priority-and-fairness", "authorization", "aggregator"}
		if !slices.Equal(stages, want) {
			t.Errorf("a request for metrics passed %v, want %v", stages, want)
		}
		if stuck == nil || scaled == nil || !leadsTo(c.Trace(), stuck.ID, scaled.ID) {
			t.Errorf("what is said of the namespace (%v) does not lead back to the command (%v)", stuck, scaled)
		}
	})
}

// leadsTo reports whether an event's causes, and theirs, come to another.
func leadsTo(s *trace.Stream, from, to trace.ID) bool {
	seen := map[trace.ID]bool{}
	next := []trace.ID{from}
	for len(next) > 0 {
		id := next[0]
		next = next[1:]
		if id == to {
			return true
		}
		e, _, ok := s.At(id)
		if !ok || seen[id] {
			continue
		}
		seen[id] = true
		next = append(next, e.Causes...)
	}
	return false
}

// With two API servers each has an aggregator, whoever was asked for an APIService
// first: each finds out by itself whether metrics-server answers, and sends requests
// on. With the first one down the other still knows what metrics-server serves, so that
// a namespace can go.
func TestAggregatedAPIAtTwoServers(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 6, Bare: true, Nodes: 1, Servers: 2})
		from := mark(t, c)
		out := run(t, c, `
kubectl --server=apiserver get apiservices -o name | wc -l
kubectl --server=b get apiservices -o name | wc -l
kubectl apply -f manifests/metrics-server.yaml >/dev/null
kubectl -n kube-system rollout status deployment/metrics-server | tail -1
sleep 20
kubectl --server=apiserver top nodes | wc -l
kubectl --server=b top nodes | wc -l
kubectl --server=https://192.168.0.2:6443 get --raw /apis/metrics.k8s.io/v1beta1/nodes | grep -c NodeMetricsList
kubectl get --raw '/apis/metrics.k8s.io/v1beta1/nodes?watch=true&timeoutSeconds=5' || true
kubectl explain nodemetrics
kubectl explain podmetrics.containers.usage | head -6
kviz why apiservice/v1beta1.metrics.k8s.io | head -5
kubectl -n kube-system scale deployment metrics-server --replicas=0
kubectl -n kube-system wait --for=delete pod -l k8s-app=metrics-server
kubectl create namespace old
kubectl create configmap kept -n old
kubectl patch configmap kept -n old --type=merge -p '{"metadata":{"finalizers":["example.com/hold"]}}' >/dev/null
kubectl delete namespace old --wait=false
sleep 20
kviz why apiservice/v1beta1.metrics.k8s.io | head -5
kviz why namespace/old | head -6
kviz why namespace/odl || true
kviz why configmap/kept -n old | head -1
kubectl patch configmap kept -n old --type=merge -p '{"metadata":{"finalizers":null}}' >/dev/null
kubectl -n kube-system scale deployment metrics-server --replicas=1 >/dev/null
kubectl -n kube-system rollout status deployment/metrics-server | tail -1
kubectl wait --for=delete namespace/old --timeout=90s
kubectl --server=nobody get nodes || true
kviz fault stop apiserver
kubectl --server=apiserver get nodes || true
kubectl create namespace demo
kubectl delete namespace demo --wait=false
sleep 10
kubectl get namespaces -o name | grep -c demo || true
kviz fault start apiserver
sleep 5
kubectl --server=apiserver top nodes | wc -l
`)
		out = regexp.MustCompile(`#[0-9.]+|revision [0-9]+|-[0-9a-z]{10}-[0-9a-z]{5}|in [0-9.]+m?s`).ReplaceAllString(out, "N")
		golden(t, "aggregation-two-servers", out)
		sent, checked := map[string]int{}, map[string]int{}
		for _, e := range after(t, c, from) {
			switch p := e.Payload.(type) {
			case *trace.Stage:
				if p.Stage == trace.StageAggregator && p.Verdict == "pass" {
					sent[e.Lane.String()]++
				}
			case *trace.APIServiceCheck:
				if p.Available == "True" {
					checked[e.Lane.String()]++
				}
			}
		}
		for _, server := range []string{"apiserver", "apiserver/b"} {
			if sent[server] == 0 || checked[server] == 0 {
				t.Errorf("%s sent %d requests on, and found the server behind well %d times", server, sent[server], checked[server])
			}
		}
	})
}
