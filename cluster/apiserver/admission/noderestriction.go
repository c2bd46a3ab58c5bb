package admission

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/auth/nodeidentifier"
	"k8s.io/kubernetes/plugin/pkg/admission/noderestriction"

	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/request"
)

// NodeRestriction is the plugin of that name (plugin/pkg/admission/noderestriction): of
// what the Node authorizer lets a kubelet do, it may do only what concerns its own node:
// the Node without the labels and taints that steer pods, its Lease, the pods bound to
// it, tokens for them, its own certificate.
type NodeRestriction struct{ plugin *noderestriction.Plugin }

// NewNodeRestriction makes the plugin.
func NewNodeRestriction(l Lister, by authz.Decider) *NodeRestriction {
	p := noderestriction.NewPlugin(nodeidentifier.NewDefaultNodeIdentifier())
	p.InspectFeatureGates(utilfeature.DefaultFeatureGate)
	p.SetExternalKubeInformerFactory(informerFactory{lister: l})
	p.SetUnconditionalAuthorizer(authz.InContext{Decider: by})
	return &NodeRestriction{p}
}

// Name is [Plugin].
func (*NodeRestriction) Name() string { return noderestriction.PluginName }

// Admit is [Mutating].
func (p *NodeRestriction) Admit(r *request.Scope, a *Attributes) (Result, error) {
	node, ok := authz.NodeName(&a.User)
	if !ok || onlyStatus(a, node) {
		return Result{}, nil
	}
	return Result{}, p.plugin.Admit(request.NewContext(r), a.Inside(), nil)
}

// onlyStatus reports whether a kubelet writes the status of a pod of its node and nothing
// else that matters (admitPodStatus). Nearly all that kubelets write is that, and to make
// two internal pods would take a quarter of such a request's time.
func onlyStatus(a *Attributes, node string) bool {
	now, ok := a.Object.(*corev1.Pod)
	if !ok || a.Subresource != "status" || a.Operation != Update {
		return false
	}
	was := a.OldObject.(*corev1.Pod)
	return was.Spec.NodeName == node && maps.Equal(was.Labels, now.Labels) && claimsNothing(was) && claimsNothing(now)
}

func claimsNothing(p *corev1.Pod) bool {
	return len(p.Status.ResourceClaimStatuses) == 0 && p.Status.ExtendedResourceClaimStatus == nil && len(p.Status.NodeAllocatableResourceClaimStatuses) == 0
}
