package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/cluster"
	"kviz/cluster/client/throttle"
	"kviz/cluster/control"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
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

// forks is how many forks of how many runs are tried; KVIZ_FORKS=10 is the long form.
func forks() int {
	if n, err := strconv.Atoi(os.Getenv("KVIZ_FORKS")); err == nil && n > 0 {
		return n
	}
	return 1
}

// A run can be run again from what entered it, to any event, where the cluster then stands;
// every event on the way is what it was.
func TestARunIsRunAgain(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]cluster.Config{
		"mvcc": {Bare: true}, "raft": {NoSync: true}, "rate limits": {Bare: true, Limits: throttle.Limits{QPS: 2, Burst: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				for n := range forks() {
					cfg.Seed, cfg.Demand = uint64(11+n), true
					c := boot(t, cfg)
					run(t, c, hello)
					events := past(t, c)
					if err := c.Close(); err != nil {
						t.Fatal(err)
					}
					tryForks(t, events)
				}
			})
		})
	}
}

// What is not as it was is found, and told; what cannot be run again is refused.
func TestAForkDoesNotPretend(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 31, Bare: true, Nodes: 1})
		run(t, c, "kubectl create configmap one\nsleep 5\nkubectl create configmap two\n")
		events := past(t, c)
		last := trace.ID{Seq: events[len(events)-1].ID.Seq}
		fork := func(past []*trace.Event, f cluster.ForkConfig) error {
			c, err := cluster.Fork(t.Context(), past, f)
			if err == nil {
				err = c.Close()
			}
			return err
		}

		changed := slices.Clone(events)
		n := slices.IndexFunc(changed, func(e *trace.Event) bool { return e.Kind == trace.StoreCommit && e.ID.Seq > last.Seq/2 })
		other := *changed[n]
		other.At++
		changed[n] = &other
		var differs *cluster.DifferError
		if err := fork(changed, cluster.ForkConfig{At: last}); !errors.As(err, &differs) || differs.At != other.ID || differs.Is == nil {
			t.Errorf("an event that was not so: %v", err)
		}

		unnoted := slices.DeleteFunc(slices.Clone(events), func(e *trace.Event) bool { return e.Kind == trace.InputEntered })
		if err := fork(unnoted, cluster.ForkConfig{At: last}); !errors.Is(err, cluster.ErrNoInputs) {
			t.Errorf("a run of which nothing was noted: %v", err)
		}
		request := lastInput(events, "request")
		lacking := slices.Delete(slices.Clone(events), request, request+1)
		if err := fork(lacking, cluster.ForkConfig{At: last}); err == nil {
			t.Error("a run that lacks a request is what it was")
		}
		if err := fork(events[n:], cluster.ForkConfig{At: last}); !errors.Is(err, cluster.ErrNotWhole) {
			t.Errorf("a run without its beginning: %v", err)
		}
		if err := fork(events, cluster.ForkConfig{At: trace.ID{Seq: last.Seq + 1}}); err == nil {
			t.Error("an event that there is not")
		}
		gone, cancel := context.WithCancel(t.Context())
		_, err := cluster.Fork(gone, events, cluster.ForkConfig{At: last, Progress: func(control.ForkProgress) { cancel() }})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a fork that was given up: %v", err)
		}
	})
}

func lastInput(events []*trace.Event, what string) int {
	for i := len(events) - 1; ; i-- {
		if in, ok := events[i].Payload.(*trace.Input); ok && in.What == what {
			return i
		}
	}
}

// A branch is a live cluster: it goes on, its trace begins with the run's, it can be forked
// in its turn, and with other chances something else comes of it.
func TestABranchGoesOn(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 41, Bare: true})
		run(t, c, "kubectl create deployment web --image=nginx --replicas=2\nsleep 20\n")
		events := past(t, c)
		at := events[lastInput(events, "request")].ID
		branch := func(seed uint64, events []*trace.Event, at trace.ID) []*trace.Event {
			t.Helper()
			b, err := cluster.Fork(t.Context(), events, cluster.ForkConfig{Parent: "one", At: at, Seed: &seed, Demand: true})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			if err := b.Resume(); err != nil {
				t.Fatal(err)
			}
			run(t, b, "sleep 1\nkubectl create deployment web --image=nginx --replicas=3\nkviz wait 'object(\"deployments\", \"default\", \"web\").status.availableReplicas == 3'\n")
			if f := b.Forked(); f == nil || f.Parent != "one" || f.At.Seq != at.Seq {
				t.Errorf("it says that it left %+v", f)
			}
			return past(t, b)
		}
		two, three := branch(1, events, at), branch(2, events, at)
		for _, other := range [][]*trace.Event{two, three} {
			if sum(t, upTo(events, at.Seq)) != sum(t, upTo(other, at.Seq)) {
				t.Error("the branch does not begin as the run did")
			}
		}
		if sum(t, two) == sum(t, three) {
			t.Error("other chances, and nothing else came of it")
		}
		again, err := cluster.Fork(t.Context(), two, cluster.ForkConfig{At: trace.ID{Seq: two[len(two)-1].ID.Seq}})
		if err != nil {
			t.Fatalf("a fork of the branch: %v", err)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	})
}

