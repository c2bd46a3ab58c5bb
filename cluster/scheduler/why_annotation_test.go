package scheduler

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/trace"
)

// However much there is to say, the annotation stays far below what the annotations of an object may have.
func TestTheAnnotationIsBounded(t *testing.T) {
	long := strings.Repeat("ä", 1000)
	d := &trace.Decision{Message: strings.Repeat("x", 5000), Evaluated: 5000}
	var statuses framework.NodeStatuses
	for i := range 100 {
		c := trace.NodeChange{Node: fmt.Sprintf("node-%d", i)}
		for range 8 {
			c.Steps = append(c.Steps, trace.ChangeStep{What: long, Or: long})
		}
		for j := range 100 {
			c.Evict = append(c.Evict, fmt.Sprintf("demo/pod-%d", j))
		}
		d.Changes = append(d.Changes, c)
		statuses.Set(c.Node, framework.NewStatus("Mine", framework.Unschedulable, long))
	}
	value := whyUnschedulable(framework.NewPodInfo(podNamed("a", 0)), d, &statuses)
	var w Why
	if err := json.Unmarshal([]byte(value), &w); err != nil {
		t.Fatal(err)
	}
	if len(value) > maxWhyBytes || len(w.Nodes) == 0 || len(w.Nodes) > maxWhyNodes || w.More != 5000-len(w.Nodes) {
		t.Errorf("%d bytes, %d nodes and %d more", len(value), len(w.Nodes), w.More)
	}
	if n := w.Nodes[0]; n.Name != "node-0" || n.Plugin != "Mine" || len(n.Change) != 8 || len(n.Evict) != maxWhyList || strings.ContainsRune(n.Reasons[0], '\uFFFD') {
		t.Errorf("%+v", n)
	}
}
