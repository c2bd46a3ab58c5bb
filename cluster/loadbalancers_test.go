package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// A Service of type LoadBalancer has an address while cloud-controller-manager runs and the
// cloud answers, and from wherever somebody connects to the address the pods behind it
// answer: testdata/loadbalancers.txt.
func TestLoadBalancers(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "loadbalancers", typed(t, c, "testdata/loadbalancers.txt", varying))
	})
}

// What the cloud has made, and what was done to it, is part of a run: at any event of it the fork
// has what the run had.
func TestLoadBalancersInAFork(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 3, Bare: true, Demand: true})
		run(t, c, `
kubectl create deployment web --image=nginx:1.27
kubectl expose deployment web --port=80 --type=LoadBalancer
sleep 2
kviz fault slow cloud 5s
sleep 8
kviz fault fast cloud
kubectl wait --for=jsonpath='{.status.loadBalancer.ingress[0].ip}' service/web --timeout=1m
kubectl wait --for=condition=Available deploy/web --timeout=1m
on outside curl -sS -m 3 http://203.0.113.1/
kviz fault restart cloud-controller-manager
sleep 40
kubectl delete service web
`)
		events := past(t, c)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		tryForks(t, events)
	})
}

// With --cloud-provider=external nodes wait until the cloud has said what they are; a machine that is shut
// down or deleted in the cloud is known by its node; and pods need routes: testdata/external-cloud.txt.
func TestExternalCloud(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, External: true})
		golden(t, "external-cloud", typed(t, c, "testdata/external-cloud.txt", varying))
	})
}

// A fork of a run with instances and routes has what the run had, at any event of it.
func TestExternalCloudInAFork(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 3, Bare: true, Demand: true, External: true})
		run(t, c, `
kubectl create deployment web --image=nginx:1.27 --replicas=3
kubectl expose deployment web --port=80 --type=LoadBalancer
kubectl rollout status deploy/web --timeout=1m
kviz fault shut-down instance/node-1
kviz fault delete instance/node-2
sleep 70
kviz fault start instance/node-1
kviz fault fill cloud
kviz fault recreate instance/node-2
sleep 20
kviz fault free cloud
sleep 10
`)
		events := past(t, c)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		tryForks(t, events)
	})
}

// Without cloud-controller-manager a Service gets no address and a node keeps its taint, and it is said why.
func TestWithoutCloudControllerManager(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 1, External: true, Without: []string{"cloud-controller-manager"}})
		golden(t, "without-cloud", typed(t, c, "testdata/without-cloud.txt", varying))
	})
}
