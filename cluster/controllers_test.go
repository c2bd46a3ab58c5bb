package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
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

// A run that leaves undone what somebody might expect says what it waits for, with its arithmetic:
// testdata/waits.txt has each such sentence once, in the order in which they came.
func TestRunsSayWhatTheyWaitFor(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		run(t, c, waiting)
		var out strings.Builder
		seen := map[string]bool{}
		for _, e := range past(t, c) {
			r, ok := e.Payload.(*trace.Reconcile)
			if !ok || r.Waits == "" {
				continue
			}
			line := r.Waits
			for _, v := range varying {
				line = v.what.ReplaceAllString(line, v.name)
			}
			if line = fmt.Sprintf("%-24s %s: %s\n", r.Controller, r.Key, line); !seen[line] {
				seen[line] = true
				out.WriteString(line)
			}
		}
		golden(t, "waits", out.String())
	})
}

// waiting is what each of the workloads can wait for.
const waiting = `
kubectl create -f - <<END
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  minReadySeconds: 3
  updateStrategy: {rollingUpdate: {partition: 1}}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: web, image: "nginx:1.27"}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: web, image: "nginx:1.27"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: held}
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: ["true"]}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: short}
spec:
  activeDeadlineSeconds: 60
  ttlSecondsAfterFinished: 20
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: ["true"]}]}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "* * * * *"
  concurrencyPolicy: Forbid
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox, command: ["sleep", "100"]}]}}}}
END
kubectl rollout status ds/agent
kubectl wait --for=jsonpath='{.status.availableReplicas}'=2 sts/db --timeout=2m
kubectl set image sts/db web=nginx:1.28
kubectl set image ds/agent web=nginx:none
sleep 150
kubectl patch cronjob tick -p '{"spec":{"suspend":true}}'
sleep 5
`
