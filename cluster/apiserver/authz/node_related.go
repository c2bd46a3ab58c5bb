package authz

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	pvutil "k8s.io/kubernetes/pkg/api/v1/persistentvolume"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// What belongs to a node: its pods, and what they refer to. Upstream keeps a graph
// of it (plugin/pkg/auth/authorizer/node/graph.go); here the pods are looked
// through when somebody asks, for kubelets ask rarely.

// pods reports whether one of the node's pods in a namespace is such a one. Of
// mirror pods, which a kubelet makes itself, nothing follows.
func (n *nodeRequest) pods(namespace string, such func(*corev1.Pod) bool) bool {
	return n.source.PodOn(n.node, namespace, func(p *corev1.Pod) bool {
		_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
		return !mirror && such(p)
	})
}

func (n *nodeRequest) hasPod() bool {
	return n.source.PodOn(n.node, n.Namespace, func(p *corev1.Pod) bool { return p.Name == n.Name })
}

func (n *nodeRequest) hasServiceAccount() bool {
	return n.pods(n.Namespace, func(p *corev1.Pod) bool { return p.Spec.ServiceAccountName == n.Name })
}

func (n *nodeRequest) hasConfigMap() bool {
	return n.pods(n.Namespace, func(p *corev1.Pod) bool {
		return visits(p, podutil.VisitPodConfigmapNames, n.Name)
	})
}

// visits reports whether a pod refers to what is called so.
func visits(p *corev1.Pod, visit func(*corev1.Pod, podutil.Visitor) bool, want string) (found bool) {
	visit(p, func(name string) bool { // it does not stop in a container
		found = found || name == want
		return !found
	})
	return found
}

// hasSecret is true for a secret of a pod, or of a volume that a pod has claimed.
func (n *nodeRequest) hasSecret() bool {
	return n.pods(n.Namespace, func(p *corev1.Pod) bool {
		return visits(p, podutil.VisitPodSecretNames, n.Name)
	}) || slices.ContainsFunc(n.source.PersistentVolumes(), func(pv *corev1.PersistentVolume) bool {
		return n.claimed(pv) && !pvutil.VisitPVSecretNames(pv, func(namespace, name string, visible bool) bool {
			return !visible || namespace != n.Namespace || name != n.Name
		})
	})
}

func (n *nodeRequest) hasClaim() bool { return n.claims(n.Namespace, n.Name) }

func (n *nodeRequest) claims(namespace, name string) bool {
	return n.pods(namespace, func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
			switch {
			case v.PersistentVolumeClaim != nil:
				return v.PersistentVolumeClaim.ClaimName == name
			case v.Ephemeral != nil:
				return ephemeral.VolumeClaimName(p, &v) == name
			}
			return false
		})
	})
}

func (n *nodeRequest) claimed(pv *corev1.PersistentVolume) bool {
	return pv.Spec.ClaimRef != nil && n.claims(pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name)
}

func (n *nodeRequest) hasVolume() bool {
	return slices.ContainsFunc(n.source.PersistentVolumes(), func(pv *corev1.PersistentVolume) bool {
		return pv.Name == n.Name && n.claimed(pv)
	})
}

func (n *nodeRequest) hasAttachment() bool {
	va := n.source.VolumeAttachment(n.Name)
	return va != nil && va.Spec.NodeName == n.node
}

func (n *nodeRequest) hasResourceClaim() bool {
	return n.pods(n.Namespace, func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool {
			return c.ResourceClaimName != nil && *c.ResourceClaimName == n.Name
		}) || slices.ContainsFunc(p.Status.ResourceClaimStatuses, func(c corev1.PodResourceClaimStatus) bool {
			return c.ResourceClaimName != nil && *c.ResourceClaimName == n.Name
		})
	})
}
