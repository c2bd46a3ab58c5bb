package scheduler

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

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
	if st := b.permitted(t); !st.IsSuccess() {
		b.failed(t, st)
		return
	}
	st := b.preBindAndBind(t)
	d := &trace.Decision{Pod: framework.PodKey(b.assumed), Node: b.node}
	if !st.IsSuccess() {
		d.Message = st.Message()
	}
	b.info.Cause = t.Emit(trace.Event{Kind: trace.SchedBind, Object: client.RefOf(b.assumed), Payload: d})
	t.SetCauses(b.info.Cause)
	if !st.IsSuccess() {
		b.failed(t, st)
		return
	}
	b.bound = true
	b.profile.events.Eventf(t, b.assumed, nil, corev1.EventTypeNormal, "Scheduled", "Binding", "Successfully assigned %v/%v to %v", b.assumed.Namespace, b.assumed.Name, b.node)
	for _, pl := range b.profile.postBind {
		pl.PostBind(b.state, b.assumed, b.node)
	}
	emitPoint(t, b.info, framework.PostBind, pluginNames(b.profile.postBind), "")
}

// permitted waits at Permit if the pod has to. Others learn meanwhile from its
// status.nominatedNodeName where it is expected to go (NominatedNodeNameForExpectation).
func (b *binding) permitted(t *sim.Task) *framework.Status {
	if b.s.waiting[b.assumed.UID] == nil {
		return nil
	}
	b.expect(t)
	st := b.waitOnPermit(t)
	if st.IsSuccess() {
		b.s.queue.done(b.info)
	}
	return st
}

// expect writes the node of a pod whose binding takes a while. If that fails, the binding goes on.
func (b *binding) expect(t *sim.Task) {
	if pod := b.assumed; pod.Status.NominatedNodeName != b.node {
		_, _ = b.s.client.Patch(t, client.Pods, pod.Namespace, pod.Name, types.StrategicMergePatchType,
			statusPatch(pod, map[string]any{"nominatedNodeName": b.node}, ""), "status")
	}
}

// failed takes back what was assumed and brings the pod back into the queues. To the others that
// is as if the pod were deleted; a pod that was rejected does not profit from its own going.
//
// Mirrors pkg/scheduler/schedule_one.go handleBindingCycleError.
func (b *binding) failed(t *sim.Task, st *framework.Status) {
	b.undo(t)
	gone := event(framework.AssignedPod, framework.Delete)
	if !st.IsRejected() {
		b.s.queue.happened(t, gone, b.assumed, nil)
	}
	b.s.failed(t, b.info, st, st.Err(), true)
	if st.IsRejected() {
		b.s.queue.happenedTo(t, gone, b.assumed, nil, func(pod *corev1.Pod) bool { return pod.UID != b.assumed.UID })
	}
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
func (b *binding) undo(t *sim.Task) {
	for i := len(b.profile.reserve) - 1; i >= 0; i-- {
		b.profile.reserve[i].Unreserve(t, b.state, b.assumed, b.node)
	}
	b.s.cache.forget(b.assumed)
	delete(b.s.waiting, b.assumed.UID)
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

// runPermit asks all Permit plugins. What they have the pod wait for is in the waiting pod, nil if
// nothing.
//
// Mirrors pkg/scheduler/framework/runtime/framework.go RunPermitPlugins.
func (s *Scheduler) runPermit(t *sim.Task, info *framework.QueuedPodInfo, state *framework.CycleState, b *binding) (*waitingPod, *framework.Status) {
	w := &waitingPod{info: info, node: b.node}
	var waits []string
	for _, pl := range s.profile.permit {
		st, timeout := pl.Permit(state, b.assumed, b.node)
		switch {
		case st.IsSuccess():
		case st.IsWait():
			timeout = min(timeout, maxPermitTimeout)
			w.pending = append(w.pending, pendingPlugin{pl.Name(), timeout, t.Elapsed() + timeout})
			waits = append(waits, pl.Name())
		case st.IsRejected():
			return nil, st
		default:
			return nil, framework.AsStatus(pl.Name(), fmt.Errorf("running Permit plugin %q: %w", pl.Name(), st.Err()))
		}
	}
	if len(waits) == 0 {
		emitPoint(t, info, framework.Permit, pluginNames(s.profile.permit), "")
		return nil, nil
	}
	emitPoint(t, info, framework.Permit, pluginNames(s.profile.permit), "the pod waits for "+strings.Join(waits, ", "))
	return w, nil
}
