package cluster_test

import (
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// Each controller can be stopped, crashed, slowed and started by itself. While it is down
// nobody does its part of the work, also when the controller manager has started again; then
// it does what it has missed: testdata/controllers.txt.
func TestControllersStopOneByOne(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "controllers", typed(t, c, "testdata/controllers.txt", varying))
	})
}

// What was done to controllers is part of a run, and is done again where the run is run
// again: at any event of it the fork has what the run had.
func TestControllersStopInAFork(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 3, Bare: true, Demand: true})
		run(t, c, `
kubectl create deployment web --image=nginx:1.27 --replicas=3
sleep 1
kviz fault stop controller/replicaset-controller
kviz fault slow controller/deployment-controller 300ms
sleep 5
kviz fault start controller/replicaset-controller
kviz fault crash controller/deployment-controller
kubectl scale deploy/web --replicas=1
kviz fault restart controller-manager
sleep 30
kviz fault start controller/deployment-controller
kviz fault restart controller/endpointslice-controller
kubectl wait --for=jsonpath='{.status.replicas}'=1 deploy/web --timeout=1m
`)
		events := past(t, c)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		tryForks(t, events)
	})
}
