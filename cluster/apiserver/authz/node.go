package authz

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"kviz/cluster/apiserver/authn"
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

var nodeRules = bootstrappolicy.NodeRules()

// DecideNode is the Node authorizer alone
// (plugin/pkg/auth/authorizer/node/node_authorizer.go Authorize).
func (z *Authorizer) DecideNode(a *Attributes) Decision {
	node, ok := NodeName(&a.User)
	if !ok {
		return Decision{}
	}
	if node == "" {
		return deny(fmt.Sprintf("unknown node for user %q", a.User.Name))
	}
	if decide := divided[a.GroupResource()]; decide != nil && a.Resource != "" {
		return decide(&nodeRequest{a, node, z.Source})
	}
	for i := range nodeRules {
		if allows(&nodeRules[i], a) {
			return allowNode("what every kubelet may do")
		}
	}
	return Decision{}
}

// nodeRequest is a kubelet's request for a resource of which it may have a part.
type nodeRequest struct {
	*Attributes
	node   string
	source Source
}

// divided are the resources of which a kubelet may have a part. Those of
// resource.k8s.io and PodCertificateRequests are not served here; who asks for them
// is refused in the same words.
var divided = map[schema.GroupResource]func(n *nodeRequest) Decision{
	{Resource: "secrets"}:                                              func(n *nodeRequest) Decision { return n.read((*nodeRequest).hasSecret) },
	{Resource: "configmaps"}:                                           func(n *nodeRequest) Decision { return n.read((*nodeRequest).hasConfigMap) },
	{Resource: "persistentvolumeclaims"}:                               (*nodeRequest).claim,
	{Resource: "persistentvolumes"}:                                    func(n *nodeRequest) Decision { return n.get((*nodeRequest).hasVolume) },
	{Resource: "serviceaccounts"}:                                      (*nodeRequest).serviceAccount,
	{Resource: "nodes"}:                                                (*nodeRequest).nodes,
	{Resource: "pods"}:                                                 (*nodeRequest).pod,
	{Group: "coordination.k8s.io", Resource: "leases"}:                 (*nodeRequest).lease,
	{Group: "storage.k8s.io", Resource: "csinodes"}:                    (*nodeRequest).csiNode,
	{Group: "storage.k8s.io", Resource: "volumeattachments"}:           func(n *nodeRequest) Decision { return n.get((*nodeRequest).hasAttachment) },
	{Group: "resource.k8s.io", Resource: "resourceclaims"}:             func(n *nodeRequest) Decision { return n.get((*nodeRequest).hasResourceClaim) },
	{Group: "resource.k8s.io", Resource: "resourceslices"}:             (*nodeRequest).resourceSlice,
	{Group: "certificates.k8s.io", Resource: "podcertificaterequests"}: (*nodeRequest).podCertificate,
}

func allowNode(what string) Decision {
	return Decision{Allowed: true, By: "Node authorizer", Reason: "The Node authorizer allows it: " + what + "."}
}

func deny(why string) Decision { return Decision{Why: why} }

func denyUnrelated(node string) Decision {
	return deny(fmt.Sprintf("no relationship found between node '%s' and this object", node))
}

// related allows what belongs to the node in some way.
func (n *nodeRequest) related(has func(*nodeRequest) bool) Decision {
	if n.Name == "" {
		return deny("No Object name found")
	}
	if !has(n) {
		return denyUnrelated(n.node)
	}
	return allowNode("it belongs to something that is on node " + n.node)
}

// get is authorizeGet.
func (n *nodeRequest) get(has func(*nodeRequest) bool) Decision {
	if n.Verb != "get" {
		return deny("can only get individual resources of this type")
	}
	if n.Subresource != "" {
		return deny("cannot get subresource")
	}
	return n.related(has)
}

// read is authorizeReadNamespacedObject.
func (n *nodeRequest) read(has func(*nodeRequest) bool) Decision {
	switch {
	case !slices.Contains([]string{"get", "list", "watch"}, n.Verb):
		return deny("can only read resources of this type")
	case n.Subresource != "":
		return deny("cannot read subresource")
	case n.Namespace == "":
		return deny("can only read namespaced object of this type")
	}
	return n.related(has)
}

func (n *nodeRequest) claim() Decision {
	if n.Subresource != "status" {
		return n.get((*nodeRequest).hasClaim)
	}
	if n.Verb != "update" && n.Verb != "patch" {
		return deny("can only get/update/patch this type")
	}
	return n.related((*nodeRequest).hasClaim)
}

func (n *nodeRequest) serviceAccount() Decision {
	if n.Verb == "get" && n.Subresource == "" {
		return n.read((*nodeRequest).hasServiceAccount)
	}
	if n.Verb != "create" || n.Name == "" {
		return deny("can only create tokens for individual service accounts")
	}
	if n.Subresource != "token" {
		return deny("can only create token subresource of serviceaccount")
	}
	return n.related((*nodeRequest).hasServiceAccount)
}

