package cluster_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// The scheduler's configuration as an administrator meets it: testdata/scheduler-config.txt is what
// is typed and what is seen.
func TestSchedulerConfiguration(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "scheduler-config", typed(t, c, "testdata/scheduler-config.txt", uncertain))
	})
}

// Pods that wait at Permit, as an administrator meets them: testdata/scheduler-permit.txt.
func TestPodsThatWaitAtPermit(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 2})
		golden(t, "scheduler-permit", typed(t, c, "testdata/scheduler-permit.txt", uncertain))
	})
}

// twoProfiles is a file that a person has.
func twoProfiles(t *testing.T) []byte {
	t.Helper()
	file, err := os.ReadFile("../assets/manifests/scheduler/two-profiles.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return file
}

const packed = "kubectl run a --image=nginx --overrides='{\"spec\":{\"schedulerName\":\"packing\"}}'\n" +
	"kubectl run b --image=nginx\nsleep 5\nkviz scheduler config manifests/scheduler/most-allocated.yaml\nsleep 20\nkubectl run c --image=nginx\nsleep 5\n" +
	"kviz scheduler config manifests/scheduler/approval.yaml\nsleep 20\n" +
	"for p in d e; do kubectl run $p --image=nginx --overrides='{\"spec\":{\"schedulerName\":\"approved\"}}'; done\nsleep 5\n" +
	"kviz scheduler allow pod/d\nkviz scheduler reject pod/e\nsleep 5\n"

// A configured scheduler decides the same in every run of a seed, on either store, and a
// configuration that is given in the middle of a run, and what is allowed and rejected at Permit, as
// well; and a fork repeats it.
func TestAConfiguredSchedulerIsTheSameEachTime(t *testing.T) {
	for name, cfg := range map[string]cluster.Config{"mvcc": {Seed: 7, Bare: true, Nodes: 2}, "raft": {Seed: 7, NoSync: true, Nodes: 2}} {
		t.Run(name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				cfg.Scheduler, cfg.Demand = twoProfiles(t), true
				var first string
				var events []*trace.Event
				for i := range 2 {
					before := runtime.GOMAXPROCS(1 + i%2)
					c := boot(t, cfg)
					run(t, c, packed)
					these := past(t, c)
					if err := c.Close(); err != nil {
						t.Fatal(err)
					}
					runtime.GOMAXPROCS(before)
					if h := sum(t, these); first == "" {
						first, events = h, these
					} else if h != first {
						t.Fatalf("the second run differs %s", difference(t, events, these))
					}
				}
				tryForks(t, events)
				decided, at := map[string]bool{}, map[string]string{}
				for _, e := range events {
					if p, ok := e.Payload.(*trace.PermitWait); ok {
						at[p.Pod] = p.State
					}
					if p, ok := e.Payload.(*trace.Decision); ok && e.Kind == trace.SchedDecision && p.Node != "" {
						decided[p.Pod] = true
					}
				}
				if !decided["default/a"] || !decided["default/b"] || !decided["default/c"] {
					t.Errorf("pods with a node: %v", decided)
				}
				if at["default/d"] != trace.PermitAllowed || at["default/e"] != trace.PermitRejected {
					t.Errorf("pods at Permit: %v", at)
				}
			})
		})
	}
}

// With spread, anti-affinity, room that is made against budgets, profiles and claims as well, every
// run of a seed is the same, on either store, on one processor and on two.
func TestACrowdedClusterIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("testdata/crowded.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]cluster.Config{"mvcc": {Bare: true}, "raft": {NoSync: true}} {
		t.Run(name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				cfg.Seed, cfg.Nodes, cfg.Scheduler = 7, 4, twoProfiles(t)
				var first []*trace.Event
				for i := range runs() {
					before := runtime.GOMAXPROCS(1 + i%2)
					c := boot(t, cfg)
					run(t, c, string(script))
					events := past(t, c)
					if err := c.Close(); err != nil {
						t.Fatal(err)
					}
					runtime.GOMAXPROCS(before)
					if i == 0 {
						first = events
						enoughHappened(t, events)
					} else if sum(t, events) != sum(t, first) {
						t.Fatalf("run %d differs from run 0 %s", i, difference(t, first, events))
					}
				}
			})
		})
	}
}

// enoughHappened checks that each of the things that such a run is about decided something.
func enoughHappened(t *testing.T, events []*trace.Event) {
	t.Helper()
	by, bound := map[string]bool{}, map[string]bool{}
	room, against := false, false
	for _, e := range events {
		switch p := e.Payload.(type) {
		case *trace.FilterVerdict:
			by[p.By] = true
		case *trace.Decision:
			bound[p.Pod] = bound[p.Pod] || e.Kind == trace.SchedBind
			room = room || p.Nominated != ""
			for _, c := range p.Candidates {
				for _, v := range c.Victims {
					against = against || v.Budget != ""
				}
			}
		}
	}
	for _, name := range []string{"PodTopologySpread", "InterPodAffinity", "NodeResourcesFit", "VolumeBinding", "NodeUnschedulable"} {
		if !by[name] {
			t.Errorf("%s rejected no node", name)
		}
	}
	if !room || !against || !bound["default/db"] {
		t.Errorf("room was made: %v, against a budget: %v, the pod with a claim has a node: %v", room, against, bound["default/db"])
	}
}

// A cluster is not booted with a configuration with which kube-scheduler could not start.
func TestAWrongSchedulerConfigurationIsRefused(t *testing.T) {
	_, err := cluster.Boot(t.Context(), cluster.Config{Bare: true, Scheduler: []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: -1\n")})
	if err == nil || !strings.Contains(err.Error(), "parallelism: Invalid value: -1") {
		t.Errorf("%v", err)
	}
}
