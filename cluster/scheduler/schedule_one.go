package scheduler

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	v1helper "k8s.io/component-helpers/scheduling/corev1"

	"kviz/cluster/client"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// errNoNodes is what a cluster without nodes says
// (pkg/scheduler/scheduler.go ErrNoNodesAvailable).
var errNoNodes = errors.New("no nodes available to schedule pods")

// result is a cycle that found a node.
type result struct {
	node      *framework.NodeInfo
	total     int64
	evaluated int
	feasible  int
	tied      []string // the others with the same total
}

// scheduleOne runs one pod's scheduling cycle, and starts its binding cycle.
//
// Mirrors pkg/scheduler/schedule_one.go scheduleOnePod and schedulingCycle.
func (s *Scheduler) scheduleOne(t *sim.Task, info *framework.QueuedPodInfo) {
	t.SetCauses(info.Cause)
	pod := info.Pod
	s.profile, s.offer = s.profileOf(pod), offer{}
	if pod.DeletionTimestamp != nil {
		s.profile.events.Eventf(t, pod, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", "skip schedule deleting pod: %v/%v", pod.Namespace, pod.Name)
		s.queue.done(info)
		return
	}
	if s.cache.isAssumed(pod) {
		s.queue.done(info)
		return
	}
	name := s.profile.name
	if name == corev1.DefaultSchedulerName {
		name = ""
	}
	info.Cause = t.Emit(trace.Event{
		Kind: trace.SchedCycle, Object: client.RefOf(pod),
		Payload: &trace.SchedCycleStart{
			Pod: framework.PodKey(pod), Attempt: info.Attempts, Nodes: len(s.cache.list()), Priority: v1helper.PodPriority(pod), Profile: name,
			Active: s.queue.active.Len(), Backoff: s.queue.backoff.len(), Unschedulable: s.queue.unschedulable.Len(),
		},
	})
	t.SetCauses(info.Cause)
	emitPoint(t, info, framework.QueueSort, []string{s.profile.queueSort.Name()}, "first of the active queue: the highest priority, and of those the one that waited longest")
	t.Sleep(s.cfg.CycleTime)

	state := &framework.CycleState{Pod: info.PodInfo}
	res, err := s.schedulePod(t, state, info)
	if err != nil {
		s.noNode(t, state, info, err)
		return
	}
	d := &trace.Decision{
		Pod: framework.PodKey(pod), Node: res.node.Node.Name, Total: res.total,
		Evaluated: res.evaluated, Feasible: res.feasible, TiedWith: res.tied, Skipped: res.feasible == 1, Like: s.alike(res),
		Devices: s.profile.devicesOn(state, res.node.Node.Name),
	}
	s.topology(state, info.PodInfo, res.node, d)
	decided := t.Emit(trace.Event{Kind: trace.SchedDecision, Object: client.RefOf(pod), Payload: d})
	info.Cause = decided
	t.SetCauses(decided)
	s.assumeAndBind(t, state, info, res)
}

// alike is the pod from whose cycle the node was kept, "" if it was not.
func (s *Scheduler) alike(res *result) string {
	if s.offer.node != res.node.Node.Name {
		return ""
	}
	return s.offer.like
}

// assumeAndBind reserves the node for the pod and lets go of it: the binding
// cycle runs beside the next pod's scheduling cycle.
func (s *Scheduler) assumeAndBind(t *sim.Task, state *framework.CycleState, info *framework.QueuedPodInfo, res *result) {
	node := res.node.Node.Name
	s.nominator.remove(info.Key)
	b := &binding{s: s, profile: s.profile, state: state, info: info, node: node, assumed: s.cache.assume(info.PodInfo, node)}
	if st := s.runReserve(t, info, state, b); !st.IsSuccess() {
		s.refused(t, b, st)
		return
	}
	waits, st := s.runPermit(t, info, state, b)
	if !st.IsSuccess() {
		s.refused(t, b, st)
		return
	}
	if waits != nil {
		s.waiting[b.assumed.UID] = waits
		info.Cause = t.Emit(trace.Event{Kind: trace.SchedPermit, Object: info.Ref, Payload: waits.told(trace.PermitWaits, "", "")})
	} else {
		s.queue.done(info)
	}
	s.process.Go("bind "+info.Key, b.run)
}

// refused ends a cycle whose node Reserve or Permit refused.
func (s *Scheduler) refused(t *sim.Task, b *binding, st *framework.Status) {
	b.undo(t)
	if st.IsRejected() {
		st = rejectedOn(b.info, b.node, st)
	}
	s.failed(t, b.info, st, st.Err(), true)
}

// schedulePod picks a node. The error is a *framework.FitError when no node
// fits.
//
// Mirrors pkg/scheduler/schedule_one.go schedulePod.
func (s *Scheduler) schedulePod(t *sim.Task, state *framework.CycleState, info *framework.QueuedPodInfo) (*result, error) {
	if len(s.cache.list()) == 0 {
		return nil, errNoNodes
	}
	feasible, diagnosis, err := s.findNodesThatFitPod(t, state, info)
	if err != nil {
		return nil, err
	}
	evaluated := len(feasible) + diagnosis.Statuses.Len()
	switch len(feasible) {
	case 0:
		return nil, &framework.FitError{Pod: info.Pod, NumAllNodes: len(s.cache.list()), Diagnosis: *diagnosis}
	case 1:
		// When only one node is left, it is taken without a look at its score.
		s.keep(t, info, feasible[0].Node.Name, nil)
		return &result{node: feasible[0], evaluated: evaluated, feasible: 1}, nil
	}
	res, err := s.prioritizeNodes(t, state, info, feasible)
	if err != nil {
		return nil, err
	}
	res.evaluated, res.feasible = evaluated, len(feasible)
	return res, nil
}

// noNode ends a cycle without a node: PostFilter plugins may make room for a
// later attempt, and the pod goes back into the queues.
//
// Mirrors the second half of schedule_one.go schedulingAlgorithm.
func (s *Scheduler) noNode(t *sim.Task, state *framework.CycleState, info *framework.QueuedPodInfo, err error) {
	d := &trace.Decision{Pod: info.Key, Message: err.Error()}
	status := framework.AsStatus("", err)
	var fit *framework.FitError
	switch {
	case errors.As(err, &fit):
		s.runPostFilter(t, info, state, fit, d)
		status = framework.NewStatus("", framework.Unschedulable, fit.Error())
		d.Message, d.Reasons, d.Evaluated = fit.Error(), fit.Reasons(), fit.Diagnosis.Statuses.Len()
		s.topology(state, info.PodInfo, nil, d)
		if d.Nominated == "" {
			d.Changes = s.changes(state, info.PodInfo, fit)
		}
		if s.cfg.WhyAnnotation {
			s.why = whyUnschedulable(info.PodInfo, d, &fit.Diagnosis.Statuses)
			defer func() { s.why = "" }() // whatever panics
		}
	case errors.Is(err, errNoNodes):
		status = framework.NewStatus("", framework.UnschedulableAndUnresolvable, err.Error())
	}
	info.Cause = t.Emit(trace.Event{Kind: trace.SchedDecision, Object: info.Ref, Payload: d})
	t.SetCauses(info.Cause)
	s.failed(t, info, status, err, false)
	s.why = "" // it is not for the pods whose nominations end
	s.nominate(t, info, d)
}

// emitPoint tells that an extension point ran its plugins.
func emitPoint(t *sim.Task, info *framework.QueuedPodInfo, point string, plugins []string, note string) {
	if len(plugins) == 0 && note == "" {
		note = "no plugins"
	}
	t.Emit(trace.Event{
		Kind: trace.SchedPoint, Object: info.Ref,
		Payload: &trace.ExtensionPoint{Pod: info.Key, Point: point, Plugins: plugins, Note: note},
	})
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
