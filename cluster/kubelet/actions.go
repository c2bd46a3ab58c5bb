package kubelet

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/runtime"
)

// actions is what a sync has to do, in this order (kuberuntime_manager.go
// podActions).
type actions struct {
	killPod       bool
	createSandbox bool
	sandboxID     string
	attempt       uint32
	toKill        []kill
	initToStart   []int
	toStart       []int
}

type kill struct {
	c       runtime.Container
	message string
	grace   int64
}

// sandboxChanged reports whether the pod needs a new sandbox, and why
// (kuberuntime/util PodSandboxChanged).
func sandboxChanged(pod *corev1.Pod, rs runtime.PodStatus) (changed bool, attempt uint32, id, reason string) {
	if len(rs.Sandboxes) == 0 {
		return true, 0, "", "No sandbox for pod can be found. Need to start a new one"
	}
	s := rs.Sandboxes[0]
	switch {
	case !s.Ready:
		return true, s.Attempt + 1, s.ID, "No ready sandbox for pod can be found. Need to start a new one"
	case s.IP == "" && !pod.Spec.HostNetwork:
		return true, s.Attempt + 1, s.ID, "Pod sandbox found without IP address"
	}
	return false, s.Attempt, s.ID, ""
}

// latest is the newest container of a name, nil if there is none.
func latest(rs runtime.PodStatus, name string) *runtime.Container {
	for i := range rs.Containers {
		if rs.Containers[i].Name == name {
			return &rs.Containers[i]
		}
	}
	return nil
}

func isSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// restarts reports whether a container that ended with code runs again: by the first of its own
// rules that means this code, else by its own policy, else by the pod's (podutil.ContainerShouldRestart).
// That all containers start again for one's sake is not simulated.
func restarts(pod *corev1.Pod, c *corev1.Container, init bool, code int32) bool {
	if c.RestartPolicy != nil {
		if rule := restartRule(c, code); rule != nil && rule.Action == corev1.ContainerRestartRuleActionRestart {
			return true
		}
		switch *c.RestartPolicy {
		case corev1.ContainerRestartPolicyAlways:
			return true
		case corev1.ContainerRestartPolicyOnFailure:
			return code != 0
		case corev1.ContainerRestartPolicyNever:
			return false
		}
	}
	switch pod.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	}
	return !init || code != 0
}

// restartRule is the first of a container's rules that means an exit code; nil for none
// (podutil.FindMatchingContainerRestartRule).
func restartRule(c *corev1.Container, code int32) *corev1.ContainerRestartRule {
	for i := range c.RestartPolicyRules {
		r := &c.RestartPolicyRules[i]
		if r.ExitCodes == nil {
			continue
		}
		among := slices.Contains(r.ExitCodes.Values, code)
		switch r.ExitCodes.Operator {
		case corev1.ContainerRestartRuleOnExitCodesOpIn:
			if among {
				return r
			}
		case corev1.ContainerRestartRuleOnExitCodesOpNotIn:
			if !among {
				return r
			}
		}
	}
	return nil
}

// shouldStart reports whether a container that does not run has to
// (kubecontainer.ShouldContainerBeRestarted).
func shouldStart(pod *corev1.Pod, c *corev1.Container, init bool, rs runtime.PodStatus) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	st := latest(rs, c.Name)
	if st == nil || st.State == runtime.Created {
		return true
	}
	return st.State == runtime.Exited && restarts(pod, c, init, st.ExitCode)
}

// anyRegular reports whether a container that is no init container exists.
func anyRegular(pod *corev1.Pod, rs runtime.PodStatus) bool {
	for i := range pod.Spec.Containers {
		if latest(rs, pod.Spec.Containers[i].Name) != nil {
			return true
		}
	}
	return false
}

// computeActions compares the pod's spec with what runs
// (kuberuntime_manager.go computePodActions).
func (w *worker) computeActions(rs runtime.PodStatus) actions {
	pod := w.pod
	create, attempt, id, _ := sandboxChanged(pod, rs)
	do := actions{killPod: create, createSandbox: create, sandboxID: id, attempt: attempt}
	if create {
		w.startAnew(&do, rs)
		return do
	}
	if !w.initActions(&do, rs) {
		return do
	}
	keep := 0
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		st := latest(rs, c.Name)
		if st == nil || st.State != runtime.Running {
			if shouldStart(pod, c, false, rs) {
				do.toStart = append(do.toStart, i)
			}
			continue
		}
		message, restart, grace := w.unwanted(c, st, "Container")
		if message == "" {
			keep++
			continue
		}
		if restart {
			message += ", will be restarted"
			do.toStart = append(do.toStart, i)
		}
		do.toKill = append(do.toKill, kill{*st, message, grace})
	}
	if keep == 0 && len(do.toStart) == 0 {
		do.killPod, do.initToStart = true, nil
	}
	return do
}

