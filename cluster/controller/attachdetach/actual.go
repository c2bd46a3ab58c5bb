package attachdetach

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// actual is which volumes are attached to which nodes, as far as this controller knows
// (cache.ActualStateOfWorld).
type actual struct {
	volumes map[name]*attached
	on      map[string]map[name]bool // the same by node
	// inUse are the volumes that nodes have mounted, by node: what they say, and of a volume
	// that was attached since they last said anything, that it is.
	inUse map[string]map[name]bool
}

// attached is a volume that is attached, or may be.
type attached struct {
	volume *corev1.PersistentVolume // nil: nobody has wanted it since the controller started
	nodes  map[string]*attachment   // not empty
}

// attachment is a volume's to one node.
type attachment struct {
	// confirmed is whether the driver has said so; else it is uncertain, as after an attach or
	// detach that failed.
	confirmed bool
	// detachSince is since when it is to be detached; zero while it is not.
	detachSince time.Time
}

func newActual() *actual {
	return &actual{volumes: map[name]*attached{}, on: map[string]map[name]bool{}, inUse: map[string]map[name]bool{}}
}

// put notes that a volume is attached to a node, for certain or not (AddVolumeNode).
func (a *actual) put(volume name, pv *corev1.PersistentVolume, node string, confirmed bool) {
	v := a.volumes[volume]
	if v == nil {
		v = &attached{nodes: map[string]*attachment{}}
		a.volumes[volume] = v
	}
	v.volume = pv
	if v.nodes[node] == nil {
		v.nodes[node] = &attachment{}
		set(a.on, node, volume)
		set(a.inUse, node, volume) // mounted, until the node says otherwise
	}
	v.nodes[node].confirmed = confirmed
}

// remove notes that a volume is not attached to a node (DeleteVolumeNode).
func (a *actual) remove(volume name, node string) {
	v := a.volumes[volume]
	if v == nil {
		return
	}
	delete(v.nodes, node)
	unset(a.on, node, volume)
	if len(v.nodes) == 0 {
		delete(a.volumes, volume)
	}
	if len(a.on[node]) == 0 {
		delete(a.inUse, node)
	}
}

// of is a volume's attachment to a node; nil for none.
func (a *actual) of(volume name, node string) *attachment {
	if v := a.volumes[volume]; v != nil {
		return v.nodes[node]
	}
	return nil
}

// volume is the PersistentVolume of what is attached; nil where that is not known.
func (a *actual) volume(volume name) *corev1.PersistentVolume {
	if v := a.volumes[volume]; v != nil {
		return v.volume
	}
	return nil
}

// nodesOf are the nodes to which a volume is attached, or may be, sorted.
func (a *actual) nodesOf(volume name) []string {
	if v := a.volumes[volume]; v != nil {
		return slices.Sorted(maps.Keys(v.nodes))
	}
	return nil
}

// confirmed are those to which it is attached for certain (GetNodesForAttachedVolume).
func (a *actual) confirmed(volume name) []string {
	return slices.DeleteFunc(a.nodesOf(volume), func(node string) bool { return !a.of(volume, node).confirmed })
}

// onNode are the volumes on a node, sorted.
func (a *actual) onNode(node string) []name { return slices.Sorted(maps.Keys(a.on[node])) }

// setInUse takes in what a node has mounted, and gives those of its volumes for which that is
// news (SetVolumesMountedByNode).
func (a *actual) setInUse(node string, volumes []corev1.UniqueVolumeName) (news []name) {
	said := map[name]bool{}
	for _, v := range volumes {
		said[name(v)] = true
	}
	for _, v := range a.onNode(node) {
		if a.inUse[node][v] != said[v] {
			news = append(news, v)
		}
	}
	a.inUse[node] = said
	return news
}

func set(of map[string]map[name]bool, key string, volume name) {
	if of[key] == nil {
		of[key] = map[name]bool{}
	}
	of[key][volume] = true
}

func unset(of map[string]map[name]bool, key string, volume name) {
	delete(of[key], volume)
	if len(of[key]) == 0 {
		delete(of, key)
	}
}