func upTo(events []*trace.Event, seq uint64) []*trace.Event {
	return slices.DeleteFunc(inside(events), func(e *trace.Event) bool { return e.ID.Seq > seq })
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
	steady.RealTime(t, "a program outside works beside the console")
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
			o, err := cluster.Foresee(events, trace.ID{Seq: events[len(events)-1].ID.Seq})
			if says := strings.Join(o.NotExactly, "\n"); err != nil || !strings.Contains(says, "requests of other programs") || strings.Contains(says, "members say") == cfg.Bare {
				t.Errorf("before a fork it is said: %s, %v", says, err)
			}
			tryForks(t, events)
		})
	}
}

// A branch stands without the run that it repeated: only what it has in common with it stays.
func TestABranchLetsGoOfTheRunBefore(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 41, Bare: true, Nodes: 1})
		run(t, c, "kubectl create configmap one\n")
		events := past(t, c)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		var before []weak.Pointer[trace.Event]
		copies := make([]*trace.Event, len(events))
		for i, e := range events {
			one := *e
			copies[i] = &one
			before = append(before, weak.Make(&one))
		}
		fork, err := cluster.Fork(t.Context(), copies, cluster.ForkConfig{At: trace.ID{Seq: events[len(events)-1].ID.Seq}})
		if err != nil {
			t.Fatal(err)
		}
		clear(copies)
		runtime.GC()
		runtime.GC()
		if held := slices.IndexFunc(before, func(e weak.Pointer[trace.Event]) bool { return e.Value() != nil }); held >= 0 {
			t.Errorf("event %d of the run before is held: %s", held, trace.Line(before[held].Value(), ""))
		}
		if err := fork.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// overHTTPS is a program of another process's kind at work: it reads, writes and watches.
func overHTTPS(t *testing.T, c *cluster.Cluster) (program, ended func()) {
	t.Helper()
	l, err := c.Listen(0, filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("default")
	return func() {
		w, err := maps.Watch(t.Context(), metav1.ListOptions{})
		if err == nil {
			defer w.Stop()
		}
		made := 0
		for n := range 6 {
			one := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("outside-%d", n)}}
			if _, err := maps.Create(t.Context(), one, metav1.CreateOptions{}); err == nil {
				made++
			}
			_, _ = maps.List(t.Context(), metav1.ListOptions{}) // without a leader it fails, and fails again
		}
		if made == 0 {
			t.Error("nothing was made over HTTPS")
		}
	}, func() { _ = l.Close() }
}

// liveWork is what a class does: commands side by side, a watch that is ended, faults of nodes and
// members, requests over HTTPS, and a pause.
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
	program, ended := overHTTPS(t, c)
	all.Go(program)
	lines := []string{
		"kubectl apply -f manifests/namespace.yaml", "kubectl apply -f manifests/deployment.yaml", "kubectl apply -f manifests/service.yaml",
		"kviz fault stop kubelet/node-2", "sleep 30", "on node-1 crictl ps", "kubectl scale -n demo deployment/hello-deploy --replicas=5",
		"kviz apiserver concurrency 300", "etcdctl get --prefix /registry/pods --keys-only",
	}
	if c.Raft() != nil { // broken in turns: always two of three are left
		lines = slices.Insert(lines, 3, "kviz fault crash member/a", "sleep 5", "kviz fault start member/a", "kviz fault cut member/b c")
		lines = append(lines, "kviz fault heal member/b", "kviz fault slow member/c 20ms", "kubectl create configmap late", "kviz fault stop member/b", "sleep 5", "kviz fault start member/b")
	}
	for _, line := range lines {
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
	ended()
	if out := do(t.Context(), "kubectl get pods -n demo"); !strings.Contains(out, "hello-deploy") {
		t.Errorf("nothing was done: %s", out)
	}
	return past(t, c)
}