func (n *nodeRequest) lease() Decision {
	switch n.Verb {
	case "get", "create", "update", "patch", "delete":
	default:
		return deny("can only get, create, update, patch, or delete a node lease")
	}
	if n.Namespace != "kube-node-lease" {
		return deny(fmt.Sprintf("can only access leases in the %q system namespace", "kube-node-lease"))
	}
	if n.Verb != "create" && n.Name != n.node {
		return deny("can only access node lease with the same name as the requesting node")
	}
	return allowNode("the lease of node " + n.node + " is its own")
}

func (n *nodeRequest) csiNode() Decision {
	switch n.Subresource {
	case "":
		if !slices.Contains([]string{"get", "create", "update", "patch", "delete"}, n.Verb) {
			return deny("can only get, create, update, patch, or delete a CSINode")
		}
	case "status":
		if !utilfeature.DefaultFeatureGate.Enabled(features.CSIVolumeHealth) {
			return deny("CSINode status access requires CSIVolumeHealth feature")
		}
		if !slices.Contains([]string{"get", "update", "patch"}, n.Verb) {
			return deny("can only get, update, or patch CSINode status")
		}
	default:
		return deny("cannot authorize CSINode subresources")
	}
	if n.Verb != "create" && n.Name != n.node {
		return deny("can only access CSINode with the same name as the requesting node")
	}
	return allowNode("the CSINode of node " + n.node + " is its own")
}

func (n *nodeRequest) nodes() Decision {
	const restricted = "NodeRestriction admission sees to it that it is the kubelet's own node"
	switch n.Subresource {
	case "":
		switch n.Verb {
		case "create", "update", "patch":
			return allowNode(restricted)
		case "get", "list", "watch":
			switch n.Name {
			case n.node:
				return allowNode("a kubelet reads its own node")
			case "":
				return deny(fmt.Sprintf("node '%s' cannot read all nodes, only its own Node object", n.node))
			}
			return deny(fmt.Sprintf("node '%s' cannot read '%s', only its own Node object", n.node, n.Name))
		}
	case "status":
		if n.Verb == "update" || n.Verb == "patch" {
			return allowNode(restricted)
		}
	}
	return Decision{}
}

func (n *nodeRequest) pod() Decision {
	restricted := "NodeRestriction admission sees to it that the pod is of node " + n.node
	switch n.Subresource {
	case "":
		switch n.Verb {
		case "get":
			return n.get((*nodeRequest).hasPod)
		case "list", "watch":
			if n.ofOwnNode() {
				return allowNode("it asks for the pods of its own node only")
			}
			if n.Name != "" {
				return n.related((*nodeRequest).hasPod)
			}
			return deny("can only list/watch pods with spec.nodeName field selector")
		case "create", "delete":
			return allowNode(restricted)
		}
	case "status":
		if n.Verb == "update" || n.Verb == "patch" {
			return allowNode(restricted)
		}
	case "eviction":
		if n.Verb == "create" {
			return allowNode(restricted)
		}
	}
	return Decision{}
}

func (n *nodeRequest) resourceSlice() Decision {
	if n.Subresource != "" {
		return deny("cannot authorize ResourceSlice subresources")
	}
	switch n.Verb {
	case "create":
		return allowNode("NodeRestriction admission sees to it that it is of node " + n.node)
	case "get", "update", "patch", "delete":
		return n.related(func(*nodeRequest) bool { return false })
	case "watch", "list", "deletecollection":
		if n.ofOwnNode() {
			return allowNode("it asks for the slices of its own node only")
		}
		return deny("can only list/watch/deletecollection resourceslices with nodeName field selector")
	}
	return deny("only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection")
}

func (n *nodeRequest) podCertificate() Decision {
	switch {
	case !utilfeature.DefaultFeatureGate.Enabled(features.PodCertificateRequest):
		return Decision{}
	case n.Subresource != "":
		return deny("nodes may not access the status subresource of PodCertificateRequests")
	}
	switch n.Verb {
	case "create":
		return allowNode("NodeRestriction admission sees to it that it is for a pod of node " + n.node)
	case "get":
		return n.related(func(*nodeRequest) bool { return false })
	case "list", "watch":
		if n.ofOwnNode() {
			return allowNode("it asks for those of its own node only")
		}
		return deny("can only list/watch podcertificaterequests with nodeName field selector")
	}
	return deny(fmt.Sprintf("nodes may not %s podcertificaterequests", n.Verb))
}

// ofOwnNode reports whether the request selects by spec.nodeName what is of the node
// that sends it.
func (n *nodeRequest) ofOwnNode() bool {
	return slices.ContainsFunc(n.FieldSelector, func(r fields.Requirement) bool {
		return r.Field == "spec.nodeName" && r.Operator == selection.Equals && r.Value == n.node
	})
}
