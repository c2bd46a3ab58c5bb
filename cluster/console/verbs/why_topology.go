package verbs

import (
	"fmt"
	"io"

	"kviz/cluster/view"
)

// writeTopology writes how the pods are spread that a pod's constraints and affinities are about, as
// its last cycle counted them, and which domains are refused. Default constraints, which never
// refuse, stand in full answers only.
func writeTopology(w io.Writer, s *view.State, o *view.Object, full bool) {
	if o.Ref.Kind != "Pod" {
		return
	}
	c := s.Scheduler.CycleOf(o.Ref.Key())
	if c == nil || c.Decision == nil {
		return
	}
	for i := range c.Decision.Topology {
		t := &c.Decision.Topology[i]
		if t.Default && !t.Hard && !full {
			continue
		}
		fmt.Fprintf(w, "  %s: %s\n", view.TopologyTitle(t), view.TopologySummary(t))
		for j := range t.Domains {
			if d := &t.Domains[j]; d.Refused || d.Chosen && (t.Hard || full) {
				mark := "✗"
				if !d.Refused {
					mark = "✓"
				}
				fmt.Fprintf(w, "    %s %s\n", mark, view.DomainWords(t, d))
			}
		}
	}
	if n := c.Decision.Unlisted; n > 0 {
		fmt.Fprintf(w, "  … and %d more constraints\n", n)
	}
}
