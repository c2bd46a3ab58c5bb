package kubelet

import (
	"k8s.io/apimachinery/pkg/util/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	"k8s.io/component-helpers/nodedeclaredfeatures/types"
)

// acts says of each feature that not every kubelet has whether this one acts on it. A real kubelet of this
// version declares those whose gates are on; the API server and the scheduler hold pods back from nodes that do
// not declare what the pods need, so what is not done here must not be declared.
var acts = types.FeatureGateMap{
	"RestartAllContainersOnContainerExits":         false, // a container restarts alone
	"InPlacePodLevelResourcesVerticalScaling":      false, // nothing is resized in place
	"InPlacePodVerticalScalingInitContainers":      false,
	"InPlacePodVerticalScalingMemoryBackedVolumes": false,
	"ExtendWebSocketsToKubelet":                    false, // the API server speaks for the kubelet
	"UserNamespacesHostNetworkSupport":             false, // containers have no users of their own
	"DRANodeAllocatableResources":                  false, // alpha, off
	"DRAOptionalNodeOperations":                    false, // alpha, off
	"VolumeBindMountOptions":                       false, // nothing is mounted
}

// declaredFeatures are those that the node declares (status.declaredFeatures).
//
// Mirrors pkg/kubelet/kubelet_node_declared_features.go discoverNodeDeclaredFeatures.
func declaredFeatures(acts types.FeatureGateMap) []string {
	return ndf.DefaultFramework.DiscoverNodeFeatures(&ndf.NodeConfiguration{FeatureGates: acts, Version: version.MustParse(Version)})
}
