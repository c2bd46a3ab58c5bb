package scheduler

import (
	"maps"
	"slices"
	"time"

	"github.com/tidwall/btree"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// The queues, as the trace names them.
const (
	active        = "active"
	backoff       = "backoff"
	unschedulable = "unschedulable"
	gated         = "gated"
)

// What moves a pod besides events of the cluster
// (pkg/scheduler/framework/events.go).
const (
	scheduleAttemptFailure = "ScheduleAttemptFailure"
	forceActivate          = "ForceActivate"
	backoffComplete        = "BackoffComplete"
	popFromBackoffQ        = "PopFromBackoffQ"
	unschedulableTimeout   = "UnschedulableTimeout"
)

// A pod waits in the unschedulable pool for at most five minutes, looked at
// every half minute.
const (
	maxInUnschedulable = 5 * time.Minute
	flushPeriod        = 30 * time.Second
)

// schedulingQueue holds every pod that is to be scheduled, in one of three
// places: active (will be tried), backoff (will be active after a while),
// unschedulable (waits for an event that could help, or five minutes).
//
// Mirrors pkg/scheduler/backend/queue/scheduling_queue.go PriorityQueue.
type schedulingQueue struct {
	active        podHeap
	backoff       *backoffQueue
	unschedulable btree.Map[string, *framework.QueuedPodInfo]
	where         map[string]placed

	profiles map[string]enqueueing // by schedulerName
	backoffs backoffs

	flights flights
	cycles  uint64 // pods taken so far

	// because is what is told of the move that is under way, besides the event's name.
	because moveReason
	// asked are the plugins whose hints said no when [schedulingQueue.worthRequeuing] ran last.
	asked []string

	// crashed tells of a plugin that panicked at a pod outside of the pod's own cycle.
	crashed func(t *sim.Task, pod trace.Ref, broken *sim.PanicError)

	serial   uint64
	notEmpty sim.Cond // active or backoff got a pod
	changed  sim.Cond // the flusher has something to wait for
}

// placed is where a pod is.
type placed struct {
	info  *framework.QueuedPodInfo
	queue string
}

// enqueueing is what a profile has to say about its pods in the queues.
type enqueueing struct {
	preEnqueue []framework.PreEnqueuePlugin
	hints      []pluginHint
}

type pluginHint struct {
	plugin string
	framework.ClusterEventWithHint
}

// newSchedulingQueue makes the one queue of all profiles, which have the same QueueSort plugin.
func newSchedulingQueue(profiles []*profile, b backoffs) *schedulingQueue {
	less := profiles[0].queueSort.Less
	q := &schedulingQueue{
		active: podHeap{less: less}, backoff: newBackoffQueue(less), where: map[string]placed{}, profiles: map[string]enqueueing{}, backoffs: b,
	}
	for _, p := range profiles {
		e := enqueueing{preEnqueue: p.preEnqueue}
		for _, pl := range p.all {
			for _, event := range eventsFor(pl) {
				e.hints = append(e.hints, pluginHint{pl.Name(), event})
			}
		}
		q.profiles[p.name] = e
	}
	return q
}

// of is what the pod's profile has to say.
func (q *schedulingQueue) of(pod *corev1.Pod) enqueueing { return q.profiles[schedulerName(pod)] }

// eventsFor are the events that could change a plugin's mind: those it names, or else all of
// them where it can reject a pod (framework/runtime/framework.go defaultEnqueueExtension).
func eventsFor(pl framework.Plugin) []framework.ClusterEventWithHint {
	switch p := pl.(type) {
	case framework.EnqueueExtensions:
		return p.EventsToRegister()
	case framework.PreEnqueuePlugin, framework.PreFilterPlugin, framework.FilterPlugin, framework.ReservePlugin, framework.PermitPlugin:
		return framework.AnyEvent()
	}
	return nil
}

// add takes in a new pod.
func (q *schedulingQueue) add(t *sim.Task, pod *corev1.Pod, event string) {
	q.serial++
	info := &framework.QueuedPodInfo{PodInfo: framework.NewPodInfo(pod), Timestamp: t.Now(), Serial: q.serial, Index: -1}
	q.moveToActive(t, info, "", event)
}

// moveToActive puts a pod into the active queue, unless a PreEnqueue plugin
// keeps it out.
func (q *schedulingQueue) moveToActive(t *sim.Task, info *framework.QueuedPodInfo, from, event string) {
	wasGated := info.Gate
	info.Gate = ""
	plugins := q.of(info.Pod).preEnqueue
	for _, pl := range plugins {
		var s *framework.Status
		if broken := t.HandleCrashOn(info.Ref, "PreEnqueue of "+pl.Name(), func() { s = pl.PreEnqueue(info.Pod) }); broken != nil {
			q.failed(t, info, from, broken)
			return
		}
		if s.IsSuccess() {
			continue
		}
		info.Gate = pl.Name()
		// A pod that has been tried keeps the plugins that rejected it: what they wait for ungates it.
		info.UnschedulablePlugins = maps.Clone(info.UnschedulablePlugins)
		if info.UnschedulablePlugins == nil {
			info.UnschedulablePlugins = map[string]bool{}
		}
		info.UnschedulablePlugins[pl.Name()] = true
		if wasGated == "" {
			emitPoint(t, info, framework.PreEnqueue, []string{pl.Name()}, s.Message())
		}
		q.place(t, info, from, gated, event)
		return
	}
	if from == "" || wasGated != "" {
		emitPoint(t, info, framework.PreEnqueue, pluginNames(plugins), "")
		info.UnschedulablePlugins = nil
	}
	q.place(t, info, from, active, event)
}

// failed has a pod at which a plugin panicked wait for the end of a back-off.
func (q *schedulingQueue) failed(t *sim.Task, info *framework.QueuedPodInfo, from string, broken *sim.PanicError) {
	q.crashed(t, info.Ref, broken)
	q.later(t, info, from, scheduleAttemptFailure)
}

// later files a pod that met an error: it waits for the end of a back-off, and no less.
func (q *schedulingQueue) later(t *sim.Task, info *framework.QueuedPodInfo, from, event string) {
	info.Timestamp, info.BackoffExpiration, info.UnschedulablePlugins = t.Now(), time.Time{}, nil
	info.ConsecutiveErrors++
	q.backoffs.backingOff(info, t.Now())
	q.place(t, info, from, backoff, event)
}

// place files a pod in a queue and tells the trace.
func (q *schedulingQueue) place(t *sim.Task, info *framework.QueuedPodInfo, from, to, event string) {
	key := info.Key
	switch to {
	case active:
		info.BackoffExpiration = time.Time{}
		q.active.add(info)
		q.notEmpty.Signal()
	case backoff:
		q.backoff.add(info)
		q.notEmpty.Signal()
		q.changed.Signal()
	default:
		q.unschedulable.Set(key, info)
		q.changed.Signal()
	}
	q.where[key] = placed{info, to}
	if from != to {
		q.emitMove(t, info, from, to, event)
	}
}

// take removes a pod from where it is, without a word to the trace.
func (q *schedulingQueue) take(p placed) {
	key := p.info.Key
	switch p.queue {
	case active:
		q.active.remove(p.info)
	case backoff:
		q.backoff.remove(p.info)
	default:
		q.unschedulable.Delete(key)
	}
	delete(q.where, key)
}

// emitMove writes a move down. It is caused by what the task acts on, and by
// the pod's move before.
func (q *schedulingQueue) emitMove(t *sim.Task, info *framework.QueuedPodInfo, from, to, event string) {
	causes := t.Causes()
	if !info.Cause.IsZero() {
		causes = append([]trace.ID{info.Cause}, causes...)
	}
	var rejected []string
	if to == unschedulable {
		rejected, info.Stayed = slices.Sorted(maps.Keys(info.UnschedulablePlugins)), nil
	}
	why := &q.because
	info.Cause = t.Emit(trace.Event{
		Kind: trace.SchedQueue, Object: info.Ref, Causes: distinct(causes),
		Payload: &trace.SchedQueueMove{
			Pod: info.Key, From: from, To: to, Event: event, Attempts: info.Attempts,
			About: why.about, Plugin: why.plugin, NoHint: why.noHint, Meanwhile: why.meanwhile, Rejected: rejected,
			Active: q.active.Len(), Backoff: q.backoff.len(), Unschedulable: q.unschedulable.Len(),
		},
	})
}

func distinct(ids []trace.ID) []trace.ID {
	out := make([]trace.ID, 0, len(ids))
	for _, id := range ids {
		seen := false
		for _, o := range out {
			seen = seen || o == id
		}
		if !seen {
			out = append(out, id)
		}
	}
	return out
}

// pop waits for the next pod and starts its flight. With nothing active, a
// rejected pod need not sit out its back-off: the scheduler has time.
func (q *schedulingQueue) pop(t *sim.Task) *framework.QueuedPodInfo {
	for q.active.Len() == 0 && q.backoff.rejected.Len() == 0 {
		q.notEmpty.Wait(t)
	}
	if q.active.Len() == 0 {
		info := q.backoff.rejected.take()
		delete(q.where, info.Key)
		q.moveToActive(t, info, backoff, popFromBackoffQ)
		return q.pop(t)
	}
	info := q.active.take()
	delete(q.where, info.Key)
	info.Attempts++
	q.cycles++
	q.flights.begin(info.Pod.UID)
	return info
}

// done ends a pod's flight: events are no longer kept for it.
func (q *schedulingQueue) done(info *framework.QueuedPodInfo) { q.flights.end(info.Pod.UID) }

// returned takes back a pod whose attempt failed. If something happened during
// the attempt that could help, it does not go to the unschedulable pool.
//
// Mirrors AddUnschedulablePodIfNotPresent.
func (q *schedulingQueue) returned(t *sim.Task, info *framework.QueuedPodInfo) {
	missed := q.flights.end(info.Pod.UID) // none after a failed binding: its flight ended before
	if _, there := q.where[info.Key]; there {
		return // deleted and made again during the attempt
	}
	if len(info.UnschedulablePlugins) == 0 {
		info.ConsecutiveErrors++
	} else {
		info.UnschedulableCount++
		info.ConsecutiveErrors = 0
	}
	info.Timestamp = t.Now()
	info.BackoffExpiration = time.Time{}
	worth := len(info.UnschedulablePlugins) == 0
	for _, m := range missed {
		if m.event.Resource == framework.TargetPod && m.new.(*corev1.Pod).UID != info.Pod.UID {
			continue // of another pod that was on its way
		}
		if !worth && q.worthRequeuing(t, info, m.event, m.old, m.new) {
			worth, q.because.about, q.because.meanwhile = true, about(m.old, m.new), m.event.Label()
		}
	}
	q.requeue(t, info, "", worth, scheduleAttemptFailure)
	q.because = moveReason{}
}

// requeue puts a pod where it belongs: to wait for an event, for the end of its
// back-off, or for its turn.
func (q *schedulingQueue) requeue(t *sim.Task, info *framework.QueuedPodInfo, from string, worth bool, event string) {
	switch {
	case !worth:
		to := unschedulable
		if info.Gate != "" {
			to = gated
		}
		q.place(t, info, from, to, event)
	case q.backoffs.backingOff(info, t.Now()):
		q.place(t, info, from, backoff, event)
	default:
		q.moveToActive(t, info, from, event)
	}
}

// worthRequeuing asks the plugins that rejected the pod whether an event could
// change their minds (queueing hints). A pod rejected by nobody met an error
// and is always worth another try; so is one at which a hint panics (isPodWorthRequeuing of a hint's error).
func (q *schedulingQueue) worthRequeuing(t *sim.Task, info *framework.QueuedPodInfo, event framework.ClusterEvent, old, new runtime.Object) bool {
	q.asked, q.because = q.asked[:0], moveReason{}
	if len(info.UnschedulablePlugins) == 0 {
		return true
	}
	for _, h := range q.of(info.Pod).hints {
		if !info.UnschedulablePlugins[h.plugin] || !h.Event.Matches(event) {
			continue
		}
		if h.Hint == nil || q.hint(t, h, info, old, new) {
			q.because = moveReason{plugin: h.plugin, noHint: h.Hint == nil}
			return true
		}
		if !slices.Contains(q.asked, h.plugin) {
			q.asked = append(q.asked, h.plugin)
		}
	}
	return false
}

// hint asks one plugin.
func (q *schedulingQueue) hint(t *sim.Task, h pluginHint, info *framework.QueuedPodInfo, old, new runtime.Object) (worth bool) {
	if broken := t.HandleCrash(func() { worth = h.Hint(info.Pod, old, new) }); broken != nil {
		t.TellCrash(info.Ref, "the queueing hint of "+h.plugin, broken)
		q.crashed(t, info.Ref, broken)
		return true
	}
	return worth
}

// happened moves every waiting pod that an event of the cluster could help.
//
// Mirrors MoveAllToActiveOrBackoffQueue.
func (q *schedulingQueue) happened(t *sim.Task, event framework.ClusterEvent, old, new runtime.Object) {
	q.happenedTo(t, event, old, new, nil)
}

// happenedTo is happened for those of the waiting pods of which it is true (PreEnqueueCheck); nil
// means all.
func (q *schedulingQueue) happenedTo(t *sim.Task, event framework.ClusterEvent, old, new runtime.Object, may func(*corev1.Pod) bool) {
	q.flights.happened(missedEvent{event, old, new})
	if q.unschedulable.Len() == 0 || !q.interested(event) {
		return
	}
	object := about(old, new)
	for i, info := range q.unschedulable.Values() {
		if may != nil && !may(info.Pod) {
			continue
		}
		if q.worthRequeuing(t, info, event, old, new) {
			q.because.about = object
			q.leave(t, info, event.Label())
		} else if i < maxStays {
			q.stays(t, info, event.Label(), object)
		}
		q.because = moveReason{}
	}
}

// interested reports whether a plugin of any profile registered the event.
func (q *schedulingQueue) interested(event framework.ClusterEvent) bool {
	for _, p := range q.profiles { // any order: nothing but the answer leaves here
		if slices.ContainsFunc(p.hints, func(h pluginHint) bool { return h.Event.Matches(event) }) {
			return true
		}
	}
	return false
}

// leave moves a pod out of the unschedulable pool.
func (q *schedulingQueue) leave(t *sim.Task, info *framework.QueuedPodInfo, event string) {
	p, ok := q.where[info.Key]
	if !ok || p.info != info {
		return // moved meanwhile
	}
	q.take(p)
	q.requeue(t, info, p.queue, true, event)
}

// retry has a pod that waits for an event wait for the end of a back-off only.
func (q *schedulingQueue) retry(t *sim.Task, key, event string) {
	if p, ok := q.where[key]; ok && p.queue != active && p.queue != backoff {
		q.take(p)
		q.later(t, p.info, p.queue, event)
	}
}

// activate has a pod be tried at once.
//
// Mirrors Activate.
func (q *schedulingQueue) activate(t *sim.Task, key string) {
	if p, ok := q.where[key]; ok && p.queue != active {
		q.take(p)
		q.moveToActive(t, p.info, p.queue, forceActivate)
	}
}

// update takes in a changed pod; one that waits may be helped by the change.
func (q *schedulingQueue) update(t *sim.Task, old, pod *corev1.Pod) {
	key := framework.PodKey(pod)
	events := framework.PodChanges(old, pod, framework.TargetPod)
	if q.flights.has(pod.UID) {
		for _, e := range events {
			q.flights.happened(missedEvent{e, old, pod})
		}
		return
	}
	p, ok := q.where[key]
	if !ok {
		q.add(t, pod, framework.ClusterEvent{Resource: framework.UnscheduledPod, Action: framework.Update}.Label())
		return
	}
	p.info.PodInfo = framework.NewPodInfo(pod)
	switch p.queue {
	case active:
		q.active.fix(p.info)
		return
	case backoff:
		q.backoff.heapOf(p.info).fix(p.info)
		return
	}
	for _, e := range events {
		if q.worthRequeuing(t, p.info, e, old, pod) {
			q.leave(t, p.info, e.Label())
			q.because = moveReason{}
			return
		}
	}
}

// remove forgets a pod that was deleted, or bound by somebody else.
func (q *schedulingQueue) remove(t *sim.Task, pod *corev1.Pod, event string) {
	if p, ok := q.where[framework.PodKey(pod)]; ok {
		q.take(p)
		q.emitMove(t, p.info, p.queue, "", event)
	}
}

// flush is the task that ends back-offs and long waits.
func (q *schedulingQueue) flush(t *sim.Task) {
	nextLook := t.Now().Add(flushPeriod)
	for {
		wake := q.backoff.next()
		if q.unschedulable.Len() > 0 && (wake.IsZero() || nextLook.Before(wake)) {
			wake = nextLook
		}
		if wake.IsZero() {
			q.changed.Wait(t)
		} else if d := wake.Sub(t.Now()); d > 0 {
			q.changed.WaitTimeout(t, d)
		}
		t.SetCauses()
		for {
			info := q.backoff.takeCompleted(t.Now())
			if info == nil {
				break
			}
			delete(q.where, info.Key)
			q.moveToActive(t, info, backoff, backoffComplete)
		}
		if now := t.Now(); !now.Before(nextLook) {
			nextLook = now.Truncate(flushPeriod).Add(flushPeriod)
			q.flushUnschedulable(t)
		}
	}
}

func (q *schedulingQueue) flushUnschedulable(t *sim.Task) {
	for _, info := range q.unschedulable.Values() {
		if t.Now().Sub(info.Timestamp) > maxInUnschedulable {
			q.leave(t, info, unschedulableTimeout)
		}
	}
}
