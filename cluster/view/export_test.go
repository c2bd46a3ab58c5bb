package view

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/kubernetes/pkg/controller/daemon/util"
)

// Marks is how many states a history keeps.
func Marks(h *History) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.marks)
}

// MarkEvery is how many events lie between two states that are kept.
const MarkEvery = markEvery

// Distance is how many events must be folded to reach a position.
func Distance(h *History, pos uint64) (n int, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	from, ok := h.nearest(pos + 1)
	return int(pos + 1 - from.pos), ok
}

// Folds lists the kinds that change the state.
var Folds = folds

// Explains lists the kinds that have words of their own.
var Explains = explains

// Refuses says why a DaemonSet wants no pod on a node, and whether one that is there stays.
func Refuses(ds *appsv1.DaemonSet, node *corev1.Node) (why string, stays bool) {
	spec := ds.Spec.Template.Spec
	util.AddOrUpdateDaemonPodTolerations(&spec)
	return refuses(ds, spec.Tolerations, nodeaffinity.NewRequiredNodeAffinity(spec.NodeSelector, spec.Affinity), node)
}
