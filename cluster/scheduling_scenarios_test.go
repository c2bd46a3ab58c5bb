package cluster_test

import (
	"reflect"
	"testing"

	"kviz/cluster"
	"kviz/cluster/trace"
	"kviz/raftstore/steady"
)

// The scenario of a decision does what it says. It is the worked example of the
// documents (disktype: ssd), whose steps take out the nodes that it names: one by its labels, one by its
// resources, one by its taint; of the other two the emptier one gets the pod.
func TestTheWorkedExample(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 3, Bare: true, Nodes: 3})
		golden(t, "scheduling-ssd", typed(t, c, "testdata/scheduling-ssd.txt", identities, varying, logged))
		by, points := map[string]string{}, map[string]int64{}
		var decided, bound string
		for _, e := range after(t, c, trace.ID{}) {
			switch p := e.Payload.(type) {
			case *trace.FilterVerdict:
				if p.Pod == "default/db" {
					by[p.Node] = p.By
				}
			case *trace.NodeScore:
				if p.Pod == "default/db" {
					points[p.Node] = p.Total
				}
			case *trace.Decision:
				if p.Pod == "default/db" && e.Kind == trace.SchedDecision {
					decided = p.Node
				} else if p.Pod == "default/db" {
					bound = p.Node
				}
			}
		}
		if want := map[string]string{"node-1": "NodeAffinity", "node-2": "NodeResourcesFit", "node-3": "TaintToleration", "node-4": "", "node-5": ""}; !reflect.DeepEqual(by, want) {
			t.Errorf("rejected by %v, want %v", by, want)
		}
		if len(points) != 2 || points["node-5"] <= points["node-4"] || decided != "node-5" || bound != "node-5" {
			t.Errorf("points %v, decided for %q, bound to %q", points, decided, bound)
		}
	})
}

// A node that joins stays empty until the descheduler runs.
func TestAnEmptyNode(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 3, Bare: true, Nodes: 3})
		golden(t, "scheduling-empty-node", typed(t, c, "testdata/scheduling-empty-node.txt", identities, varying, logged))
	})
}
