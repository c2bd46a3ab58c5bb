package view

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// Without reports whether a component was left out, so that a program from outside can take its
// place (--without).
func (s *State) Without(component string) bool { return slices.Contains(s.Run.Without, component) }

// Lacks says that a component was left out; "" if it was not.
func (s *State) Lacks(component string) string {
	if !s.Without(component) {
		return ""
	}
	return fmt.Sprintf("no %s of kviz' own runs (--without %s)", strings.ReplaceAll(component, "-", " "), component)
}

// unscheduled is what the program that schedules says of a pod without a node: the message of its
// condition PodScheduled, as any scheduler writes it.
func unscheduled(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// unattended says that no controller has looked at what is wanted of an object, where kviz has left them out.
func (s *State) unattended(o *Object) *Reason {
	lacks := s.Lacks(trace.CompKCM)
	if lacks == "" {
		return nil
	}
	wanted, seen, _ := lookedAtGeneration(o)
	if seen >= wanted {
		return nil
	}
	return sentence("%s waits for a controller: %s, and no program from outside has looked at what is wanted of it", o.Ref, lacks)
}
