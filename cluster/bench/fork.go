package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
)

// classroom is ten virtual minutes of what a class does to a cluster.
const classroom = `
kubectl apply -f manifests/hello.yaml
kubectl rollout status -n demo deployment/hello-deploy --timeout=120s
for i in 1 2 3 4 5 6; do
  kubectl scale -n demo deployment/hello-deploy --replicas=$((i % 3 + 2))
  kubectl get pods,replicasets,endpointslices -n demo -o wide
  kubectl describe -n demo deployment/hello-deploy
  sleep 40
done
kviz fault stop kubelet/node-2
kubectl get nodes
sleep 90
kviz fault start kubelet/node-2
kubectl set image -n demo deployment/hello-deploy '*=nginx:1.27'
kubectl rollout status -n demo deployment/hello-deploy --timeout=200s
kubectl get events -A
for i in 1 2 3 4; do
  kubectl get pods,services -n demo -o wide
  sleep 30
done
sleep 150
`

// Fork runs a class' work, and measures how long it takes to run it again to its end.
func Fork(ctx context.Context, bare bool) ([]Result, error) {
	past, lasted, err := classroomRun(ctx, bare)
	if err != nil {
		return nil, err
	}
	before, err := processorTime()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	last := past[len(past)-1].ID.Seq
	c, err := cluster.Fork(ctx, past, cluster.ForkConfig{At: trace.ID{Seq: last}})
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	after, err := processorTime()
	if err != nil {
		return nil, err
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	store := "raft"
	if bare {
		store = "mvcc"
	}
	return []Result{
		within(fmt.Sprintf("fork after %s of a class' work, %s store", lasted.Round(time.Second), store), took, 3*time.Second),
		{fmt.Sprintf("processor time of that, %s store", store), (after - before).Round(time.Millisecond).String(), "", true},
		{fmt.Sprintf("control-plane events of that, %s store", store), fmt.Sprintf("%d (%.0f/s)", last, float64(last)/took.Seconds()), "", true},
	}, nil
}

// classroomRun is a run to be forked, and how long it lasted in virtual time.
func classroomRun(ctx context.Context, bare bool) ([]*trace.Event, time.Duration, error) {
	c, err := cluster.Boot(ctx, cluster.Config{Bare: bare, Demand: true})
	if err != nil {
		return nil, 0, err
	}
	defer c.Close()
	if err := c.WaitReady(ctx); err != nil {
		return nil, 0, err
	}
	if err := c.Console().RunScript(ctx, "classroom.sh", classroom, control.Streams{Out: io.Discard, Err: io.Discard}); err != nil {
		return nil, 0, err
	}
	var past []*trace.Event
	var lasted time.Duration
	err = c.Kernel().Do(func() {
		past, _, _ = c.Trace().Read(c.Trace().First(), int(c.Trace().Len()))
		lasted = c.Kernel().Elapsed()
	})
	return past, lasted, err
}
