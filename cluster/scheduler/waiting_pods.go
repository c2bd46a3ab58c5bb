package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// maxPermitTimeout bounds what a Permit plugin may have a pod wait
// (framework/runtime/framework.go maxTimeout).
const maxPermitTimeout = 15 * time.Minute

// waitingPod is a pod that Permit plugins have wait: it is assumed on its node, and its binding
// cycle goes on when all of them have allowed it. One that rejects it, or whose time is over, ends it.
//
// Mirrors pkg/scheduler/framework/runtime/waiting_pods_map.go waitingPod.
type waitingPod struct {
	info    *framework.QueuedPodInfo
	node    string
	pending []pendingPlugin // in the order in which they run

	// answer is the first that was given; those after it change nothing.
	answer   *framework.Status
	answered bool
	done     bool
	changed  sim.Cond
	untold   []permitAnswer // what the trace has not been told yet
}

// pendingPlugin has not allowed the pod yet.
type pendingPlugin struct {
	name    string
	timeout time.Duration
	until   time.Duration
}

type permitAnswer struct {
	told   *trace.PermitWait
	causes []trace.ID
}

// told is the pod at Permit, for the trace.
func (w *waitingPod) told(state, by, message string) *trace.PermitWait {
	p := &trace.PermitWait{Pod: w.info.Key, Node: w.node, State: state, By: by, Message: message}
	for _, pl := range w.pending {
		if state == trace.PermitRejected || state == trace.PermitPreempted {
			break // nobody is waited for any more
		}
		p.Pending = append(p.Pending, trace.PermitPlugin{Plugin: pl.name, Until: pl.until})
	}
	return p
}

func (w *waitingPod) waitsFor(plugin string) bool {
	return slices.ContainsFunc(w.pending, func(p pendingPlugin) bool { return p.name == plugin })
}

// allow has one plugin not keep the pod any more. The pod goes on when it was the last.
func (w *waitingPod) allow(plugin string, causes []trace.ID) {
	if !w.waitsFor(plugin) {
		return
	}
	w.pending = slices.DeleteFunc(w.pending, func(p pendingPlugin) bool { return p.name == plugin })
	if !w.answered {
		w.untold = append(w.untold, permitAnswer{w.told(trace.PermitAllowed, plugin, ""), causes})
	}
	if len(w.pending) == 0 {
		w.answered, w.done = true, true
	}
	w.changed.Signal()
}

// reject ends the waiting: the pod goes back into the queues, with the plugin as the one that
// rejected it. It reports whether that is still possible.
func (w *waitingPod) reject(plugin, message string, causes []trace.ID) bool {
	return w.stop(framework.NewStatus(plugin, framework.Unschedulable, message), trace.PermitRejected, causes)
}

// preempt ends the waiting for a pod of higher priority. Nothing has rejected the pod: it is tried
// again after a back-off.
func (w *waitingPod) preempt(plugin, message string, causes []trace.ID) bool {
	return w.stop(framework.NewStatus(plugin, framework.Error, message), trace.PermitPreempted, causes)
}

// stop mirrors stopWithStatus.
func (w *waitingPod) stop(st *framework.Status, state string, causes []trace.ID) bool {
	if !w.answered {
		w.answer, w.answered = st, true
		w.untold = append(w.untold, permitAnswer{w.told(state, st.Plugin(), st.Message()), causes})
		w.changed.Signal()
	}
	was := w.done
	w.done = true
	return !was
}

// wait yields until the plugins have answered, or the time of one is over.
func (w *waitingPod) wait(t *sim.Task) *framework.Status {
	for !w.answered {
		next := slices.MinFunc(w.pending, func(a, b pendingPlugin) int { return int(a.until - b.until) })
		if left := next.until - t.Elapsed(); left > 0 {
			w.changed.WaitTimeout(t, left)
		} else {
			w.reject(next.name, fmt.Sprintf("rejected due to timeout after waiting %v at plugin %v", next.timeout, next.name), nil)
		}
		w.tell(t)
	}
	w.tell(t)
	return w.answer
}

// tell has the trace know of the answers.
func (w *waitingPod) tell(t *sim.Task) {
	for _, a := range w.untold {
		w.info.Cause = t.Emit(trace.Event{
			Kind: trace.SchedPermit, Object: w.info.Ref, Causes: distinct(append([]trace.ID{w.info.Cause}, a.causes...)), Payload: a.told,
		})
		t.SetCauses(w.info.Cause)
	}
	w.untold = nil
}

// waitOnPermit waits if plugins have the pod wait.
//
// Mirrors pkg/scheduler/framework/runtime/framework.go WaitOnPermit, and what bindingCycle makes of
// its answer.
func (b *binding) waitOnPermit(t *sim.Task) *framework.Status {
	w := b.s.waiting[b.assumed.UID]
	if w == nil {
		return nil
	}
	defer delete(b.s.waiting, b.assumed.UID)
	switch st := w.wait(t); {
	case st.IsSuccess():
		return nil
	case st.IsRejected():
		return rejectedOn(b.info, b.node, st)
	default:
		return framework.AsStatus(st.Plugin(), fmt.Errorf("waiting on permit for pod: %w", st.Err()))
	}
}

// rejectedOn is the answer of a plugin that rejects the pod when its node has been chosen already:
// that of a cycle with this node alone.
func rejectedOn(info *framework.QueuedPodInfo, node string, st *framework.Status) *framework.Status {
	fit := &framework.FitError{Pod: info.Pod, NumAllNodes: 1}
	fit.Diagnosis.Statuses.Set(node, st)
	fit.Diagnosis.UnschedulablePlugins = map[string]bool{st.Plugin(): true}
	return framework.StatusOf(st.Code(), fit)
}

// Waiting are the pods that wait at Permit, by name, with the plugins that they wait for.
func (s *Scheduler) Waiting() []*trace.PermitWait {
	all := slices.SortedFunc(maps.Values(s.waiting), func(a, b *waitingPod) int { return strings.Compare(a.info.Key, b.info.Key) })
	var told []*trace.PermitWait
	for _, w := range all {
		if w.answered {
			continue
		}
		told = append(told, w.told(trace.PermitWaits, "", ""))
	}
	return told
}

// Allow lets a pod pass that waits at Permit, as its plugins would do, because of an event. It
// reports whether the pod waits there.
func (s *Scheduler) Allow(pod string, why []trace.ID) bool {
	w := s.waitingAt(pod)
	if w == nil {
		return false
	}
	for _, pl := range slices.Clone(w.pending) {
		w.allow(pl.name, why)
	}
	return true
}

// Reject rejects a pod that waits at Permit, as the first of its plugins would do, because of an
// event. It reports whether the pod waits there.
func (s *Scheduler) Reject(pod, message string, why []trace.ID) bool {
	w := s.waitingAt(pod)
	return w != nil && w.reject(w.pending[0].name, message, why)
}

// waitingAt is the waiting pod of a key that has no answer yet.
func (s *Scheduler) waitingAt(pod string) *waitingPod {
	for _, w := range s.waiting { // any order: there is one
		if w.info.Key == pod && !w.answered {
			return w
		}
	}
	return nil
}
