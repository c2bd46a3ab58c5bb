package scheduler

import (
	"errors"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/client"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
)

// noteLengthLimit is the longest message of a Kubernetes Event
// (pkg/apis/core/validation NoteLengthLimit).
const noteLengthLimit = 1024

// failed brings a pod that got no node back into the queues, writes the Event
// FailedScheduling and sets the pod's condition PodScheduled to False.
//
// Mirrors pkg/scheduler/schedule_one.go handleSchedulingFailure.
func (s *Scheduler) failed(t *sim.Task, info *framework.QueuedPodInfo, st *framework.Status, err error) {
	reason := corev1.PodReasonSchedulerError
	if st.IsRejected() {
		reason = corev1.PodReasonUnschedulable
	}
	info.UnschedulablePlugins = nil
	var fit *framework.FitError
	if errors.As(err, &fit) {
		info.UnschedulablePlugins = fit.Diagnosis.UnschedulablePlugins
	} else if st.IsRejected() && st.Plugin() != "" {
		info.UnschedulablePlugins = map[string]bool{st.Plugin(): true}
	}

	obj, ok := s.pods.Get(info.Key)
	newest, _ := obj.(*corev1.Pod)
	if !ok || newest.Spec.NodeName != "" || newest.UID != info.Pod.UID {
		// Deleted, bound by somebody else, or made again: not ours to requeue.
		if s.queue.inFlight == info {
			s.queue.done()
		}
		return
	}
	info.PodInfo = framework.NewPodInfo(newest)
	s.queue.returned(t, info)

	message := st.Message()
	s.events.Eventf(t, newest, nil, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", "%s", truncate(message))
	s.setCondition(t, newest, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: newest.Generation,
	})
}

func truncate(message string) string {
	const suffix = " ..."
	if len(message) <= noteLengthLimit {
		return message
	}
	return message[:noteLengthLimit-len(suffix)] + suffix
}

// setCondition patches the pod's status if the condition says something new.
func (s *Scheduler) setCondition(t *sim.Task, pod *corev1.Pod, cond corev1.PodCondition) {
	cond.LastTransitionTime = client.Now(t)
	for _, c := range pod.Status.Conditions {
		if c.Type != cond.Type {
			continue
		}
		if c.Status == cond.Status {
			cond.LastTransitionTime = c.LastTransitionTime
		}
		if c.Status == cond.Status && c.Reason == cond.Reason && c.Message == cond.Message && c.ObservedGeneration == cond.ObservedGeneration {
			return
		}
	}
	s.patchStatus(t, pod, map[string]any{"conditions": []corev1.PodCondition{cond}})
}
