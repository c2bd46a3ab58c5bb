package cluster_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"kviz/cluster"
	"kviz/cluster/control"
	"kviz/cluster/trace"
)

// past is a run's events so far.
func past(t *testing.T, c *cluster.Cluster) []*trace.Event {
	t.Helper()
	var events []*trace.Event
	if err := c.Kernel().Do(func() { events, _, _ = c.Trace().Read(c.Trace().First(), 1<<20) }); err != nil {
		t.Fatal(err)
	}
	return events
}

// forks is how many forks of each run are tried; KVIZ_FORKS=10 is the long form.
func forks() int {
	if n, err := strconv.Atoi(os.Getenv("KVIZ_FORKS")); err == nil && n > 0 {
		return n
	}
	return 2
}

// A run can be run again from what entered it, to any event, where the cluster then stands;
// every event on the way is what it was.
func TestARunIsRunAgain(t *testing.T) {
	for name, cfg := range map[string]cluster.Config{
		"a script on mvcc": {Seed: 11, Bare: true, Demand: true}, "a script on raft": {Seed: 12, NoSync: true, Demand: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := boot(t, cfg)
			run(t, c, hello)
			events := past(t, c)
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			tryForks(t, events)
		})
	}
}

// tryForks forks a run at its end and at events drawn by lot.
func tryForks(t *testing.T, events []*trace.Event) {
	t.Helper()
	last := events[len(events)-1].ID.Seq
	draw := rand.New(rand.NewPCG(1, last))
	at := []uint64{last}
	for range forks() {
		at = append(at, 1+draw.Uint64N(last))
	}
	for _, seq := range at {
		var told control.ForkProgress
		c, err := cluster.Fork(t.Context(), events, cluster.ForkConfig{At: trace.ID{Seq: seq}, Progress: func(p control.ForkProgress) { told = p }})
		if err != nil {
			t.Fatalf("fork at #%d of #%d: %v", seq, last, err)
		}
		if clock := c.Clock(); told.Done != seq || told.Of != seq {
			t.Errorf("fork at #%d: told %+v, the clock is %+v", seq, told, clock)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What people and programs do to a cluster that runs by the clock enters at places that the
// machine decides: at any of them it enters again where it did. While the cluster stands in the
// midst of a step, things enter too.
func TestALiveRunIsRunAgain(t *testing.T) {
	for name, cfg := range map[string]cluster.Config{
		"mvcc": {Seed: 21, Bare: true, Speed: 30}, "raft": {Seed: 22, NoSync: true, Speed: 30},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := cluster.Boot(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.WaitReady(t.Context()); err != nil {
				t.Fatal(err)
			}
			events := liveWork(t, c)
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			tryForks(t, events)
		})
	}
}

// liveWork is what a class does: commands side by side, a watch that is ended, faults, and a
// pause.
func liveWork(t *testing.T, c *cluster.Cluster) []*trace.Event {
	t.Helper()
	do := func(ctx context.Context, line string) string {
		var out bytes.Buffer
		_ = c.Exec(ctx, line, control.Streams{Out: &out, Err: &out}) // what fails, fails again
		return out.String()
	}
	watching, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { do(watching, "kubectl get pods -A --watch") })
	all.Go(func() {
		for range 4 {
			do(t.Context(), "kubectl get deployments,replicasets -A")
		}
	})
	for _, line := range []string{
		"kubectl apply -f manifests/namespace.yaml", "kubectl apply -f manifests/deployment.yaml", "kubectl apply -f manifests/service.yaml",
		"kviz fault stop kubelet/node-2", "sleep 30", "on node-1 crictl ps", "kubectl scale -n demo deployment/hello-deploy --replicas=5",
		"kviz apiserver concurrency 300", "etcdctl get --prefix /registry/pods --keys-only",
	} {
		do(t.Context(), line)
	}
	if err := c.Step(trace.GrainStage); err != nil {
		t.Error(err)
	}
	if err := c.Fault(t.Context(), control.Fault{Name: "start", Target: "kubelet/node-2"}); err != nil {
		t.Error(err)
	}
	if err := c.Resume(); err != nil {
		t.Error(err)
	}
	leave()
	all.Wait()
	if out := do(t.Context(), "kubectl get pods -n demo"); !strings.Contains(out, "hello-deploy") {
		t.Errorf("nothing was done: %s", out)
	}
	return past(t, c)
}
