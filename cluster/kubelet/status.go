package kubelet

import (
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/registry"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
)

// generateStatus is what the API object should say of the pod now
// (kubelet_pods.go generateAPIPodStatus). terminal says that nothing runs any
// more and nothing will.
func (w *worker) generateStatus(t *sim.Task, rs runtime.PodStatus, terminal bool) corev1.PodStatus {
	pod, old := w.pod, &w.pod.Status
	if w.set {
		old = &w.status
	}
	if w.rejected {
		return *old // no container of it was ever looked at
	}
	s := corev1.PodStatus{
		ObservedGeneration:    pod.Generation,
		QOSClass:              qosOf(pod),
		StartTime:             old.StartTime,
		HostIP:                w.kl.cfg.Address,
		HostIPs:               []corev1.HostIP{{IP: w.kl.cfg.Address}},
		NominatedNodeName:     pod.Status.NominatedNodeName,
		ResourceClaimStatuses: pod.Status.ResourceClaimStatuses,
	}
	if s.StartTime == nil {
		now := metav1.NewTime(t.Now()).Rfc3339Copy()
		s.StartTime = &now
	}
	w.setAddresses(&s, rs, old)
	restarting := len(pod.Spec.InitContainers) > 0
	s.InitContainerStatuses = w.containerStatuses(rs, pod.Spec.InitContainers, old.InitContainerStatuses, true, restarting)
	s.ContainerStatuses = w.containerStatuses(rs, pod.Spec.Containers, old.ContainerStatuses, false, restarting)
	s.Phase = phaseOf(pod, &s, terminal)
	keepPhase(pod, &s, old)
	w.readiness(&s)
	w.setConditions(t, &s, old, rs)
	return s
}

// over reports whether a phase is a last one.
func over(p corev1.PodPhase) bool { return p == corev1.PodFailed || p == corev1.PodSucceeded }

// keepPhase holds that a pod does not leave a terminal phase, and that its
// reason stays with the phase.
func keepPhase(pod *corev1.Pod, s, old *corev1.PodStatus) {
	switch {
	case over(pod.Status.Phase):
		s.Phase = pod.Status.Phase
	case over(old.Phase):
		s.Phase = old.Phase
	}
	if s.Phase == old.Phase {
		s.Reason, s.Message = old.Reason, old.Message
	}
}

func (w *worker) setAddresses(s *corev1.PodStatus, rs runtime.PodStatus, old *corev1.PodStatus) {
	switch {
	case w.pod.Spec.HostNetwork:
		s.PodIP = w.kl.cfg.Address
	case len(rs.Sandboxes) > 0 && rs.Sandboxes[0].Ready:
		s.PodIP = rs.Sandboxes[0].IP
	default:
		s.PodIP = old.PodIP // kept, so that the last address can be read
	}
	if s.PodIP != "" {
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	}
}

// containerStatuses are the statuses of one list of containers
// (kubelet_pods.go convertToAPIContainerStatuses).
func (w *worker) containerStatuses(rs runtime.PodStatus, specs []corev1.Container, old []corev1.ContainerStatus, init, hasInit bool) []corev1.ContainerStatus {
	if len(specs) == 0 {
		return nil
	}
	out := make([]corev1.ContainerStatus, 0, len(specs))
	for i := range specs {
		out = append(out, w.containerStatus(rs, &specs[i], statusNamed(old, specs[i].Name), init, hasInit))
	}
	if !init {
		sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	}
	return out
}

func (w *worker) containerStatus(rs runtime.PodStatus, c *corev1.Container, old *corev1.ContainerStatus, init, hasInit bool) corev1.ContainerStatus {
	waiting := "ContainerCreating"
	if hasInit {
		waiting = "PodInitializing"
	}
	s := corev1.ContainerStatus{
		Name: c.Name, Image: c.Image,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waiting}},
	}
	if old != nil {
		s.RestartCount, s.LastTerminationState = old.RestartCount, old.LastTerminationState
	}
	seen := 0
	for i := range rs.Containers {
		con := &rs.Containers[i]
		if con.Name != c.Name {
			continue
		}
		if seen++; seen == 1 {
			s.State = stateOf(con)
			s.RestartCount, s.Image, s.ImageID, s.ContainerID = con.Attempt, imageName(con.Image), con.ImageRef, "containerd://"+con.ID
			s.Resources, s.AllocatedResources = resourcesOf(c), c.Resources.Requests
		} else if seen == 2 {
			s.LastTerminationState = stateOf(con)
		}
	}
	if seen == 0 && old != nil && old.State.Terminated != nil && (init || over(w.pod.Status.Phase)) {
		return *old // the runtime has forgotten it, the API has not
	}
	if seen == 0 && old != nil && old.State.Running != nil {
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			Reason: "ContainerStatusUnknown", ExitCode: 137,
			Message: "The container could not be located when the pod was deleted.  The container used to be Running",
		}
	}
	if why, ok := w.reasons[c.Name]; ok && shouldStart(w.pod, c, init, rs) {
		if s.State.Terminated != nil {
			s.LastTerminationState = s.State
		}
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: why.reason, Message: why.message}}
	}
	return s
}

func stateOf(c *runtime.Container) corev1.ContainerState {
	switch c.State {
	case runtime.Running:
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: seconds(c.StartedAt)}}
	case runtime.Exited:
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: c.ExitCode, Reason: c.Reason, Message: c.Message,
			StartedAt: seconds(c.StartedAt), FinishedAt: seconds(c.FinishedAt), ContainerID: "containerd://" + c.ID,
		}}
	}
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
}

// seconds is a time as the API stores it.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t).Rfc3339Copy() }

func statusNamed(list []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

func resourcesOf(c *corev1.Container) *corev1.ResourceRequirements {
	if len(c.Resources.Requests) == 0 && len(c.Resources.Limits) == 0 {
		return nil
	}
	return &corev1.ResourceRequirements{Requests: c.Resources.Requests, Limits: c.Resources.Limits}
}

// readiness fills in started and ready from the probes
// (prober_manager.go UpdatePodStatus).
func (w *worker) readiness(s *corev1.PodStatus) {
	for i := range s.ContainerStatuses {
		w.containerReadiness(&s.ContainerStatuses[i])
	}
	for i := range s.InitContainerStatuses {
		st := &s.InitContainerStatuses[i]
		if c := w.spec(st.Name); c != nil && isSidecar(c) {
			w.containerReadiness(st)
			continue
		}
		started := st.State.Running != nil
		st.Started = &started
		st.Ready = st.State.Terminated != nil && st.State.Terminated.ExitCode == 0
	}
}

func (w *worker) containerReadiness(st *corev1.ContainerStatus) {
	c := w.spec(st.Name)
	started, ready := false, false
	if c != nil && st.State.Running != nil {
		id := st.ContainerID[len("containerd://"):]
		started = c.StartupProbe == nil || w.probeSucceeded(c.Name, startup, id)
		ready = started && (c.ReadinessProbe == nil || w.probeSucceeded(c.Name, readiness, id))
	}
	st.Started, st.Ready = &started, ready
}

// imageName is the name a status shows: the full one with its tag.
func imageName(ref string) string {
	full, err := registry.Normalize(ref)
	if err != nil {
		return ref
	}
	return full
}
