package authz

import (
	"fmt"
	"strings"

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
func DecideNode(a *Attributes) Decision {
	node, ok := NodeName(&a.User)
	if !ok {
		return Decision{}
	}
	if a.Resource != "" {
		switch a.Group + "/" + a.Resource {
		case "/secrets", "/configmaps":
			return decideNodeReads(a)
		case "/serviceaccounts":
			return decideNodeToken(a)
		case "coordination.k8s.io/leases":
			return decideNodeLease(a, node)
		case "/nodes":
			return decideNodeNode(a, node)
		case "/pods":
			return decideNodePod(a, node)
		}
	}
	for i := range nodeRules {
		if allows(&nodeRules[i], a) {
			return allowNode("what every kubelet may do")
		}
	}
	return Decision{}
}

func allowNode(what string) Decision {
	return Decision{Allowed: true, By: "Node authorizer", Reason: "The Node authorizer allows it: " + what + "."}
}

func deny(why string) Decision { return Decision{Denied: why} }

func decideNodeReads(a *Attributes) Decision {
	switch {
	case a.Verb != "get" && a.Verb != "list" && a.Verb != "watch":
		return deny("can only read resources of this type")
	case a.Subresource != "":
		return deny("cannot read subresource")
	case a.Namespace == "":
		return deny("can only read namespaced object of this type")
	case a.Name == "":
		return deny("No Object name found")
	}
	return allowNode("a kubelet reads what its pods refer to by name")
}

func decideNodeToken(a *Attributes) Decision {
	if a.Verb == "get" && a.Subresource == "" && a.Name != "" {
		return allowNode("a kubelet reads the service accounts of its pods")
	}
	if a.Verb != "create" || a.Name == "" {
		return deny("can only create tokens for individual service accounts")
	}
	if a.Subresource != "token" {
		return deny("can only create token subresource of serviceaccount")
	}
	return allowNode("a kubelet asks for tokens for its pods")
}

func decideNodeLease(a *Attributes, node string) Decision {
	switch a.Verb {
	case "get", "create", "update", "patch", "delete":
	default:
		return deny("can only get, create, update, patch, or delete a node lease")
	}
	if a.Namespace != "kube-node-lease" {
		return deny(fmt.Sprintf("can only access leases in the %q system namespace", "kube-node-lease"))
	}
	if a.Verb != "create" && a.Name != node {
		return deny("can only access node lease with the same name as the requesting node")
	}
	return allowNode("the lease of node " + node + " is its own")
}

func decideNodeNode(a *Attributes, node string) Decision {
	switch a.Subresource {
	case "":
		switch a.Verb {
		case "create", "update", "patch":
			return allowNode("NodeRestriction admission sees to it that it is the kubelet's own node")
		case "get", "list", "watch":
			switch a.Name {
			case node:
				return allowNode("a kubelet reads its own node")
			case "":
				return deny(fmt.Sprintf("node '%s' cannot read all nodes, only its own Node object", node))
			}
			return deny(fmt.Sprintf("node '%s' cannot read '%s', only its own Node object", node, a.Name))
		}
	case "status":
		if a.Verb == "update" || a.Verb == "patch" {
			return allowNode("NodeRestriction admission sees to it that it is the kubelet's own node")
		}
	}
	return Decision{}
}

func decideNodePod(a *Attributes, node string) Decision {
	switch a.Subresource {
	case "":
		switch a.Verb {
		case "get":
			return allowNode("a kubelet reads the pods of its node")
		case "list", "watch":
			if a.Fields["spec.nodeName"] == node || a.Name != "" {
				return allowNode("it asks for the pods of its own node only")
			}
			return deny("can only list/watch pods with spec.nodeName field selector")
		case "create", "delete":
			// admission (NodeRestriction) looks at which
			return allowNode("NodeRestriction admission sees to it that the pod is of node " + node)
		}
	case "status":
		if a.Verb == "update" || a.Verb == "patch" {
			return allowNode("NodeRestriction admission sees to it that the pod is of node " + node)
		}
	case "eviction":
		if a.Verb == "create" {
			return allowNode("NodeRestriction admission sees to it that the pod is of node " + node)
		}
	}
	return Decision{}
}
