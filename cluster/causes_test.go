package cluster_test

import (
	"fmt"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/cluster/view"
	"kviz/raftstore/steady"
)

// everything are all control-plane events from the beginning.
func everything(t testing.TB, c *cluster.Cluster) []*trace.Event {
	t.Helper()
	return after(t, c, trace.ID{})
}

// beginning says why an event has no cause: it is one of the events that nothing caused, after the cluster was ready:
// what a person did, and what a clock did. The text says which clock. It is "" for
// all else, which must name its causes.
func beginning(e *trace.Event) string {
	switch e.Kind {
	case trace.CommandStart:
		return "somebody typed it"
	case trace.FaultInjected, trace.FaultHealed:
		return "somebody did it by key"
	case trace.StoreCompact:
		return "the API server compacts the store every 5 minutes"
	case trace.InformerResync:
		return "a cache tells of everything again, every 15 minutes or 12 to 24 hours"
	case trace.NodeStatus:
		return "a kubelet reports its node, every 10 s if something changed, every 5 minutes else"
	case trace.RequestReceived:
		if e.Payload.(*trace.Request).Resource == "leases" {
			return "a Lease is renewed: a node's every 10 s, a leader's every 2 s"
		}
	}
	return ""
}

// Every event names its causes: they are in the trace, they are older, and
// following them ends at an input, a clock or the boot.
func TestEveryEventNamesItsCauses(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]cluster.Config{"mvcc": {Seed: 31, Bare: true}, "raft": {Seed: 31, NoSync: true}} {
		t.Run(name, func(t *testing.T) {
			steady.Bubble(t, func(t *testing.T) {
				c := boot(t, cfg)
				run(t, c, hellos+"sleep 900")
				checkCauses(t, everything(t, c))
			})
		})
	}
}

// Whatever breaks and is mended, what follows still names its causes.
func TestWhatFollowsAFaultNamesItsCauses(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 33, Bare: true})
		run(t, c, hellos)
		for _, f := range []string{
			"crash apiserver/start apiserver", "stop scheduler/start scheduler", "crash scheduler/start scheduler",
			"crash controller-manager/start controller-manager", "crash kubelet node-1/start kubelet node-1",
			"restart proxy node-1/", "cut node node-2/heal node node-2", "break-cni node node-1/mend-cni node node-1",
			"pressure node node-1 memory/relieve node node-1", "flush node node-1/", "stop runtime node-1/start runtime node-1",
			"stop registry/start registry", "stop node node-3/start node node-3", "crash pod demo hello-pod/",
		} {
			begin, mend, _ := strings.Cut(f, "/")
			run(t, c, faultLine(begin)+"\nkubectl scale -n demo deployment/hello-deploy --replicas=3 || true\nsleep 70\n"+faultLine(mend)+"\nsleep 20\nkubectl scale -n demo deployment/hello-deploy --replicas=2\n"+converged)
		}
		checkCauses(t, everything(t, c))
	})
}

// faultLine is the command of a fault written with spaces for the slashes of its
// target.
func faultLine(f string) string {
	words := strings.Fields(f)
	switch {
	case len(words) == 0:
		return ""
	case len(words) == 2:
		return "kviz fault " + f
	case words[1] == "pod":
		return "kviz fault " + words[0] + " " + strings.Join(words[1:], "/")
	}
	return "kviz fault " + words[0] + " " + words[1] + "/" + strings.Join(words[2:], " ")
}

func checkCauses(t *testing.T, events []*trace.Event) {
	t.Helper()
	at := map[trace.ID]*trace.Event{}
	ready := false
	faults := map[string][]string{}
	fail := func(e *trace.Event, format string, args ...any) {
		k := fmt.Sprintf("%s %s: %s", e.Lane.Component, e.Kind, fmt.Sprintf(format, args...))
		faults[k] = append(faults[k], trace.Line(e, view.Explain(e)))
	}
	for _, e := range events {
		at[e.ID] = e
		if e.Kind == trace.Ready {
			ready = true
		}
		if len(e.Causes) == 0 && ready && beginning(e) == "" {
			fail(e, "nothing caused it")
		}
		for _, id := range e.Causes {
			switch cause := at[id]; {
			case id.Sub != 0:
			case cause == nil:
				fail(e, "its cause is not in the trace before it")
			}
		}
	}
	for k, ids := range faults {
		t.Errorf("%s (%d times):\n%s", k, len(ids), strings.Join(ids[:min(4, len(ids))], "\n"))
	}
}
