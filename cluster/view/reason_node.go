package view

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// nodeChosen says how a pod came to its node: by points in a scheduling cycle, by its
// author, or from a file of the kubelet.
func (s *State) nodeChosen(o *Object) *Reason {
	pod, ok := o.Value.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil
	}
	node := pod.Spec.NodeName
	if pod.Annotations[corev1.MirrorPodAnnotationKey] != "" {
		return sentence("%s is on %s because the kubelet there read it from a file (a static pod): no scheduler was asked", o.Ref, node)
	}
	if a := s.boundByOthers(o, node); a != nil {
		return a
	}
	c := s.Scheduler.CycleOf(o.Ref.Key())
	if c == nil || c.Decision == nil || c.Decision.Node != node || c.Bound.IsZero() {
		if list := o.History(); list[0].Event == o.Created {
			if first, ok := list[0].Value.(*corev1.Pod); ok && first.Spec.NodeName == node {
				return sentence("%s is on %s because it was created with spec.nodeName: no scheduler was asked", o.Ref, node)
			}
		}
		return nil
	}
	a := &Reason{Says: fmt.Sprintf("The scheduler chose %s for %s: %s", node, o.Ref, c.chosenBy()) + tail(". ", c.RunnerUp())}
	for _, n := range c.Scores() {
		a.From = append(a.From, Keeper{What: n.Node, Why: fmt.Sprintf("%d points: %s", n.Total, points(n.Scores)), Good: true, Event: n.Event})
	}
	slices.SortStableFunc(a.From, func(x, y Keeper) int { // the one that was chosen first
		return strings.Compare(after(x.What, node), after(y.What, node))
	})
	for _, d := range c.Decision.Devices {
		why := fmt.Sprintf("gets %s for the request %s", deviceName(d), d.Request)
		if d.Before {
			why = fmt.Sprintf("has %s for the request %s", deviceName(d), d.Request)
		}
		a.From = append(a.From, Keeper{What: "claim " + d.Claim, Why: why, Good: true, Event: c.Decided})
	}
	for _, f := range c.Filters() {
		if !f.Feasible() {
			a.From = append(a.From, Keeper{What: f.Node, Why: "rejected by " + f.By + tail(": ", strings.Join(f.Reasons, ", ")), Event: f.Event})
		}
	}
	return a
}

// podFailed says why a pod has failed for good, in the words of the component that ended it.
func (s *State) podFailed(o *Object) *Reason {
	pod, ok := o.Value.(*corev1.Pod)
	if !ok || pod.Status.Phase != corev1.PodFailed || pod.Status.Reason == "" {
		return nil
	}
	return sentence("%s has failed: %s%s", o.Ref, pod.Status.Reason, tail(": ", pod.Status.Message))
}

// after sorts names with one of them first.
func after(name, first string) string {
	if name == first {
		return ""
	}
	return name
}

func (c *Cycle) chosenBy() string {
	d := c.Decision
	won := fmt.Sprint(d.Total)
	if most := c.Possible(); most > 0 {
		won = fmt.Sprintf("%d of %d", d.Total, most)
	}
	switch {
	case d.Like != "":
		return "as pod " + d.Like + " before it, which is alike: next best of that cycle, and no other node was looked at"
	case d.Skipped || d.Feasible == 1:
		return "it is the only one of " + count(d.Evaluated, "node") + " that fits"
	case len(d.TiedWith) > 0:
		return fmt.Sprintf("it has %s points, as many as %s, and the draw went to it", won, joined(d.TiedWith))
	}
	return fmt.Sprintf("it has %s points, the most of %s that fit", won, count(d.Feasible, "node"))
}

// points are the parts of a node's total.
func points(scores []trace.PluginScore) string {
	parts := make([]string, 0, len(scores))
	for _, p := range scores {
		parts = append(parts, fmt.Sprintf("%s %d", p.Plugin, p.Weighted))
	}
	return strings.Join(parts, " + ")
}
