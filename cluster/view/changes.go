package view

import (
	"strings"

	"kviz/cluster/trace"
)

// WouldFit says in words what would have to change on a node for a pod to fit there.
func WouldFit(c *trace.NodeChange) string {
	if c.Never != "" {
		return "no change of this node helps: " + c.Never
	}
	parts := make([]string, 0, len(c.Steps))
	for _, s := range c.Steps {
		part := s.What
		if s.Or != "" {
			part += " (or " + s.Or + ")"
		}
		parts = append(parts, part)
	}
	text := strings.Join(parts, ", and ")
	if n := len(c.Evict); n > 0 {
		text += "; without " + some(c.Evict, 3) + " there is room"
	}
	return text
}

// Changes is what would have to change for a pod that fits nowhere, as its last cycle
// found; nil if there is no such cycle, or the pod has a node.
func (s *Scheduler) Changes(pod string) []trace.NodeChange {
	if c := s.CycleOf(pod); c != nil && c.Decision != nil && c.Decision.Node == "" {
		return c.Decision.Changes
	}
	return nil
}
