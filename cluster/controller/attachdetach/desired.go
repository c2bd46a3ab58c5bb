package attachdetach

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// desired is which volumes are wanted on which nodes, and by which pods
// (cache.DesiredStateOfWorld).
type desired struct {
	managed map[string]bool             // the nodes whose volumes are attached here
	volumes map[name]map[string]*wanted // by volume and node; no empty ones
	byPod   map[types.UID][]name        // what a pod wants, in the order of its volumes
	// ignored are the pods that want volumes on a node that is not managed, by node.
	ignored map[string]map[string]bool
}

// wanted is a volume that pods want on a node.
type wanted struct {
	volume *corev1.PersistentVolume
	pods   map[types.UID]*corev1.Pod
	// told is whether these pods have heard that the volume is attached elsewhere
	// (multiAttachErrorReported).
	told bool
}

func newDesired() *desired {
	return &desired{
		managed: map[string]bool{}, volumes: map[name]map[string]*wanted{},
		byPod: map[types.UID][]name{}, ignored: map[string]map[string]bool{},
	}
}

// add notes that a pod wants a volume on its node, and reports whether that is new (AddPod).
func (d *desired) add(pod *corev1.Pod, pv *corev1.PersistentVolume) bool {
	volume, node := nameOf(pv.Spec.CSI), pod.Spec.NodeName
	if d.volumes[volume] == nil {
		d.volumes[volume] = map[string]*wanted{}
	}
	w := d.volumes[volume][node]
	if w == nil {
		w = &wanted{volume: pv, pods: map[types.UID]*corev1.Pod{}}
		d.volumes[volume][node] = w
	}
	if w.pods[pod.UID] != nil {
		return false
	}
	w.pods[pod.UID] = pod
	d.byPod[pod.UID] = append(d.byPod[pod.UID], volume)
	return true
}

// remove takes a pod away, and gives the volumes that it wanted (DeletePod).
func (d *desired) remove(pod *corev1.Pod) []name {
	wants := d.byPod[pod.UID]
	for _, volume := range slices.Clone(wants) {
		d.removeFrom(pod, volume)
	}
	return wants
}

func (d *desired) removeFrom(pod *corev1.Pod, volume name) {
	left := slices.DeleteFunc(slices.Clone(d.byPod[pod.UID]), func(v name) bool { return v == volume })
	if len(left) == 0 {
		delete(d.byPod, pod.UID)
	} else {
		d.byPod[pod.UID] = left
	}
	w := d.volumes[volume][pod.Spec.NodeName]
	if w == nil {
		return
	}
	delete(w.pods, pod.UID)
	if len(w.pods) == 0 {
		delete(d.volumes[volume], pod.Spec.NodeName)
	}
	if len(d.volumes[volume]) == 0 {
		delete(d.volumes, volume)
	}
}

// wants is whether pods want a volume on a node (VolumeExists).
func (d *desired) wants(volume name, node string) bool { return d.volumes[volume][node] != nil }

// nodesOf are the nodes on which a volume is wanted, sorted.
func (d *desired) nodesOf(volume name) []string { return slices.Sorted(maps.Keys(d.volumes[volume])) }

// podsOn are the pods that want a volume on some nodes (GetVolumePodsOnNodes).
func (d *desired) podsOn(volume name, nodes []string) (out []*corev1.Pod) {
	for _, node := range nodes {
		if w := d.volumes[volume][node]; w != nil {
			out = append(out, w.sorted()...)
		}
	}
	return out
}

// sorted are the pods by their names; upstream has them in any order.
func (w *wanted) sorted() []*corev1.Pod {
	return slices.SortedFunc(maps.Values(w.pods), func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
}

// manage notes a node whose volumes are attached here, and gives the keys of the pods that were
// ignored until now.
func (d *desired) manage(node string) []string {
	d.managed[node] = true
	pods := slices.Sorted(maps.Keys(d.ignored[node]))
	delete(d.ignored, node)
	return pods
}

// unmanage forgets a node on which nothing is wanted (DeleteNode).
func (d *desired) unmanage(node string) {
	for _, nodes := range d.volumes { // in any order: it only looks
		if nodes[node] != nil {
			return
		}
	}
	delete(d.managed, node)
}

func (d *desired) ignore(node, pod string) {
	if d.ignored[node] == nil {
		d.ignored[node] = map[string]bool{}
	}
	d.ignored[node][pod] = true
}

func (d *desired) unignore(node, pod string) {
	delete(d.ignored[node], pod)
	if len(d.ignored[node]) == 0 {
		delete(d.ignored, node)
	}
}
