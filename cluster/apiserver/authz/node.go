package authz

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
)

const nodePrefix = "system:node:"

// NodeName is the node a kubelet's user speaks for
// (pkg/auth/nodeidentifier/default.go).
func NodeName(u *authn.User) (string, bool) {
	if !strings.HasPrefix(u.Name, nodePrefix) || !u.In(authn.Nodes) {
		return "", false
	}
	return u.Name[len(nodePrefix):], true
}

// DecideNode is the Node authorizer alone (plugin/pkg/auth/authorizer/node), which goes
// by the graph of [Authorizer.Follow].
func (z *Authorizer) DecideNode(a *Attributes) Decision {
	node, ok := NodeName(&a.User)
	if !ok {
		return Decision{}
	}
	switch a.GroupResource() {
	case client.Secrets.GroupResource(), client.PersistentVolumes.GroupResource():
		z.Source.Open(client.PersistentVolumes)
	case client.VolumeAttachments.GroupResource():
		z.Source.Open(client.VolumeAttachments)
	}
	allowed, why, _ := z.graph.authorizer.Authorize(context.Background(), asked{a})
	if allowed != authorizer.DecisionAllow {
		return Decision{Why: why}
	}
	return Decision{Allowed: true, By: "Node authorizer", Reason: "The Node authorizer allows it: " + nodeMay(a, node) + "."}
}

// nodeMay says why a kubelet may do what the Node authorizer allows it; upstream's
// gives no reason.
func nodeMay(a *Attributes, node string) string {
	related := "it belongs to something that is on node " + node
	part := func(checked bool, what, own string) string {
		switch {
		case checked:
			return "NodeRestriction admission sees to it that " + what
		case a.Verb != "get" && ofOwnNode(a, node):
			return "it asks for " + own + " of its own node only"
		}
		return related
	}
	reads := a.Verb == "get" || a.Verb == "list" || a.Verb == "watch"
	switch a.GroupResource().String() {
	case "nodes":
		if reads {
			return "a kubelet reads its own node"
		}
		return part(true, "it is the kubelet's own node", "")
	case "pods":
		return part(!reads, "the pod is of node "+node, "the pods")
	case "leases.coordination.k8s.io":
		return "the lease of node " + node + " is its own"
	case "csinodes.storage.k8s.io":
		return "the CSINode of node " + node + " is its own"
	case "resourceslices.resource.k8s.io":
		return part(a.Verb == "create", "it is of node "+node, "the slices")
	case "podcertificaterequests.certificates.k8s.io":
		return part(a.Verb == "create", "it is for a pod of node "+node, "those")
	case "secrets", "configmaps", "persistentvolumeclaims", "persistentvolumes", "serviceaccounts", "volumeattachments.storage.k8s.io", "resourceclaims.resource.k8s.io":
		return related
	}
	return "what every kubelet may do"
}

// ofOwnNode reports whether the request selects by spec.nodeName what is of the node
// that sends it.
func ofOwnNode(a *Attributes, node string) bool {
	return slices.ContainsFunc(a.FieldSelector, func(r fields.Requirement) bool {
		return r.Field == "spec.nodeName" && r.Operator == selection.Equals && r.Value == node
	})
}
