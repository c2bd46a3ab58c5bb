// Package interpodaffinity is the InterPodAffinity plugin: a pod wants to be near certain
// other pods (podAffinity) or away from them (podAntiAffinity), near being on a node with
// the same value of a label, the term's topologyKey. What is required rejects nodes, what is
// preferred scores them. The terms of the pods that are there count as well: their
// anti-affinity keeps the pod away, and what they prefer adds to its score.
//
// Mirrors pkg/scheduler/framework/plugins/interpodaffinity without the gate
// InterPodAffinityHostnameFastPath, which is off by default. It is a port and not upstream's own code,
// which reads a snapshot's interfaces with contexts; cluster/scheduler/upstream compares the two.
//
// Start reading at filtering.go, then scoring.go.
package interpodaffinity

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"kviz/cluster/scheduler/framework"
)

const (
	// Name is the plugin's name.
	Name = "InterPodAffinity"
	// ErrReasonExistingAntiAffinity is why a node is rejected near which a pod keeps this one away.
	ErrReasonExistingAntiAffinity = "node(s) didn't satisfy existing pods anti-affinity rules"
	// ErrReasonAffinity is why one is near which the pods are not that the pod wants to be near.
	ErrReasonAffinity = "node(s) didn't match pod affinity rules"
	// ErrReasonAntiAffinity is why one is near which a pod is that the pod wants to be away from.
	ErrReasonAntiAffinity = "node(s) didn't match pod anti-affinity rules"

	filterKey = "PreFilter" + Name
	scoreKey  = "PreScore" + Name
)

// Cluster is what the plugin reads of the scheduler's cache.
type Cluster interface {
	// Kinds are those of the pods on nodes.
	Kinds() *framework.PodKinds
	// NamespaceLabels are a namespace's labels, none if it is not known.
	NamespaceLabels(name string) labels.Set
	// NamespacesThat gives the names of the namespaces with certain labels.
	NamespacesThat(match labels.Selector) []string
}

// InterPodAffinity is the plugin.
type InterPodAffinity struct {
	Cluster Cluster
	Args    *config.InterPodAffinityArgs // nil: upstream's defaults
}

// usual are upstream's defaults: what a required term of a pod that is there adds to a score.
var usual = config.InterPodAffinityArgs{HardPodAffinityWeight: 1}

func (pl *InterPodAffinity) args() *config.InterPodAffinityArgs { return cmp.Or(pl.Args, &usual) }

var skip = framework.NewStatus(Name, framework.Skip)

// Name is [Name].
func (*InterPodAffinity) Name() string { return Name }

// SignPod: a pod with affinity depends on where others are; to others' affinity a pod is its labels.
func (pl *InterPodAffinity) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	if a := pod.Spec.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		return nil, unsigned
	}
	if pl.args().IgnorePreferredTermsOfExistingPods {
		return nil, nil
	}
	return []framework.SignFragment{{Key: framework.LabelsSignerName, Value: pod.Labels}}, nil
}

var unsigned = framework.NewStatus(Name, framework.Unschedulable, "pods with InterPodAffinity are not signable")

// resolved is a term of the pod's own with the namespaces that its selector matches now, so
// that the labels of other pods' namespaces need not be looked up one by one.
func (pl *InterPodAffinity) resolved(t framework.AffinityTerm) framework.AffinityTerm {
	if !t.NamespaceSelector.Empty() { // one that is empty matches all
		t.Namespaces = slices.Concat(t.Namespaces, pl.Cluster.NamespacesThat(t.NamespaceSelector))
		t.NamespaceSelector = labels.Nothing()
	}
	return t
}

func (pl *InterPodAffinity) resolveAll(terms []framework.AffinityTerm) []framework.AffinityTerm {
	all := make([]framework.AffinityTerm, 0, len(terms))
	for _, t := range terms {
		all = append(all, pl.resolved(t))
	}
	return all
}

func (pl *InterPodAffinity) resolveWeighted(terms []framework.WeightedAffinityTerm) []framework.WeightedAffinityTerm {
	all := make([]framework.WeightedAffinityTerm, 0, len(terms))
	for _, t := range terms {
		all = append(all, framework.WeightedAffinityTerm{AffinityTerm: pl.resolved(t.AffinityTerm), Weight: t.Weight})
	}
	return all
}

// matchesAll reports whether a pod matches every term; there has to be one.
func matchesAll(terms []framework.AffinityTerm, pod *corev1.Pod) bool {
	for i := range terms {
		if !terms[i].Matches(pod, nil) {
			return false
		}
	}
	return len(terms) > 0
}

// matchesAny reports whether a pod matches a term.
func matchesAny(terms []framework.AffinityTerm, pod *corev1.Pod) bool {
	for i := range terms {
		if terms[i].Matches(pod, nil) {
			return true
		}
	}
	return false
}
