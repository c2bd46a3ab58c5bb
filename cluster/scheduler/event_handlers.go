package scheduler

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/informer"
	"kviz/cluster/scheduler/framework"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// addHandlers connects the informers to the cache and the queues. Handlers run
// in the informers' tasks, whose causes are the watch event.
//
// Mirrors pkg/scheduler/eventhandlers.go addAllEventHandlers.
func (s *Scheduler) addHandlers() {
	s.objects.storage.addHandlers(s.queue)
	s.objects.devices.addHandlers(s.queue)
	s.nodes.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { s.addNode(t, obj.(*corev1.Node)) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			s.updateNode(t, old.(*corev1.Node), obj.(*corev1.Node))
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { s.deleteNode(t, obj.(*corev1.Node)) },
	})
	s.pods.AddHandler(informer.Handler{
		Add: func(t *sim.Task, obj runtime.Object, _ trace.ID) { s.addPod(t, obj.(*corev1.Pod)) },
		Update: func(t *sim.Task, old, obj runtime.Object, _ trace.ID) {
			s.updatePod(t, old.(*corev1.Pod), obj.(*corev1.Pod))
		},
		Delete: func(t *sim.Task, obj runtime.Object, _ trace.ID) { s.deletePod(t, obj.(*corev1.Pod)) },
	})
}

func event(r framework.EventResource, a framework.ActionType) framework.ClusterEvent {
	return framework.ClusterEvent{Resource: r, Action: a}
}

func (s *Scheduler) addNode(t *sim.Task, node *corev1.Node) {
	s.cache.setNode(node)
	s.queue.happened(t, event(framework.Node, framework.Add), nil, node)
}

func (s *Scheduler) updateNode(t *sim.Task, old, node *corev1.Node) {
	s.cache.setNode(node)
	for _, e := range framework.NodeChanges(old, node) {
		s.queue.happened(t, e, old, node)
	}
}

func (s *Scheduler) deleteNode(t *sim.Task, node *corev1.Node) {
	s.queue.happened(t, event(framework.Node, framework.Delete), node, nil)
	s.cache.removeNode(node)
}

// mine reports whether a profile of this scheduler serves the pod.
func (s *Scheduler) mine(pod *corev1.Pod) bool { return s.profileOf(pod) != nil }

// profileOf is the profile that serves the pod, nil if none does.
func (s *Scheduler) profileOf(pod *corev1.Pod) *profile {
	name := schedulerName(pod)
	for _, p := range s.profiles {
		if p.name == name {
			return p
		}
	}
	return nil
}

// schedulerName is what a pod asks for; the API server fills in the default.
func schedulerName(pod *corev1.Pod) string {
	return cmp.Or(pod.Spec.SchedulerName, corev1.DefaultSchedulerName)
}

func assigned(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" }

func (s *Scheduler) addPod(t *sim.Task, pod *corev1.Pod) {
	switch {
	case assigned(pod):
		s.addAssigned(t, pod)
	case s.mine(pod):
		// A nomination outlives the scheduler that made it.
		s.nominator.set(framework.NewPodInfo(pod), pod.Status.NominatedNodeName)
		s.queue.add(t, pod, event(framework.UnscheduledPod, framework.Add).Label())
	}
}

func (s *Scheduler) addAssigned(t *sim.Task, pod *corev1.Pod) {
	s.cache.setPod(pod)
	s.queue.happened(t, event(framework.AssignedPod, framework.Add), nil, pod)
}

func (s *Scheduler) updatePod(t *sim.Task, old, pod *corev1.Pod) {
	switch {
	case old.UID != pod.UID:
		// Deleted and made again between two events.
		s.deletePod(t, old)
		s.addPod(t, pod)
	case assigned(old):
		s.cache.setPod(pod)
		for _, e := range framework.PodChanges(old, pod, framework.AssignedPod) {
			s.queue.happened(t, e, old, pod)
		}
	case assigned(pod):
		// The binding, by this scheduler or by somebody else.
		s.nominator.remove(framework.PodKey(pod))
		s.addAssigned(t, pod)
		s.queue.remove(t, pod, event(framework.AssignedPod, framework.Add).Label())
	case s.mine(pod) && old.ResourceVersion != pod.ResourceVersion:
		if s.cache.isAssumed(pod) {
			if pod.DeletionTimestamp != nil && old.DeletionTimestamp == nil {
				s.assumedGone(t, pod)
			}
			return
		}
		s.queue.update(t, old, pod)
	}
}

func (s *Scheduler) deletePod(t *sim.Task, pod *corev1.Pod) {
	s.nominator.remove(framework.PodKey(pod))
	delete(s.preempting, pod.UID)
	switch {
	case assigned(pod):
		s.queue.remove(t, pod, event(framework.UnscheduledPod, framework.Delete).Label())
		s.cache.remove(pod)
		s.queue.happened(t, event(framework.AssignedPod, framework.Delete), pod, nil)
	case s.mine(pod):
		s.queue.remove(t, pod, event(framework.UnscheduledPod, framework.Delete).Label())
		if s.cache.isAssumed(pod) {
			s.assumedGone(t, pod)
		}
	}
}

// assumedGone releases what was reserved for a pod that is deleted while it waits at Permit, which
// ends its waiting, or while it is being bound: the binding goes on and fails.
//
// Mirrors pkg/scheduler/eventhandlers.go handleAssumedPodDeletion.
func (s *Scheduler) assumedGone(t *sim.Task, pod *corev1.Pod) {
	there := s.cache.pods[framework.PodKey(pod)].info.Pod
	if w := s.waiting[pod.UID]; w == nil || !w.reject("", "removed", t.Causes()) {
		s.cache.forget(pod)
	}
	s.queue.happened(t, event(framework.AssignedPod, framework.Delete), there, nil)
}
