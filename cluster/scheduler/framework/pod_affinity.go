package framework

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// PodAffinity is the terms of a pod's affinity and anti-affinity to other pods, parsed.
type PodAffinity struct {
	Required      []AffinityTerm
	RequiredAnti  []AffinityTerm
	Preferred     []WeightedAffinityTerm
	PreferredAnti []WeightedAffinityTerm
	// Err is what of them does not parse, which the API server's validation rules out.
	Err error
}

// AffinityTerm is one term: the pods it is about, and the label whose value says which
// nodes belong together.
//
// Mirrors k8s.io/kube-scheduler/framework types.go AffinityTerm.
type AffinityTerm struct {
	Namespaces        []string
	NamespaceSelector labels.Selector
	Selector          labels.Selector
	TopologyKey       string
}

// WeightedAffinityTerm is a preferred term.
type WeightedAffinityTerm struct {
	AffinityTerm
	Weight int32
}

// Matches reports whether the term is about a pod, whose namespace has these labels.
func (t *AffinityTerm) Matches(pod *corev1.Pod, namespace labels.Set) bool {
	return (slices.Contains(t.Namespaces, pod.Namespace) || t.NamespaceSelector.Matches(namespace)) && t.Selector.Matches(labels.Set(pod.Labels))
}

// NewPodAffinity parses a pod's terms; nil if it has no affinity to other pods.
func NewPodAffinity(pod *corev1.Pod) *PodAffinity {
	a := pod.Spec.Affinity
	if a == nil || a.PodAffinity == nil && a.PodAntiAffinity == nil {
		return nil
	}
	p := &PodAffinity{}
	var errs [4]error
	if a := a.PodAffinity; a != nil {
		p.Required, errs[0] = terms(pod, a.RequiredDuringSchedulingIgnoredDuringExecution)
		p.Preferred, errs[1] = weighted(pod, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := a.PodAntiAffinity; a != nil {
		p.RequiredAnti, errs[2] = terms(pod, a.RequiredDuringSchedulingIgnoredDuringExecution)
		p.PreferredAnti, errs[3] = weighted(pod, a.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	p.Err = errors.Join(errs[:]...)
	return p
}

func terms(pod *corev1.Pod, list []corev1.PodAffinityTerm) ([]AffinityTerm, error) {
	var parsed []AffinityTerm
	for i := range list {
		t, err := newAffinityTerm(pod, &list[i])
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, t)
	}
	return parsed, nil
}

func weighted(pod *corev1.Pod, list []corev1.WeightedPodAffinityTerm) ([]WeightedAffinityTerm, error) {
	var parsed []WeightedAffinityTerm
	for i := range list {
		t, err := newAffinityTerm(pod, &list[i].PodAffinityTerm)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, WeightedAffinityTerm{t, list[i].Weight})
	}
	return parsed, nil
}

// newAffinityTerm parses a term; one that names no namespaces is about the pod's own.
func newAffinityTerm(pod *corev1.Pod, t *corev1.PodAffinityTerm) (AffinityTerm, error) {
	selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil {
		return AffinityTerm{}, err
	}
	namespaces, err := metav1.LabelSelectorAsSelector(t.NamespaceSelector)
	if err != nil {
		return AffinityTerm{}, err
	}
	term := AffinityTerm{Namespaces: t.Namespaces, NamespaceSelector: namespaces, Selector: selector, TopologyKey: t.TopologyKey}
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		term.Namespaces = []string{pod.Namespace}
	}
	return term, nil
}
