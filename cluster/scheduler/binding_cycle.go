package scheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// binding is one pod's binding cycle.
//
// Mirrors pkg/scheduler/schedule_one.go bindingCycle.
type binding struct {
	s       *Scheduler
	profile *profile
	state   *framework.CycleState
	info    *framework.QueuedPodInfo
	node    string
	assumed *corev1.Pod // the pod with its node, as the cache has it
	bound   bool        // the API server has it
}

// run tells the API server where the pod goes. If that fails, the assumption
// is taken back and the pod is tried again after a back-off.
func (b *binding) run(t *sim.Task) {
	t.SetCauses(b.info.Cause)
	if broken := t.HandleCrashOn(b.info.Ref, "the binding of the pod", func() { b.bind(t) }); broken != nil && !b.bound {
		_ = t.HandleCrash(func() { b.undo(t) })
		b.s.crashed(t, b.info, broken)
	}
}

func (b *binding) bind(t *sim.Task) {
	st := b.preBindAndBind(t)
	d := &trace.Decision{Pod: framework.PodKey(b.assumed), Node: b.node}
	if !st.IsSuccess() {
		d.Message = st.Message()
	}
	b.info.Cause = t.Emit(trace.Event{Kind: trace.SchedBind, Object: client.RefOf(b.assumed), Payload: d})
	t.SetCauses(b.info.Cause)
	if !st.IsSuccess() {
		b.undo(t)
		b.s.queue.happened(t, event(framework.AssignedPod, framework.Delete), b.assumed, nil)
		b.s.failed(t, b.info, st, st.Err())
		return
	}
	b.bound = true
	b.profile.events.Eventf(t, b.assumed, nil, corev1.EventTypeNormal, "Scheduled", "Binding", "Successfully assigned %v/%v to %v", b.assumed.Namespace, b.assumed.Name, b.node)
	for _, pl := range b.profile.postBind {
		pl.PostBind(b.state, b.assumed, b.node)
	}
	emitPoint(t, b.info, framework.PostBind, pluginNames(b.profile.postBind), "")
}

func (b *binding) preBindAndBind(t *sim.Task) *framework.Status {
	p := b.profile
	for _, pl := range p.preBind {
		if st := pl.PreBind(t, b.state, b.assumed, b.node); !st.IsSuccess() && !st.IsSkip() {
			return running(framework.PreBind, pl, st)
		}
	}
	emitPoint(t, b.info, framework.PreBind, pluginNames(p.preBind), "")
	emitPoint(t, b.info, framework.Bind, pluginNames(p.bind), "posts the binding to the API server")
	for _, pl := range p.bind {
		if st := pl.Bind(t, b.s.client, b.assumed, b.node); !st.IsSkip() {
			return st
		}
	}
	return nil
}

// undo takes back the reservation and the assumption.
func (b *binding) undo(*sim.Task) {
	for i := len(b.profile.reserve) - 1; i >= 0; i-- {
		b.profile.reserve[i].Unreserve(b.state, b.assumed, b.node)
	}
	b.s.cache.forget(b.assumed)
}

// running says in which plugin an error happened; a rejection stays as it is.
func running(point string, pl framework.Plugin, st *framework.Status) *framework.Status {
	if st.Code() != framework.Error {
		return st
	}
	return framework.AsStatus("", fmt.Errorf("running %s plugin %q: %w", point, pl.Name(), st.Err()))
}

func (s *Scheduler) runReserve(t *sim.Task, info *framework.QueuedPodInfo, state *framework.CycleState, b *binding) *framework.Status {
	for _, pl := range s.profile.reserve {
		if st := pl.Reserve(state, b.assumed, b.node); !st.IsSuccess() {
			return running(framework.Reserve, pl, st)
		}
	}
	emitPoint(t, info, framework.Reserve, pluginNames(s.profile.reserve), "the pod is assumed on "+b.node+": the next pod finds its resources taken")
	return nil
}

func (s *Scheduler) runPermit(t *sim.Task, info *framework.QueuedPodInfo, state *framework.CycleState, b *binding) *framework.Status {
	for _, pl := range s.profile.permit {
		if st := pl.Permit(state, b.assumed, b.node); !st.IsSuccess() {
			return st
		}
	}
	emitPoint(t, info, framework.Permit, pluginNames(s.profile.permit), "")
	return nil
}
