package framework

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// PodKind is the pods on nodes that no selector and no term can tell apart: they have
// the namespace, the labels and the affinity in common, and either all of them are on
// their way out or none is. A controller's pods are mostly one kind.
type PodKind struct {
	One *PodInfo // of the kind; it may be gone
	On  []PodsOn

	at map[*NodeInfo]int // where in On
	// inAll and inAffinity are where in the lists of kinds.
	inAll, inAffinity int
}

// PodsOn is how many pods of a kind a node has.
type PodsOn struct {
	Node *NodeInfo
	Pods int
}

// PodKinds are the kinds of the pods on nodes, by which plugins count pods: what a selector says
// of one of a kind, it says of all. Upstream asks it of each pod, on sixteen processors.
type PodKinds struct {
	byKey    map[string]*PodKind
	all      []*PodKind
	affinity []*PodKind
}

// KindsOf are the kinds of the pods on these nodes.
func KindsOf(nodes []*NodeInfo) *PodKinds {
	k := &PodKinds{}
	for _, n := range nodes {
		for _, key := range slices.Sorted(maps.Keys(n.Pods)) {
			k.Add(n.Pods[key], n)
		}
	}
	return k
}

// All are all kinds, in no order that means anything.
func (k *PodKinds) All() []*PodKind { return k.all }

// WithAffinity are those that have affinity or anti-affinity to other pods.
func (k *PodKinds) WithAffinity() []*PodKind { return k.affinity }

// Add counts a pod in.
func (k *PodKinds) Add(p *PodInfo, n *NodeInfo) {
	kind := k.byKey[p.kind]
	if kind == nil {
		if k.byKey == nil {
			k.byKey = map[string]*PodKind{}
		}
		kind = &PodKind{One: p, at: map[*NodeInfo]int{}, inAll: len(k.all), inAffinity: len(k.affinity)}
		k.byKey[p.kind] = kind
		k.all = append(k.all, kind)
		if p.Affinity != nil {
			k.affinity = append(k.affinity, kind)
		}
	}
	i, ok := kind.at[n]
	if !ok {
		i = len(kind.On)
		kind.On, kind.at[n] = append(kind.On, PodsOn{Node: n}), i
	}
	kind.On[i].Pods++
}

// Remove counts a pod out, which must have been counted in.
func (k *PodKinds) Remove(p *PodInfo, n *NodeInfo) {
	kind := k.byKey[p.kind]
	i := kind.at[n]
	if kind.On[i].Pods--; kind.On[i].Pods > 0 {
		return
	}
	last := len(kind.On) - 1
	kind.On[i] = kind.On[last]
	kind.at[kind.On[i].Node] = i
	kind.On = kind.On[:last]
	delete(kind.at, n)
	if last > 0 {
		return
	}
	delete(k.byKey, p.kind)
	last = len(k.all) - 1
	k.all[kind.inAll] = k.all[last]
	k.all[kind.inAll].inAll = kind.inAll
	k.all[last], k.all = nil, k.all[:last]
	if kind.One.Affinity != nil {
		last = len(k.affinity) - 1
		k.affinity[kind.inAffinity] = k.affinity[last]
		k.affinity[kind.inAffinity].inAffinity = kind.inAffinity
		k.affinity[last], k.affinity = nil, k.affinity[:last]
	}
}

// kindOf tells pods apart, as [PodKind] has it.
func kindOf(pod *corev1.Pod) string {
	var b strings.Builder
	b.WriteString(pod.Namespace)
	if pod.DeletionTimestamp != nil {
		b.WriteString("\x00going")
	}
	for _, key := range slices.Sorted(maps.Keys(pod.Labels)) {
		b.WriteByte(0)
		b.WriteString(key)
		b.WriteByte('=')
		b.WriteString(pod.Labels[key])
	}
	if a := pod.Spec.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		b.WriteString("\x00\x00")
		// Its bytes are the same for terms that are the same.
		bytes, err := (&corev1.Affinity{PodAffinity: a.PodAffinity, PodAntiAffinity: a.PodAntiAffinity}).Marshal()
		if err != nil {
			return b.String() + string(pod.UID) // a kind of its own
		}
		b.Write(bytes)
	}
	return b.String()
}

// sameKind reports whether two states of a pod are of one kind. Its affinity never changes.
func sameKind(was, is *corev1.Pod) bool {
	return (was.DeletionTimestamp == nil) == (is.DeletionTimestamp == nil) && maps.Equal(was.Labels, is.Labels)
}
