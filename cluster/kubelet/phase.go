package kubelet

import (
	corev1 "k8s.io/api/core/v1"
)

// phaseOf sums up the containers in one word (kubelet_pods.go getPhase):
//
//	init containers or containers still to start   Pending
//	something runs                                 Running
//	all ended, some will run again                 Running
//	all ended with 0                               Succeeded
//	all ended, one not with 0, none runs again     Failed
//	an init container failed for good              Failed
func phaseOf(pod *corev1.Pod, s *corev1.PodStatus, terminal bool) corev1.PodPhase {
	pendingInit, failedInit := initCounts(pod, s)
	var unknown, running, waiting, stopped, final, succeeded int
	begun := false
	for i := range s.ContainerStatuses {
		st := &s.ContainerStatuses[i]
		c := specNamed(pod.Spec.Containers, st.Name)
		begun = begun || st.State.Running != nil || st.State.Terminated != nil || st.LastTerminationState.Terminated != nil
		ended := st.State.Terminated
		switch {
		case st.State.Running != nil:
			running++
			continue
		case ended != nil && ended.ExitCode == 0:
			succeeded++
		case ended == nil:
			if ended = st.LastTerminationState.Terminated; ended == nil {
				waiting++
				continue
			}
		}
		stopped++
		if c != nil && !restarts(pod, c, false, ended.ExitCode) {
			final++
		}
	}
	unknown = len(pod.Spec.Containers) - len(s.ContainerStatuses)
	switch {
	case failedInit:
		return corev1.PodFailed
	case pendingInit && !begun, waiting > 0:
		return corev1.PodPending
	case running > 0 && unknown == 0:
		return corev1.PodRunning
	case stopped > 0 && unknown == 0:
		switch {
		case !terminal && stopped != final:
			return corev1.PodRunning
		case stopped == succeeded:
			return corev1.PodSucceeded
		}
		return corev1.PodFailed
	}
	return corev1.PodPending
}

// initCounts reports whether init containers are still to do, and whether one
// has failed for good.
func initCounts(pod *corev1.Pod, s *corev1.PodStatus) (pending, failed bool) {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		st := statusNamed(s.InitContainerStatuses, c.Name)
		if isSidecar(c) {
			pending = pending || st == nil || st.State.Running == nil && st.LastTerminationState.Terminated == nil && st.State.Terminated == nil
			continue
		}
		var ended *corev1.ContainerStateTerminated
		if st != nil {
			if ended = st.State.Terminated; ended == nil && st.State.Waiting != nil {
				ended = st.LastTerminationState.Terminated
			}
		}
		switch {
		case ended == nil:
			pending = true
		case ended.ExitCode != 0:
			if !restarts(pod, c, true, ended.ExitCode) {
				failed = true
			}
			pending = true
		}
	}
	return pending, failed
}

func specNamed(list []corev1.Container, name string) *corev1.Container {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// qosOf is the pod's quality of service class
// (pkg/apis/core/v1/helper/qos ComputePodQOS): Guaranteed when every container
// has limits for cpu and memory equal to its requests, BestEffort when none has
// either, else Burstable.
func qosOf(pod *corev1.Pod) corev1.PodQOSClass {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	any, all := false, true
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			r := &list[i].Resources
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				req, hasReq := r.Requests[name]
				lim, hasLim := r.Limits[name]
				any = any || hasReq && !req.IsZero() || hasLim && !lim.IsZero()
				all = all && hasLim && !lim.IsZero() && (!hasReq || req.Cmp(lim) == 0)
			}
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case all:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}
