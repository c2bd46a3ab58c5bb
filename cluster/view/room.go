package view

import (
	"fmt"
	"strings"

	"kviz/cluster/trace"
)

// WouldGo says in words which pods would have to go from a node for another to fit there.
func WouldGo(c *trace.PreemptionCandidate) string {
	var all []string
	for _, v := range c.Victims {
		who := fmt.Sprintf("%s (priority %d)", v.Pod, v.Priority)
		if v.Budget != "" {
			who = fmt.Sprintf("%s (priority %d, against the budget %s)", v.Pod, v.Priority, v.Budget)
		}
		all = append(all, who)
	}
	return strings.Join(all, ", ")
}

// Room is the decision of the pod's last cycle if room is being made for it; nil else.
func (s *Scheduler) Room(pod string) *trace.Decision {
	if c := s.CycleOf(pod); c != nil && c.Decision != nil && c.Decision.Nominated != "" {
		return c.Decision
	}
	return nil
}
