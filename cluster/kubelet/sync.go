package kubelet

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

var errNetworkNotReady = errors.New("network is not ready")

// syncPod brings one pod towards what its spec asks: pkg/kubelet/kubelet.go
// SyncPod. It may be called any number of times; each call does what is
// missing, in this order:
//
//	status → admission (once) → network ready? → volumes mounted →
//	sandbox (CNI inside) → each container: back-off, image, create, start → status
//
// terminal means that every container has ended for good.
func (w *worker) syncPod(t *sim.Task) (terminal bool, err error) {
	kl := w.kl
	if !w.admitted {
		if !w.admit(t) {
			return true, nil
		}
		w.admitted = true
	}
	rs, err := w.runtimeStatus()
	if err != nil {
		return false, err
	}
	status := w.generateStatus(t, rs, false)
	w.setStatus(t, status)
	if status.Phase == corev1.PodSucceeded || status.Phase == corev1.PodFailed {
		return true, nil
	}
	if !w.pod.Spec.HostNetwork && !kl.rt.NetworkReady() {
		kl.event(t, w.pod, corev1.EventTypeWarning, "NetworkNotReady",
			"network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized")
		return false, errNetworkNotReady
	}
	if err := w.mountVolumes(t); err != nil {
		return false, err
	}
	w.startProbes(t, rs)
	did, err := w.act(t, rs)
	if (did || err != nil) && w.phase == syncing {
		// What the sync has changed, or why it could not, is reported at once, and
		// seen at once (PLEGOnDemandRelist).
		if rs, e := w.runtimeStatus(); e == nil {
			status = w.generateStatus(t, rs, false)
			w.setStatus(t, status)
			w.startProbes(t, rs)
			if err == nil {
				w.seen(rs, status.Phase)
			}
		}
	}
	return false, err
}

// seen is the look at the runtime after a sync that went well. Upstream's PLEG
// then has another sync for every container that was started; here only where
// there is something to do: the next container after a sidecar, or one that has
// ended meanwhile.
func (w *worker) seen(rs runtime.PodStatus, phase corev1.PodPhase) {
	changed := w.kl.relist.seen(w.uid)
	do := w.computeActions(rs)
	if over(phase) || do.createSandbox || len(do.toKill)+len(do.initToStart)+len(do.toStart) > 0 {
		w.wake("PLEG", changed...)
	}
}

