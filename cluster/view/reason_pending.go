package view

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// podPending says why a pod has no node yet: its gates, a scheduler that is not there, or
// what each node lacks.
func (s *State) podPending(o *Object) *Reason {
	pod, ok := o.Value.(*corev1.Pod)
	if !ok || pod.Spec.NodeName != "" || pod.Status.Phase != corev1.PodPending || o.Deleting() {
		return nil
	}
	is := fmt.Sprintf("%s is Pending: ", o.Ref)
	if gates := pod.Spec.SchedulingGates; len(gates) > 0 {
		var names []string
		for _, g := range gates {
			names = append(names, g.Name)
		}
		return sentence("%sit is not scheduled before its scheduling gates are taken off: %s", is, joined(names))
	}
	name := orElse(pod.Spec.SchedulerName, corev1.DefaultSchedulerName)
	other := s.Scheduler.otherFor(name)
	if lacks := s.Lacks(trace.CompScheduler); lacks != "" && other == nil {
		if says := unscheduled(pod); says != "" {
			return &Reason{Says: is + "a scheduler from outside says: " + strings.TrimSuffix(says, "."), From: s.warnings(o)}
		}
		return sentence("%s%s, and no program from outside has chosen a node for it yet", is, lacks)
	}
	if other == nil && !slices.Contains(s.Scheduler.serves(), name) {
		a := sentence("%sno scheduler here serves schedulerName %q; kube-scheduler serves %s", is, name, joined(s.Scheduler.serves()))
		if by := s.Scheduler.ConfiguredBy; !by.IsZero() {
			a.From = append(a.From, Keeper{What: "kube-scheduler's configuration", Event: by})
		}
		return a
	}
	if p, down := s.down(trace.CompScheduler); down && other == nil {
		a := sentence("%sthe scheduler is not running, so nobody chooses a node for it", is)
		a.From = append(a.From, Keeper{What: "scheduler", Why: p.Reason, Event: p.Event})
		return a
	}
	if q := s.Scheduler.Pod(o.Ref.Key()); q != nil && q.Permit != nil {
		a := sentence("%sit has its place on %s, and waits at Permit for %s", is, q.Permit.Node, waitsFor(q.Permit, s.At))
		a.From = append(a.From, Keeper{What: "Permit", Why: "a plugin that does not allow the pod in time rejects it", Event: q.Event})
		if other == nil {
			a.From = append(a.From, Keeper{What: "by hand", Why: fmt.Sprintf("kviz scheduler allow pod/%[1]s -n %[2]s, or kviz scheduler reject pod/%[1]s -n %[2]s", o.Ref.Name, o.Ref.Namespace), Good: true})
		}
		return a
	}
	if q := s.Scheduler.Pod(o.Ref.Key()); q != nil && q.Queue == "gated" && q.GatedBy == "DynamicResources" {
		a := sentence("%s%s", is, q.Gate)
		a.From = append(a.From, Keeper{What: q.GatedBy, Why: "keeps it out of the scheduler's queue until that changes", Event: q.Event})
		return a
	}
	c := s.Scheduler.CycleOf(o.Ref.Key())
	if c != nil && c.Permit != nil && c.Permit.State == trace.PermitRejected {
		a := sentence("%sit was rejected at Permit%s: %s", is, tail(" by ", c.Permit.By), c.Permit.Message)
		a.From = append(a.From, Keeper{What: "Permit", Why: "its place on " + c.Permit.Node + " is free again", Event: c.Permitted})
		return a
	}
	if c == nil || c.Decision == nil || c.Decision.Node != "" {
		who := "the scheduler"
		if other != nil {
			who = "the scheduler in the pod " + other.Pod
		}
		a := sentence("%s%s has not chosen a node for it yet", is, who)
		if q := s.Scheduler.Pod(o.Ref.Key()); q != nil {
			a.From = append(a.From, Keeper{What: "queue " + q.Queue, Why: "it waits there because of " + q.Cause, Event: q.Event})
		}
		return a
	}
	why, _, _ := strings.Cut(orElse(c.Decision.Message, "no node fits it"), " preemption:")
	a := sentence("%s%s", is, strings.TrimSuffix(why, "."))
	for _, f := range c.Filters() {
		if f.Feasible() {
			continue
		}
		a.From = append(a.From, Keeper{What: f.Node, Why: strings.Join(f.Reasons, ", ") + " (" + f.By + ")", Event: f.Event})
	}
	if q := s.Scheduler.Pod(o.Ref.Key()); q != nil && q.Stay != nil {
		a.From = append(a.From, Keeper{What: "queue " + q.Queue, Why: NotMoved(q.Stay), Event: q.StayEvent})
	}
	return a
}

// podUnready says what the containers of a pod that has a node wait for.
func (s *State) podUnready(o *Object) *Reason {
	pod, ok := o.Value.(*corev1.Pod)
	done := ok && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed)
	if !ok || pod.Spec.NodeName == "" || done || o.Deleting() || podReady(pod) {
		return nil
	}
	is := fmt.Sprintf("%s is not ready: ", o.Ref)
	if pod.Status.Phase == corev1.PodPending {
		is = fmt.Sprintf("%s is Pending: ", o.Ref)
	}
	if p, down := s.down(trace.CompKubelet + "/" + pod.Spec.NodeName); down {
		a := sentence("%sthe kubelet of %s is not running, so nobody starts or reports its containers", is, pod.Spec.NodeName)
		a.From = append(a.From, Keeper{What: p.Name, Why: p.Reason, Event: p.Event})
		return a
	}
	if a := s.attaching(o, pod, is); a != nil {
		return a
	}
	if a := s.withoutBundle(o, pod, is); a != nil {
		return a
	}
	if a := s.withoutCertificate(o, pod, is); a != nil {
		return a
	}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		var from []Keeper
		for _, c := range list {
			if why := standing(&c); why != "" && !c.Ready {
				from = append(from, Keeper{What: "container " + c.Name, Why: why, Event: o.Changed, Ref: o.Ref})
			}
		}
		if len(from) > 0 {
			return &Reason{Says: is + from[0].What + " " + from[0].Why, From: append(from[1:], s.warnings(o)...)}
		}
	}
	return &Reason{Says: is + "the kubelet of " + pod.Spec.NodeName + " has not started its containers yet", From: s.warnings(o)}
}

// standing says what a container waits for; "" if it has ended well.
func standing(c *corev1.ContainerStatus) string {
	switch st := c.State; {
	case st.Waiting != nil:
		return "waits: " + st.Waiting.Reason + tail(": ", st.Waiting.Message)
	case st.Terminated != nil && st.Terminated.ExitCode != 0:
		return fmt.Sprintf("has ended with exit code %d: %s", st.Terminated.ExitCode, st.Terminated.Reason)
	case st.Running != nil && c.Started != nil && !*c.Started:
		return "runs, and its startup probe has not succeeded yet"
	case st.Running != nil:
		return "runs, and its readiness probe has not succeeded"
	}
	return ""
}

// warnings are the newest Warning of each reason about an object.
func (s *State) warnings(o *Object) (from []Keeper) {
	seen := map[string]bool{}
	list := s.KubeEventsAbout(o.Ref)
	for i := len(list) - 1; i >= 0; i-- {
		if e := list[i]; e.Type == corev1.EventTypeWarning && !seen[e.Reason] {
			seen[e.Reason] = true
			from = append(from, Keeper{What: e.Reason, Why: e.Message, Event: e.Event, Ref: o.Ref})
		}
	}
	return from
}

// podReady reports whether a pod's condition Ready is True.
func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
