package kubelet

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/runtime"
	"kviz/cluster/sim"
)

// owned are the conditions the kubelet writes (pkg/kubelet/types/pod_status.go
// PodConditionByKubelet). Others belong to the scheduler and to readiness gates
// and are kept.
var owned = []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled}

func isOwned(t corev1.PodConditionType) bool {
	for _, o := range owned {
		if o == t {
			return true
		}
	}
	return false
}

// setConditions fills in the pod's conditions (pkg/kubelet/status/generate.go).
func (w *worker) setConditions(t *sim.Task, s, old *corev1.PodStatus, rs runtime.PodStatus) {
	s.Conditions = slices.Grow(s.Conditions, len(owned))
	for _, c := range w.pod.Status.Conditions {
		if !isOwned(c.Type) {
			s.Conditions = append(s.Conditions, c)
		}
	}
	add := func(typ corev1.PodConditionType, status corev1.ConditionStatus, reason, message string) {
		c := corev1.PodCondition{
			Type: typ, Status: status, Reason: reason, Message: message, ObservedGeneration: w.pod.Generation,
			LastTransitionTime: seconds(t.Now()),
		}
		for _, o := range old.Conditions {
			if o.Type == typ && o.Status == status {
				c.LastTransitionTime = o.LastTransitionTime
			}
		}
		s.Conditions = append(s.Conditions, c)
	}
	sandbox := corev1.ConditionTrue
	changed, _, _, why := sandboxChanged(w.pod, rs)
	if changed {
		sandbox = corev1.ConditionFalse
		add(corev1.PodReadyToStartContainers, sandbox, "PodSandboxNotReady", why)
	} else {
		add(corev1.PodReadyToStartContainers, sandbox, "", "")
	}
	status, reason, message := w.initialized(s)
	add(corev1.PodInitialized, status, reason, message)
	cstatus, creason, cmessage := w.containersReady(s)
	status, reason, message = cstatus, creason, cmessage
	if status == corev1.ConditionTrue {
		status, reason, message = w.gatesReady(s)
	}
	add(corev1.PodReady, status, reason, message)
	add(corev1.ContainersReady, cstatus, creason, cmessage)
	add(corev1.PodScheduled, corev1.ConditionTrue, "", "")
}

func (w *worker) initialized(s *corev1.PodStatus) (corev1.ConditionStatus, string, string) {
	var incomplete []string
	for i := range w.pod.Spec.InitContainers {
		c := &w.pod.Spec.InitContainers[i]
		st := statusNamed(s.InitContainerStatuses, c.Name)
		if st == nil || isSidecar(c) && (st.Started == nil || !*st.Started) || !isSidecar(c) && !st.Ready {
			incomplete = append(incomplete, c.Name)
		}
	}
	switch {
	case s.Phase == corev1.PodSucceeded:
		return corev1.ConditionTrue, "PodCompleted", ""
	case len(incomplete) == 0, anyBegun(s):
		return corev1.ConditionTrue, "", ""
	}
	return corev1.ConditionFalse, "ContainersNotInitialized", fmt.Sprintf("containers with incomplete status: %s", incomplete)
}

// anyBegun reports whether a container that is no init container ever ran.
func anyBegun(s *corev1.PodStatus) bool {
	for _, st := range s.ContainerStatuses {
		if st.State.Running != nil || st.State.Terminated != nil || st.LastTerminationState.Terminated != nil || st.RestartCount > 0 {
			return true
		}
	}
	return false
}

func (w *worker) containersReady(s *corev1.PodStatus) (corev1.ConditionStatus, string, string) {
	switch s.Phase {
	case corev1.PodSucceeded:
		return corev1.ConditionFalse, "PodCompleted", ""
	case corev1.PodFailed:
		return corev1.ConditionFalse, "PodFailed", ""
	}
	var unready []string
	for i := range w.pod.Spec.InitContainers {
		if c := &w.pod.Spec.InitContainers[i]; isSidecar(c) {
			if st := statusNamed(s.InitContainerStatuses, c.Name); st == nil || !st.Ready {
				unready = append(unready, c.Name)
			}
		}
	}
	for i := range w.pod.Spec.Containers {
		if st := statusNamed(s.ContainerStatuses, w.pod.Spec.Containers[i].Name); st == nil || !st.Ready {
			unready = append(unready, w.pod.Spec.Containers[i].Name)
		}
	}
	if len(unready) > 0 {
		return corev1.ConditionFalse, "ContainersNotReady", fmt.Sprintf("containers with unready status: %s", unready)
	}
	return corev1.ConditionTrue, "", ""
}

// gatesReady asks the pod's readiness gates: conditions that others write.
func (w *worker) gatesReady(s *corev1.PodStatus) (corev1.ConditionStatus, string, string) {
	var unready []string
	for _, g := range w.pod.Spec.ReadinessGates {
		var found *corev1.PodCondition
		for i := range s.Conditions {
			if s.Conditions[i].Type == g.ConditionType {
				found = &s.Conditions[i]
			}
		}
		switch {
		case found == nil:
			unready = append(unready, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", string(g.ConditionType)))
		case found.Status != corev1.ConditionTrue:
			unready = append(unready, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", string(g.ConditionType), found.Status))
		}
	}
	if len(unready) > 0 {
		return corev1.ConditionFalse, "ReadinessGatesNotReady", strings.Join(unready, ", ")
	}
	return corev1.ConditionTrue, "", ""
}