// act does what computeActions found to do (kuberuntime_manager.go SyncPod). did
// reports whether it did anything; err joins what failed.
func (w *worker) act(t *sim.Task, rs runtime.PodStatus) (did bool, err error) {
	kl, pod, do := w.kl, w.pod, w.computeActions(rs) // the pod's object may be another when a container is started
	w.reasons = map[string]startError{}
	if do.createSandbox && do.sandboxID != "" {
		kl.event(t, w.pod, corev1.EventTypeNormal, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
	}
	if do.killPod {
		if len(rs.Sandboxes) > 0 {
			did = true
			if err := w.killPod(t, rs, w.gracePeriod()); err != nil {
				return did, err
			}
		}
	} else {
		for _, k := range do.toKill {
			did = true
			if err := w.killContainer(t, k.c, k.message, k.grace); err != nil {
				return did, err
			}
		}
	}
	sandbox := do.sandboxID
	if do.createSandbox {
		did = true
		if sandbox, err = w.createSandbox(t, do.attempt); err != nil {
			return did, err
		}
		// An address is worth telling at once (kubelet.go OnPodSandboxReady).
		if rs, err = w.runtimeStatus(); err != nil {
			return did, err
		}
		w.setStatus(t, w.generateStatus(t, rs, false))
	}
	// Containers are started one after another, but each because of what came
	// before all of them; what follows is because of all.
	var errs []error
	var ends []trace.ID
	before := t.Causes()
	defer func() {
		if len(ends) > 0 {
			t.SetCauses(ends[max(0, len(ends)-maxCauses):]...)
		}
	}()
	for _, i := range do.initToStart {
		if w.phase != syncing {
			return did, errors.Join(errs...)
		}
		c := &pod.Spec.InitContainers[i]
		t.SetCauses(before...)
		d, err := w.startContainer(t, sandbox, c, rs, true)
		ends = append(ends, t.Causes()...)
		did = did || d
		if err != nil {
			errs = append(errs, err)
			if !isSidecar(c) {
				return did, errors.Join(errs...)
			}
		}
	}
	for _, i := range do.toStart {
		if w.phase != syncing {
			break
		}
		t.SetCauses(before...)
		d, err := w.startContainer(t, sandbox, &pod.Spec.Containers[i], rs, false)
		ends = append(ends, t.Causes()...)
		did = did || d
		if err != nil {
			errs = append(errs, err)
		}
	}
	return did, joinWaits(errs)
}

// joinWaits joins errors and keeps the soonest known end of a wait.
func joinWaits(errs []error) error {
	var soonest *waitError
	for _, err := range errs {
		var wait *waitError
		if !errors.As(err, &wait) {
			return errors.Join(errs...)
		}
		if soonest == nil || wait.until.Before(soonest.until) {
			soonest = wait
		}
	}
	if soonest != nil {
		return soonest
	}
	return nil
}

// createSandbox makes the pod's sandbox.
func (w *worker) createSandbox(t *sim.Task, attempt uint32) (string, error) {
	hostname := w.pod.Spec.Hostname
	if hostname == "" {
		hostname = w.pod.Name
	}
	id, err := w.kl.rt.RunPodSandbox(t, runtime.SandboxConfig{
		PodUID: w.uid, Namespace: w.pod.Namespace, Name: w.pod.Name, Attempt: attempt,
		Hostname: hostname, HostNetwork: w.pod.Spec.HostNetwork, HostIP: w.kl.cfg.Address,
		ServiceAccount: w.pod.Spec.ServiceAccountName,
	})
	if err != nil {
		if w.phase == syncing {
			w.kl.event(t, w.pod, corev1.EventTypeWarning, "FailedCreatePodSandBox", "Failed to create pod sandbox: %v", err)
		}
		return "", fmt.Errorf("failed to create pod sandbox: %w", err)
	}
	return id, nil
}

// gracePeriod is what containers get when the kubelet itself ends them.
func (w *worker) gracePeriod() int64 {
	if g := w.pod.Spec.TerminationGracePeriodSeconds; g != nil {
		return *g
	}
	return corev1.DefaultTerminationGracePeriodSeconds
}

// relist is the pod lifecycle event generator (pkg/kubelet/pleg/generic.go): once
// a second it compares what runs with what it saw. Here the runtime says which
// pods changed, so a second without a change costs nothing; the change is
// noticed at the same time.
type relist struct {
	kl      *Kubelet
	changed map[string][]trace.ID
	order   []string
	timer   *sim.Timer
}

// relistPeriod is upstream's genericPlegRelistPeriod.
const relistPeriod = 1e9 // 1 s

func (r *relist) init(kl *Kubelet) { r.kl, r.changed = kl, map[string][]trace.ID{} }

// runtimeChanged is the runtime telling that something changed.
func (kl *Kubelet) runtimeChanged(uid string, cause trace.ID) {
	if !kl.p.Alive() {
		return
	}
	if uid == "" {
		kl.node.check("network", cause)
		return
	}
	r := &kl.relist
	if _, known := r.changed[uid]; !known {
		r.order = append(r.order, uid)
	}
	r.changed[uid] = append(r.changed[uid], cause)
	r.plan()
}

func (r *relist) plan() {
	if r.timer != nil {
		return
	}
	since := r.kl.k.Elapsed() - r.kl.started
	r.timer = r.kl.k.After(relistPeriod-since%relistPeriod, r.tick)
}

// seen says that the worker has looked at its pod by itself, and gives the
// changes that the next relist would have told it of.
func (r *relist) seen(uid string) []trace.ID {
	changed, ok := r.changed[uid]
	if !ok {
		return nil
	}
	delete(r.changed, uid)
	for i, o := range r.order {
		if o == uid {
			r.order = append(r.order[:i:i], r.order[i+1:]...)
			break
		}
	}
	return changed
}

func (r *relist) tick() {
	r.timer = nil
	if !r.kl.p.Alive() {
		return
	}
	if !r.kl.rt.Running() { // nothing can be seen; look again
		r.plan()
		return
	}
	for _, uid := range r.order {
		if w := r.kl.workers[uid]; w != nil && w.phase == syncing {
			w.wake("PLEG", r.changed[uid]...)
		}
	}
	clear(r.changed)
	r.order = r.order[:0]
}
