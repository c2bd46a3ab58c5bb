package scheduler

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// noteLengthLimit is the longest message of a Kubernetes Event
// (pkg/apis/core/validation NoteLengthLimit).
const noteLengthLimit = 1024

// failed brings a pod that got no node back into the queues, writes the Event
// FailedScheduling and sets the pod's condition PodScheduled to False.
//
// Where a node had been chosen already, nobody has to expect the pod there any more.
//
// Mirrors pkg/scheduler/schedule_one.go handleSchedulingFailure.
func (s *Scheduler) failed(t *sim.Task, info *framework.QueuedPodInfo, st *framework.Status, err error, chosen bool) {
	reason := corev1.PodReasonSchedulerError
	if st.IsRejected() {
		reason = corev1.PodReasonUnschedulable
	}
	info.UnschedulablePlugins = nil
	var fit *framework.FitError
	if errors.As(err, &fit) {
		info.UnschedulablePlugins = fit.Diagnosis.UnschedulablePlugins
	}

	obj, ok := s.pods.Get(info.Key)
	newest, _ := obj.(*corev1.Pod)
	if !ok || newest.Spec.NodeName != "" || newest.UID != info.Pod.UID {
		// Deleted, bound by somebody else, or made again: not ours to requeue.
		s.queue.done(info)
		return
	}
	info.PodInfo = framework.NewPodInfo(newest)
	s.queue.returned(t, info)
	if chosen {
		s.nominator.remove(info.Key)
	}

	message := st.Message()
	s.profileOf(newest).events.Eventf(t, newest, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", "%s", truncate(message))
	status := s.condition(t, newest, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: newest.Generation,
	})
	if chosen && newest.Status.NominatedNodeName != "" {
		status["nominatedNodeName"] = nil
	}
	if len(status) > 0 {
		s.patchStatus(t, newest, status)
	}
}

// crashed takes back what a panic in the cycle of a pod, or in its binding, has left behind. The
// pod is tried again after its back-off, as after an error, and says why meanwhile; the others go on.
func (s *Scheduler) crashed(t *sim.Task, info *framework.QueuedPodInfo, broken *sim.PanicError) {
	if s.cache.isAssumed(info.Pod) {
		s.cache.forget(info.Pod)
		s.queue.happened(t, event(framework.AssignedPod, framework.Delete), info.Pod, nil)
	}
	s.nominator.remove(info.Key)
	st := framework.AsStatus("", errors.New(broken.Note(s.cfg.Name, "scheduler")))
	if again := t.HandleCrashOn(info.Ref, "the end of the scheduling cycle of the pod", func() { s.failed(t, info, st, st.Err(), true) }); again != nil {
		s.queue.done(info)
	}
}

// warn tells of a panic outside of a pod's own cycle.
func (s *Scheduler) warn(t *sim.Task, object trace.Ref, broken *sim.PanicError) {
	s.elections.EventRef(t, object, corev1.EventTypeWarning, "SchedulerPanic", "%s", broken.Note(s.cfg.Name, "scheduler"))
}

func truncate(message string) string {
	const suffix = " ..."
	if len(message) <= noteLengthLimit {
		return message
	}
	return message[:noteLengthLimit-len(suffix)] + suffix
}

// condition is what a patch of the pod's status has to say of a condition: nothing if it says
// nothing new.
func (s *Scheduler) condition(t *sim.Task, pod *corev1.Pod, cond corev1.PodCondition) map[string]any {
	cond.LastTransitionTime = client.Now(t)
	for _, c := range pod.Status.Conditions {
		if c.Type != cond.Type {
			continue
		}
		if c.Status == cond.Status {
			cond.LastTransitionTime = c.LastTransitionTime
		}
		if c.Status == cond.Status && c.Reason == cond.Reason && c.Message == cond.Message && c.ObservedGeneration == cond.ObservedGeneration &&
			(s.why == "" || s.why == pod.Annotations[WhyAnnotation]) {
			return map[string]any{}
		}
	}
	return map[string]any{"conditions": []corev1.PodCondition{cond}}
}