// startAnew is a pod without a sandbox: everything begins again, unless it is
// done.
func (w *worker) startAnew(do *actions, rs runtime.PodStatus) {
	pod := w.pod
	if pod.Spec.RestartPolicy == corev1.RestartPolicyNever && do.attempt != 0 && len(rs.Containers) > 0 {
		do.createSandbox = false
		return
	}
	for i := range pod.Spec.Containers {
		st := latest(rs, pod.Spec.Containers[i].Name)
		once := pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure
		if own := pod.Spec.Containers[i].RestartPolicy; own != nil {
			once = *own == corev1.ContainerRestartPolicyOnFailure
		}
		if once && st != nil && st.State == runtime.Exited && st.ExitCode == 0 {
			continue
		}
		do.toStart = append(do.toStart, i)
	}
	if len(do.toStart) == 0 && anyRegular(pod, rs) {
		do.createSandbox = false
		return
	}
	if len(pod.Spec.InitContainers) > 0 {
		do.initToStart, do.toStart = []int{0}, nil
	}
}

// unwanted says why a running container has to go, "" if it is fine.
func (w *worker) unwanted(c *corev1.Container, st *runtime.Container, kind string) (message string, restart bool, grace int64) {
	restart = w.pod.Spec.RestartPolicy != corev1.RestartPolicyNever
	if c.RestartPolicy != nil { // its rules are about exit codes, and it still runs
		restart = *c.RestartPolicy != corev1.ContainerRestartPolicyNever
	}
	grace = w.gracePeriod()
	switch {
	case st.Hash != hashOf(c):
		return fmt.Sprintf("%s %s definition changed", kind, c.Name), true, grace
	case w.probeFailed(c.Name, liveness, st.ID):
		return fmt.Sprintf("%s %s failed liveness probe", kind, c.Name), restart, probeGrace(c.LivenessProbe, grace)
	case w.probeFailed(c.Name, startup, st.ID):
		return fmt.Sprintf("%s %s failed startup probe", kind, c.Name), restart, probeGrace(c.StartupProbe, grace)
	}
	return "", false, grace
}

func probeGrace(p *corev1.Probe, grace int64) int64 {
	if p != nil && p.TerminationGracePeriodSeconds != nil {
		return *p.TerminationGracePeriodSeconds
	}
	return grace
}

// hashOf changes when the kubelet has to restart a container for a change of
// its spec (kubecontainer.HashContainer).
func hashOf(c *corev1.Container) string { return c.Name + "=" + c.Image }

// initActions decides about init containers and sidecars, in order
// (kuberuntime_container.go computeInitContainerActions). It reports whether the
// pod is initialized.
func (w *worker) initActions(do *actions, rs runtime.PodStatus) bool {
	pod := w.pod
	begun := anyRegular(pod, rs) // then every plain init container has succeeded
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		st := latest(rs, c.Name)
		if isSidecar(c) {
			if !w.sidecar(do, rs, i) && !begun {
				return false
			}
			continue
		}
		switch {
		case begun:
		case st == nil || st.State == runtime.Created:
			do.initToStart = append(do.initToStart, i)
			return false
		case st.State == runtime.Running:
			if st.Hash != hashOf(c) {
				do.toKill = append(do.toKill, kill{*st, fmt.Sprintf("Init container %s definition changed", c.Name), w.gracePeriod()})
				do.initToStart = append(do.initToStart, i)
			}
			return false
		case st.ExitCode != 0:
			if restarts(pod, c, true, st.ExitCode) {
				do.initToStart = append(do.initToStart, i)
			} else {
				do.killPod = true
			}
			return false
		}
	}
	return true
}

// sidecar decides about one restartable init container and reports whether the
// next ones may start.
func (w *worker) sidecar(do *actions, rs runtime.PodStatus, i int) bool {
	c := &w.pod.Spec.InitContainers[i]
	st := latest(rs, c.Name)
	if st == nil || st.State != runtime.Running {
		do.initToStart = append(do.initToStart, i)
		return false
	}
	if message, _, grace := w.unwanted(c, st, "Init container"); message != "" {
		do.toKill = append(do.toKill, kill{*st, message, grace})
		do.initToStart = append(do.initToStart, i)
		return false
	}
	return c.StartupProbe == nil || w.probeSucceeded(c.Name, startup, st.ID)
}
