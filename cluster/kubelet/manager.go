package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// statusQueue is the status manager (pkg/kubelet/status/status_manager.go): one
// task writes the pods' statuses to the API server, one pod after another, so
// that a pod worker never waits for the API server. A status that changes
// again before it is written is written once.
type statusQueue struct {
	order  []*worker
	causes map[*worker][]trace.ID
	busy   bool
}

// setStatus takes a pod's new status and has it written if it differs.
func (w *worker) setStatus(t *sim.Task, s corev1.PodStatus) {
	if w.set && sameStatus(&w.status, &s) {
		return
	}
	w.status, w.set = s, true
	w.kl.statuses.add(w, t.Causes()...)
}

func (q *statusQueue) add(w *worker, causes ...trace.ID) {
	if w.gone || !w.set {
		return
	}
	if q.causes == nil {
		q.causes = map[*worker][]trace.ID{}
	}
	if !w.dirty {
		w.dirty = true
		q.order = append(q.order, w)
	}
	for _, id := range causes {
		if !id.IsZero() && !slices.Contains(q.causes[w], id) {
			q.causes[w] = append(q.causes[w], id)
		}
	}
	if !q.busy && w.kl.p.Alive() {
		q.busy = true
		w.kl.p.Go("status", w.kl.writeStatuses)
	}
}

// statusRetry is when the status manager tries again what failed: upstream looks
// at everything every 10 s.
const statusRetry = 10e9

func (kl *Kubelet) writeStatuses(t *sim.Task) {
	q := &kl.statuses
	defer func() { q.busy = false }()
	for len(q.order) > 0 {
		w := q.order[0]
		q.order = q.order[1:]
		w.dirty = false
		causes := q.causes[w]
		delete(q.causes, w)
		t.SetCauses(causes[max(0, len(causes)-maxCauses):]...)
		var err error
		if broken := kl.contain(t, w.pod, "the status of the pod", func() { err = w.writeStatus(t) }); broken != nil {
			err = broken
		}
		if err != nil && !w.gone && !w.later {
			w.later = true
			kl.after(statusRetry, "status-retry "+w.key(), func(*sim.Task) {
				w.later = false
				q.add(w, causes...)
			})
		}
	}
}

// writeStatus patches the status where it differs from what the API server has,
// and sends the final delete of a pod that is done (status_manager.go syncPod).
func (w *worker) writeStatus(t *sim.Task) error {
	if w.gone {
		return nil
	}
	if patch := statusPatch(w.uid, &w.written, &w.status); patch != nil {
		obj, err := w.kl.c.Patch(t, client.Pods, w.pod.Namespace, w.pod.Name, types.StrategicMergePatchType, patch, "status")
		switch {
		case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInvalid(err):
			return nil // gone, or another pod of the name: the watch will say
		case err != nil:
			return err
		}
		if pod, ok := obj.(*corev1.Pod); ok {
			w.written, w.revision = pod.Status, revisionOf(pod)
		}
	}
	if w.pod.DeletionTimestamp == nil || w.phase != finished || w.deleted {
		return nil
	}
	zero, uid := int64(0), types.UID(w.uid)
	err := w.kl.c.Delete(t, client.Pods, w.pod.Namespace, w.pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return err
	}
	w.deleted = true
	return nil
}
