package cluster_test

import (
	"encoding/json"
	"strings"
	"testing"

	"kviz/cluster"
	"kviz/cluster/scheduler"
	"kviz/raftstore/steady"
)

// A pod that fits nowhere is annotated with what would have to change, if that is asked for and else not.
func TestWhyAnnotation(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		steady.Bubble(t, func(t *testing.T) {
			c := boot(t, cluster.Config{Seed: 1, Bare: true, Nodes: 2, WhyAnnotation: on})
			value := run(t, c, "kubectl run big --image=nginx --overrides='{\"spec\":{\"containers\":[{\"name\":\"big\",\"image\":\"nginx\",\"resources\":{\"requests\":{\"cpu\":\"64\"}}}]}}'\n"+
				"sleep 3\nkubectl get pod big -o jsonpath='{.metadata.annotations.scheduler\\.kviz\\.dev/why-unschedulable}'\n")
			value = strings.TrimPrefix(value, "pod/big created\n")
			if on == (value == "") {
				t.Fatalf("the annotation is %q", value)
			}
			if !on {
				return
			}
			var w scheduler.Why
			d := json.NewDecoder(strings.NewReader(value))
			d.DisallowUnknownFields()
			if err := d.Decode(&w); err != nil {
				t.Fatal(err)
			}
			if w.Version != 1 || !strings.Contains(w.Message, "2 Insufficient cpu") || len(w.Nodes) != 2 || w.More != 0 {
				t.Fatalf("%+v", w)
			}
			for _, n := range w.Nodes {
				if n.Plugin != "NodeResourcesFit" || len(n.Reasons) != 1 || n.Reasons[0] != "Insufficient cpu" || len(n.Change) != 1 ||
					!strings.Contains(n.Change[0].Node, "more free cpu") || !strings.Contains(n.Change[0].Pod, "request at most") {
					t.Errorf("%+v", n)
				}
			}
		})
	}
}
