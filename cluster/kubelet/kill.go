package kubelet

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// minimumGrace is what every container gets between TERM and KILL
// (kuberuntime_container.go minimumGracePeriodInSeconds).
const minimumGrace = 2

// syncTerminating stops the pod's containers (kubelet.go SyncTerminatingPod).
func (w *worker) syncTerminating(t *sim.Task) error {
	rs, err := w.runtimeStatus()
	if err != nil {
		return err
	}
	w.setStatus(t, w.generateStatus(t, rs, false))
	w.quietProbes()
	w.killing = true
	err = w.killPod(t, rs, w.grace)
	w.killing = false
	if err != nil {
		w.kl.event(t, w.pod, corev1.EventTypeWarning, "FailedKillPod", "error killing pod: %v", err)
		return err
	}
	w.stopProbes()
	if rs, err = w.runtimeStatus(); err != nil {
		return err
	}
	w.kl.relist.seen(w.uid)
	w.setStatus(t, w.generateStatus(t, rs, true))
	return nil
}

// syncTerminated is what remains when nothing runs: volumes are unmounted, and
// the API object may go (kubelet.go SyncTerminatedPod).
func (w *worker) syncTerminated(t *sim.Task) {
	rs, err := w.runtimeStatus()
	if err == nil {
		w.setStatus(t, w.generateStatus(t, rs, true))
	}
	w.unmountVolumes(t)
	cause := t.Causes()
	if len(cause) > 0 {
		w.kl.statuses.add(w, cause[0])
	}
}

// killPod stops all containers side by side, then the sandbox
// (kuberuntime_manager.go killPodWithSyncResult).
func (w *worker) killPod(t *sim.Task, rs runtime.PodStatus, grace int64) error {
	var plain, sidecars []runtime.Container
	for _, c := range rs.Containers {
		if c.State != runtime.Running {
			continue
		}
		if spec := w.spec(c.Name); c.Init && spec != nil && isSidecar(spec) {
			sidecars = append(sidecars, c) // newest first: the reverse of their start
		} else {
			plain = append(plain, c)
		}
	}
	began := t.Now()
	err := w.killAll(t, plain, grace)
	for _, c := range sidecars {
		left := max(grace-int64(t.Now().Sub(began).Seconds()), minimumGrace)
		err = errors.Join(err, w.killContainer(t, c, "", left))
	}
	if err != nil {
		return err
	}
	for _, s := range rs.Sandboxes {
		if !s.Ready {
			continue
		}
		if err := w.kl.rt.StopPodSandbox(t, s.ID); err != nil {
			return fmt.Errorf("failed to stop sandbox %q: %w", s.ID, err)
		}
	}
	return nil
}

// killAll kills containers side by side and waits for all.
func (w *worker) killAll(t *sim.Task, cs []runtime.Container, grace int64) error {
	if len(cs) == 1 {
		return w.killContainer(t, cs[0], "", grace)
	}
	var done sim.Cond
	left, errs := len(cs), make([]error, len(cs))
	var ends []trace.ID
	for i, c := range cs {
		causes := t.Causes()
		w.kl.p.Go("kill "+w.key()+"/"+c.Name, func(kt *sim.Task) {
			kt.SetCauses(causes...)
			if broken := w.kl.contain(kt, w.pod, "the end of container "+c.Name, func() { errs[i] = w.killContainer(kt, c, "", grace) }); broken != nil {
				errs[i] = broken
			}
			ends = append(ends, kt.Causes()...)
			if left--; left == 0 {
				done.Signal()
			}
		})
	}
	for left > 0 {
		done.Wait(t)
	}
	if len(ends) > 0 {
		t.SetCauses(ends[max(0, len(ends)-maxCauses):]...)
	}
	return errors.Join(errs...)
}

// spec is the spec of one of the pod's containers, nil if it has none of the
// name.
func (w *worker) spec(name string) *corev1.Container {
	for i := range w.pod.Spec.InitContainers {
		if w.pod.Spec.InitContainers[i].Name == name {
			return &w.pod.Spec.InitContainers[i]
		}
	}
	for i := range w.pod.Spec.Containers {
		if w.pod.Spec.Containers[i].Name == name {
			return &w.pod.Spec.Containers[i]
		}
	}
	return nil
}

// killContainer is preStop, TERM, grace, KILL. The grace includes preStop, but
// at least two seconds remain for TERM (kuberuntime_container.go
// killContainer).
func (w *worker) killContainer(t *sim.Task, c runtime.Container, message string, grace int64) error {
	if message == "" {
		message = "Stopping container " + c.Name
	}
	w.kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeNormal, "Killing", "%s", message)
	if spec := w.spec(c.Name); spec != nil && spec.Lifecycle != nil && spec.Lifecycle.PreStop != nil && grace > 0 {
		began := t.Now()
		if err := w.runHook(t, spec, c.ID, spec.Lifecycle.PreStop, time.Duration(grace)*time.Second); err != nil {
			w.kl.containerEvent(t, w.pod, c.Name, corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed")
		}
		grace -= int64(t.Now().Sub(began).Seconds())
	}
	return w.kl.rt.StopContainer(t, c.ID, time.Duration(max(grace, minimumGrace))*time.Second)
}

// runHook runs a postStart or preStop handler (pkg/kubelet/lifecycle/handlers.go).
// limit 0 is none.
func (w *worker) runHook(t *sim.Task, c *corev1.Container, id string, h *corev1.LifecycleHandler, limit time.Duration) error {
	switch {
	case h.Exec != nil:
		res, err := w.kl.rt.Exec(t, id, h.Exec.Command, limit)
		if err != nil {
			return err
		}
		if res.Code != 0 {
			return fmt.Errorf("command '%v' exited with %d: %s", h.Exec.Command, res.Code, res.Stderr)
		}
	case h.HTTPGet != nil:
		ip := h.HTTPGet.Host
		if ip == "" {
			ip = w.status.PodIP
		}
		port, err := portOf(h.HTTPGet.Port, c)
		if err != nil {
			return err
		}
		if a := w.kl.rt.Connect(ip, port, h.HTTPGet.Path); !a.Accepted {
			return fmt.Errorf("Get %q: dial tcp %s:%d: connect: connection refused", "http://"+ip+h.HTTPGet.Path, ip, port)
		}
	case h.Sleep != nil:
		d := time.Duration(h.Sleep.Seconds) * time.Second
		if limit > 0 {
			d = min(d, limit)
		}
		t.Sleep(d)
	}
	return nil
}
