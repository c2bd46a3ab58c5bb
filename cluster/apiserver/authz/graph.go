package authz

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/node"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"kviz/cluster/client"
)

// graph is what belongs to a node: its pods, and what they refer to. The graph and who
// goes by it are upstream's; what fills it there are informers and a goroutine.
type graph struct {
	*node.Graph
	authorizer *node.NodeAuthorizer
	pods       map[string]*corev1.Pod // by key: those in the graph, as they are now
}

func newGraph() *graph {
	g := node.NewGraph()
	return &graph{Graph: g, authorizer: node.NewAuthorizer(g, nodeidentifier.NewDefaultNodeIdentifier(), bootstrappolicy.NodeRules()), pods: map[string]*corev1.Pod{}}
}

// Follow returns the function to be called with the objects of a kind as the watch
// cache takes them in: with each one's key and its state, nil when it is gone. It is
// nil for kinds that do not concern the Node authorizer.
func (z *Authorizer) Follow(r client.Resource) func(key string, obj runtime.Object) {
	switch r {
	case client.Pods:
		return z.graph.pod
	case client.PersistentVolumes:
		return z.graph.volume
	case client.VolumeAttachments:
		return z.graph.attachment
	}
	return nil
}

// pod is graphPopulator updatePod and deletePod.
func (g *graph) pod(key string, obj runtime.Object) {
	was := g.pods[key]
	now, _ := obj.(*corev1.Pod)
	if now == nil || now.Spec.NodeName == "" {
		if was != nil {
			delete(g.pods, key)
			g.DeletePod(was.Name, was.Namespace)
		}
		return
	}
	g.pods[key] = now
	if was == nil || !refersAlike(was, now) {
		g.AddPod(now)
	}
}

// refersAlike reports whether a pod belongs where it did and refers to what it did; most
// of what that hangs on cannot change.
func refersAlike(was, now *corev1.Pod) bool {
	return was.UID == now.UID && was.Spec.NodeName == now.Spec.NodeName && len(was.Spec.EphemeralContainers) == len(now.Spec.EphemeralContainers) &&
		resourceclaim.PodStatusEqual(was.Status.ResourceClaimStatuses, now.Status.ResourceClaimStatuses) &&
		resourceclaim.PodExtendedStatusEqual(was.Status.ExtendedResourceClaimStatus, now.Status.ExtendedResourceClaimStatus)
}

func (g *graph) volume(name string, obj runtime.Object) {
	if pv, ok := obj.(*corev1.PersistentVolume); ok {
		g.AddPV(pv)
		return
	}
	g.DeletePV(name)
}

func (g *graph) attachment(name string, obj runtime.Object) {
	if va, ok := obj.(*storagev1.VolumeAttachment); ok {
		g.AddVolumeAttachment(name, va.Spec.NodeName)
		return
	}
	g.DeleteVolumeAttachment(name)
}
