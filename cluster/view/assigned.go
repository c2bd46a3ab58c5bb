package view

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/trace"
)

// maxAssigned is how many pods are kept that others than kviz' schedulers have bound.
const maxAssigned = 128

// Assignment is a binding that no scheduler of kviz' own made: a program from outside did, as a real
// kube-scheduler, or somebody at the console. What led to it is not in the trace.
type Assignment struct {
	gen
	Pod     string // namespace/name
	Node    string
	User    string
	Client  string   // "kube-scheduler", "kubectl"
	Agent   string   // what a program from outside calls itself: "kube-scheduler/v1.37.1"
	Command trace.ID // at the console, if it was one
	Event   trace.ID // store.commit
	At      time.Duration
}

func (a *Assignment) seal() {}

// By is who made the binding.
func (a *Assignment) By() string {
	switch {
	case a.Agent != "":
		return fmt.Sprintf("%s (%s, a program from outside)", a.User, a.Agent)
	case !a.Command.IsZero():
		return fmt.Sprintf("%s (%s at the console)", a.User, a.Client)
	}
	return fmt.Sprintf("%s (%s)", a.User, a.Client)
}

// Says is the assignment in a sentence.
func (a *Assignment) Says() string {
	return fmt.Sprintf("Pod %s was bound to %s by %s: it did not say why", a.Pod, a.Node, a.By())
}

// Assigned lists the newest bindings that no scheduler of kviz' own made, the oldest first.
func (s *Scheduler) Assigned() []*Assignment {
	var list []*Assignment
	s.assigned.all(func(_ uint64, a *Assignment) bool {
		list = append(list, a)
		return true
	})
	return list
}

// AssignmentOf is the newest of a pod; nil where kviz' own scheduler bound it.
func (s *Scheduler) AssignmentOf(pod string) (found *Assignment) {
	s.assigned.back(func(_ uint64, a *Assignment) bool {
		if a.Pod == pod {
			found = a
		}
		return found == nil
	})
	return found
}

// assign notes what a request that binds a pod has written, unless a scheduler of kviz' own sent it.
func (b *Builder) assign(e *trace.Event, r *Request) {
	if r.Subresource != "binding" && r.Resource != "bindings" {
		return
	}
	commit, ok := e.Payload.(*trace.Commit)
	if !ok {
		return
	}
	for _, ch := range commit.Changes {
		if ch.Value == nil {
			continue
		}
		pod, ok := ch.Value.Value.(*corev1.Pod)
		if !ok {
			continue
		}
		a := &Assignment{
			gen: gen{b.gen}, Pod: ch.Object.Key(), Node: pod.Spec.NodeName,
			User: r.User, Client: r.Client, Agent: r.Agent, Command: r.Command, Event: e.ID, At: e.At,
		}
		// One of kviz' own, in the control plane or in a pod, has told of its decision.
		if c := b.s.Scheduler.CycleOf(a.Pod); r.Agent == "" && r.Command.IsZero() && c != nil && c.Decision != nil && c.Decision.Node == a.Node {
			continue
		}
		b.s.Scheduler.assigned.set(order(e.ID), a)
		b.s.Scheduler.assigned.trim(maxAssigned)
	}
}

// boundByOthers says who bound a pod that no scheduler of kviz' own has.
func (s *State) boundByOthers(o *Object, node string) *Reason {
	a := s.Scheduler.AssignmentOf(o.Ref.Key())
	if a == nil || a.Node != node || a.Event.Compare(o.Created) < 0 {
		return nil
	}
	return &Reason{Says: a.Says()}
}
