package volumebinding

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/component-helpers/storage/volume"
)

// affinities answers which nodes a volume can be reached from. Upstream parses a volume's node affinity
// for each node that it looks at; one of a megabyte takes a tenth of a second, and nobody else is
// answered meanwhile. So terms of a large one are compared with the node's labels as they are
// written, and only those that fit are parsed, once.
type affinities map[string]*affinity // by the volume's name

// affinity is what is known of a large node affinity.
type affinity struct {
	version string       // of the volume
	valid   map[int]bool // by the term's number: whether it can be parsed
}

const (
	largeAffinity  = 256  // requirements and values from which an affinity is large
	knownOfAtOnce  = 1024 // volumes with a large one
	affinityFailed = "no matching NodeSelectorTerms"
)

// large reports whether a volume's node affinity is too expensive to be parsed again and again.
func large(v *corev1.PersistentVolume) bool {
	if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
		return false
	}
	n := 0
	for i := range v.Spec.NodeAffinity.Required.NodeSelectorTerms {
		term := &v.Spec.NodeAffinity.Required.NodeSelectorTerms[i]
		for j := range term.MatchExpressions {
			n += 1 + len(term.MatchExpressions[j].Values)
		}
		if n += len(term.MatchFields); n >= largeAffinity {
			return true
		}
	}
	return false
}

// reaches reports whether a volume can be reached from a node with these labels.
//
// Mirrors component-helpers storage/volume CheckNodeAffinity.
func (known affinities) reaches(v *corev1.PersistentVolume, labels map[string]string) bool {
	if !large(v) {
		return volume.CheckNodeAffinity(v, labels) == nil
	}
	required := v.Spec.NodeAffinity.Required
	a := known[v.Name]
	if a == nil || a.version != v.ResourceVersion || a.version == "" {
		if len(known) >= knownOfAtOnce {
			clear(known)
		}
		a = &affinity{v.ResourceVersion, map[int]bool{}}
		known[v.Name] = a
	}
	for i := range required.NodeSelectorTerms {
		if term := &required.NodeSelectorTerms[i]; matches(term, labels) {
			valid, parsed := a.valid[i]
			if !parsed {
				valid = parses(term)
				a.valid[i] = valid
			}
			if valid {
				return true
			}
		}
	}
	return false
}

// parses reports whether upstream can parse a term.
func parses(term *corev1.NodeSelectorTerm) bool {
	_, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{*term}})
	return err == nil
}

// matches compares a term, if it can be parsed, with labels (nodeaffinity nodeSelectorTerm.match, labels
// Requirement.Matches). Fields are not compared: the node that a volume is compared with has labels only.
func matches(term *corev1.NodeSelectorTerm, labels map[string]string) bool {
	if len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0 {
		return false
	}
	for i := range term.MatchExpressions {
		e := &term.MatchExpressions[i]
		value, has := labels[e.Key]
		ok := false
		switch e.Operator {
		case corev1.NodeSelectorOpIn:
			ok = has && slices.Contains(e.Values, value)
		case corev1.NodeSelectorOpNotIn:
			ok = !has || !slices.Contains(e.Values, value)
		case corev1.NodeSelectorOpExists:
			ok = has
		case corev1.NodeSelectorOpDoesNotExist:
			ok = !has
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			ok = has && len(e.Values) == 1 && beyond(value, e.Values[0], e.Operator == corev1.NodeSelectorOpGt)
		}
		if !ok {
			return false
		}
	}
	return true
}

// beyond compares a label's value with a number.
func beyond(value, than string, greater bool) bool {
	a, errA := strconv.ParseInt(value, 10, 64)
	b, errB := strconv.ParseInt(than, 10, 64)
	return errA == nil && errB == nil && (greater && a > b || !greater && a < b)
}

// judged has the volumes with a large node affinity stand for what it comes to on a node: one
// that is reached from everywhere, or from nowhere. The others are as they are.
func (known affinities) judged(list []*corev1.PersistentVolume, labels map[string]string) []*corev1.PersistentVolume {
	if !slices.ContainsFunc(list, large) {
		return list
	}
	list = slices.Clone(list)
	for i, v := range list {
		if !large(v) {
			continue
		}
		short := *v
		if short.Spec.NodeAffinity = nil; !known.reaches(v, labels) {
			short.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{}}
		}
		list[i] = &short
	}
	return list
}

// whole gives the volume itself that one in a list of judged ones stands for.
func whole(v *corev1.PersistentVolume, list, judged []*corev1.PersistentVolume) *corev1.PersistentVolume {
	if i := slices.Index(judged, v); i >= 0 {
		return list[i]
	}
	return v
}
