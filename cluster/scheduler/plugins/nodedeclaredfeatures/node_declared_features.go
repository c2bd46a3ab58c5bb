// Package nodedeclaredfeatures is the NodeDeclaredFeatures plugin: what a pod asks for that not
// every kubelet can do yet, it gets on a node whose kubelet declares it (status.declaredFeatures).
//
// What a pod asks for is upstream's to say (k8s.io/component-helpers/nodedeclaredfeatures). Of the features
// that are on by default there is one: a restart rule with the action RestartAllContainers. The kubelets
// here declare nothing, since they act on none (kubelet/declared.go).
//
// Mirrors pkg/scheduler/framework/plugins/nodedeclaredfeatures.
// Start reading at [NodeDeclaredFeatures.Filter].
package nodedeclaredfeatures

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"

	"kviz/cluster/scheduler/framework"
)

const (
	// Name is the plugin's name.
	Name = "NodeDeclaredFeatures"
	// ErrReason is why a node is rejected.
	ErrReason = "node(s) didn't match Pod's required features"
)

// NodeDeclaredFeatures is the plugin.
type NodeDeclaredFeatures struct{}

var (
	skip    = framework.NewStatus(Name, framework.Skip)
	missing = framework.NewStatus(Name, framework.UnschedulableAndUnresolvable, ErrReason)
	// release is the version of Kubernetes whose kubelets may still lack a feature.
	release = version.MustParse("1.37.1")
)

func required(pod *corev1.Pod) (ndf.FeatureSet, error) {
	return ndf.DefaultFramework.InferForPodScheduling(&ndf.PodInfo{Spec: &pod.Spec}, release)
}

// Name is [Name].
func (*NodeDeclaredFeatures) Name() string { return Name }

// SignPod: the features that are needed.
func (*NodeDeclaredFeatures) SignPod(pod *corev1.Pod) ([]framework.SignFragment, *framework.Status) {
	features, err := required(pod)
	if err != nil {
		return nil, framework.AsStatus(Name, err)
	}
	return []framework.SignFragment{{Key: framework.FeaturesSignerName, Value: features.String()}}, nil
}

// PreFilter skips pods that every kubelet can run.
func (*NodeDeclaredFeatures) PreFilter(cs *framework.CycleState, pod *corev1.Pod, _ []*framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	features, err := required(pod)
	if err != nil {
		return nil, framework.AsStatus(Name, err)
	}
	if features.IsEmpty() {
		return nil, skip
	}
	cs.Write(Name, features)
	return nil, nil
}

// Filter rejects a node whose kubelet lacks a feature.
func (*NodeDeclaredFeatures) Filter(cs *framework.CycleState, _ *corev1.Pod, node *framework.NodeInfo) *framework.Status {
	features := framework.Read[ndf.FeatureSet](cs, Name)
	ok, err := features.IsSubset(ndf.DefaultFramework.TryMap(node.Node.Status.DeclaredFeatures))
	switch {
	case err != nil:
		return framework.AsStatus(Name, err)
	case !ok:
		return missing
	}
	return nil
}

// EventsToRegister: a node that declares something else, a pod that asks for something else.
func (*NodeDeclaredFeatures) EventsToRegister() []framework.ClusterEventWithHint {
	return []framework.ClusterEventWithHint{
		{Event: framework.ClusterEvent{Resource: framework.Node, Action: framework.Add | framework.UpdateNodeDeclaredFeature}, Hint: afterNode},
		{Event: framework.ClusterEvent{Resource: framework.TargetPod, Action: framework.Update}, Hint: afterPod},
	}
}

func afterNode(_ *corev1.Pod, old, new runtime.Object) bool {
	was, before := old.(*corev1.Node)
	is, ok := new.(*corev1.Node)
	return !ok || !before || !slices.Equal(was.Status.DeclaredFeatures, is.Status.DeclaredFeatures)
}

func afterPod(_ *corev1.Pod, old, new runtime.Object) bool {
	was, before := old.(*corev1.Pod)
	is, ok := new.(*corev1.Pod)
	if !ok || !before {
		return true
	}
	less, errLess := required(was)
	more, errMore := required(is)
	return errLess != nil || errMore != nil || !more.Equal(less)
}
