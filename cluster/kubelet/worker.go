package kubelet

import (
	"errors"
	"maps"
	"strconv"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/runtime"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// phase of a pod worker (pkg/kubelet/pod_workers.go PodWorkerState). It only
// moves forward.
type phase uint8

const (
	syncing     phase = iota // make it run
	terminating              // stop its containers
	terminated               // containers are gone: clean up, let the object go
	finished                 // nothing left but to wait for the object's removal
)

var phaseNames = [...]string{"sync", "terminating", "terminated", "finished"}

// worker is the pod worker of one pod: all that is done to a pod is done here,
// one thing at a time. Its task exists only while there is work.
type worker struct {
	kl  *Kubelet
	uid string
	pod *corev1.Pod // newest from the API server; shared

	phase   phase
	busy    bool       // the task runs
	pending bool       // there is work
	causes  []trace.ID // events that made the work
	why     string     // what brought it: "add", "PLEG", "liveness probe", …
	timer   *sim.Timer // next sync without a cause

	admitted   bool
	rejected   bool
	gone       bool // the API object is gone
	grace      int64
	killing    bool
	mounted    bool
	claims     []*claimed // what the pod's claims are bound to, once it is known
	larger     bool       // a claim's disk has become larger
	mountFails int
	mountRetry time.Duration                             // until volumes that could not be renewed are tried again; 0 if all were
	contents   map[string][]string                       // versions of what volumes were last written from, by name
	uses       map[string]bool                           // ConfigMaps and Secrets, see config
	trusts     map[anchorsKey]bool                       // what of ClusterTrustBundles, see trustAnchors
	tokens     map[string]*authenticationv1.TokenRequest // that were asked for, by audience and time

	status  corev1.PodStatus // as the status manager has it
	set     bool             // status is set
	written corev1.PodStatus // as the API server has it, as far as we know
	// revision is the newest one whose status is in written.
	revision int64
	dirty    bool
	later    bool // what could not be written is tried again
	deleted  bool // the final delete was sent

	reasons map[string]startError // why a container could not be started
	probes  map[string]*prober    // by container and probe
}

func newWorker(kl *Kubelet, pod *corev1.Pod) *worker {
	return &worker{kl: kl, uid: string(pod.UID), pod: pod, written: pod.Status, reasons: map[string]startError{}, probes: map[string]*prober{}, contents: map[string][]string{}, uses: map[string]bool{}, trusts: map[anchorsKey]bool{}}
}

func revisionOf(pod *corev1.Pod) int64 {
	n, err := strconv.ParseInt(pod.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func apiUID(s string) types.UID { return types.UID(s) }

func (w *worker) key() string { return w.pod.Namespace + "/" + w.pod.Name }

// update takes the pod's newest object.
func (w *worker) update(pod *corev1.Pod, why trace.ID) {
	first := !w.set && !w.busy && w.phase == syncing
	specChanged := w.pod.Generation != pod.Generation || w.pod.DeletionTimestamp == nil && pod.DeletionTimestamp != nil
	gates := len(pod.Spec.ReadinessGates) > 0 && !equality.Semantic.DeepEqual(w.pod.Status.Conditions, pod.Status.Conditions)
	told := hasDownward(pod) && (!maps.Equal(w.pod.Labels, pod.Labels) || !maps.Equal(w.pod.Annotations, pod.Annotations))
	w.pod = pod
	if rv := revisionOf(pod); rv >= w.revision {
		// Newer than what this kubelet wrote: somebody else may have written, as
		// the node lifecycle controller does for a node it cannot hear.
		w.written, w.revision = pod.Status, rv
		if w.set && statusPatch(w.uid, &w.written, &w.status) != nil {
			w.kl.statuses.add(w, why)
		}
	}
	switch {
	case pod.DeletionTimestamp != nil:
		w.terminate(graceOf(pod), why, "delete")
	case first && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed):
		w.terminate(graceOf(pod), why, "add")
	case first:
		w.wake("add", why)
	case specChanged, gates, told:
		w.wake("update", why)
	}
	if w.phase == finished {
		w.kl.statuses.add(w, why)
	}
}

// removed is the API object gone.
func (w *worker) removed(pod *corev1.Pod, why trace.ID) {
	w.gone = true
	w.pod = pod
	if w.phase == finished {
		w.wake("remove", why)
		return
	}
	w.terminate(graceOf(pod), why, "remove")
}

// graceOf is how long a pod's containers get (pod_workers.go
// calculateEffectiveGracePeriod).
func graceOf(pod *corev1.Pod) int64 {
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
	switch {
	case pod.DeletionGracePeriodSeconds != nil:
		grace = *pod.DeletionGracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	return max(grace, 1)
}

// terminate makes the pod's containers stop. Asked again with less grace, it
// hurries.
func (w *worker) terminate(grace int64, why trace.ID, reason string) {
	if w.phase == syncing {
		w.phase, w.grace = terminating, grace
		w.kl.volumes.changed.Broadcast() // it may wait for one
		w.wake(reason, why)
		return
	}
	if w.phase == terminating && grace < w.grace {
		w.grace = grace
		if w.killing {
			pod := w.pod
			w.kl.after(time.Duration(grace)*time.Second, "hurry "+w.key(), func(t *sim.Task) {
				w.kl.rt.KillContainer(pod.Namespace, pod.Name, "", 137, "Error", why)
			})
		}
	}
}

// wake gives the worker something to do.
func (w *worker) wake(reason string, causes ...trace.ID) {
	for _, id := range causes {
		if !id.IsZero() {
			w.causes = append(w.causes, id)
		}
	}
	if !w.pending {
		w.why = reason
	}
	w.pending = true
	if !w.busy && w.kl.p.Alive() {
		w.busy = true
		w.kl.p.Go("pod "+w.key(), w.loop)
	}
}

// wakeAfter wakes the worker when d has passed, unless something does before.
func (w *worker) wakeAfter(d time.Duration, reason string, cause trace.ID) {
	w.timer = w.kl.k.After(d, func() { w.wake(reason, cause) })
}

// maxCauses bounds how many events a sync names as its causes.
const maxCauses = 8

// loop is pkg/kubelet/pod_workers.go podWorkerLoop.
func (w *worker) loop(t *sim.Task) {
	defer func() { w.busy = false }()
	for w.pending {
		w.pending = false
		if w.timer != nil {
			w.timer.Cancel()
			w.timer = nil
		}
		t.SetCauses(w.causes[max(0, len(w.causes)-maxCauses):]...)
		w.causes = nil
		began := t.Emit(trace.Event{
			Kind: trace.PodWorker, Object: client.RefOf(w.pod),
			Payload: &trace.PodSync{Node: w.kl.cfg.Node, Pod: w.key(), Work: phaseNames[w.phase], Reason: w.why},
		})
		t.SetCauses(began)
		if broken := w.kl.contain(t, w.pod, "the worker of the pod", func() { w.step(t) }); broken != nil {
			w.killing, w.pending = false, false // what came meanwhile waits, too: it would panic as well
			w.retry(t, broken)
		}
	}
}

// step does the work of the worker's phase and decides what comes next
// (pod_workers.go completeWork).
func (w *worker) step(t *sim.Task) {
	switch w.phase {
	case syncing:
		terminal, err := w.syncPod(t)
		switch {
		case w.phase != syncing: // asked to terminate meanwhile
			w.wake("delete", t.Causes()...)
		case terminal:
			w.phase, w.grace = terminating, graceOf(w.pod)
			w.wake("completed", t.Causes()...)
		case err != nil:
			w.retry(t, err)
		default:
			w.resync()
		}
	case terminating:
		if err := w.syncTerminating(t); err != nil {
			w.retry(t, err)
			return
		}
		w.phase = terminated
		w.wake("terminated", t.Causes()...)
	case terminated:
		w.syncTerminated(t)
		w.phase = finished
		if w.gone {
			w.wake("remove", t.Causes()...)
		}
	case finished:
		if w.gone {
			w.cleanUp(t)
		}
	}
}

// retry plans the next try after an error.
func (w *worker) retry(t *sim.Task, err error) {
	if w.pending {
		return
	}
	delay, factor := retryBase, 0.5
	var wait *waitError
	switch {
	case errors.As(err, &wait):
		delay, factor = wait.until.Sub(t.Now()), 0
	case errors.Is(err, errNetworkNotReady):
		delay = retrySoon
	}
	var cause trace.ID
	if len(t.Causes()) > 0 {
		cause = t.Causes()[0]
	}
	w.wakeAfter(w.kl.jitter(min(max(delay, 0), resyncMax), factor), "retry", cause)
}

// resync plans the next look at a pod with nothing wrong. Upstream looks at
// every pod once a minute; here only where something can have changed that is
// not told: the contents of volumes, and the time that tokens have left.
func (w *worker) resync() {
	if w.pending {
		return
	}
	if w.mountRetry > 0 {
		w.wakeAfter(w.mountRetry, "retry", trace.ID{})
	} else if hasRenewed(w.pod) || len(w.tokens) > 0 {
		w.wakeAfter(w.kl.jitter(resyncMax, 0.5), "resync", trace.ID{})
	}
}

// cleanUp removes what is left in the runtime of a pod whose object is gone,
// and the worker with it.
func (w *worker) cleanUp(t *sim.Task) {
	st, err := w.kl.rt.PodStatus(w.uid)
	if err != nil {
		w.retry(t, err)
		return
	}
	for _, s := range st.Sandboxes {
		if err := w.kl.rt.RemovePodSandbox(t, s.ID); err != nil {
			w.retry(t, err)
			return
		}
	}
	w.stopProbes()
	w.forgetConfigs()
	w.forgetTrust()
	if w.kl.workers[w.uid] == w {
		delete(w.kl.workers, w.uid)
	}
}

// runtimeStatus asks the runtime for the pod.
func (w *worker) runtimeStatus() (runtime.PodStatus, error) { return w.kl.rt.PodStatus(w.uid) }

// waitError is an error that is over at a known time (container
// BackoffError).
type waitError struct {
	until time.Time
	err   error
}

// Error is the wrapped error's text.
func (e *waitError) Error() string { return e.err.Error() }

// Unwrap gives the wrapped error.
func (e *waitError) Unwrap() error { return e.err }
