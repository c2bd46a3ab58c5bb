// Package authz decides who may do what: the authorizers of a kube-apiserver
// with --authorization-mode=Node,RBAC.
//
// A request is described by [Attributes]. The Node authorizer speaks for kubelets, RBAC
// for everyone; one of them has to allow, none can forbid what another allows. RBAC
// reads the live Role, ClusterRole and binding objects; the Node authorizer follows what
// the pods of a node refer to. Both are Kubernetes' own code; this package feeds them,
// remembers what RBAC grants a user, and says what allowed a request. Where neither
// allows it, the reason is in upstream's words, which end up in the 403. Start reading
// at [Authorizer.Decide].
package authz

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/trace"
)

// Attributes say what a request wants (apiserver
// pkg/authorization/authorizer.Attributes).
type Attributes struct {
	User        authn.User
	Verb        string
	Group       string
	Version     string // "" where it is not known
	Resource    string
	Subresource string
	Namespace   string
	Name        string
	// What the selectors of a list, watch or deletecollection ask for, as far as
	// they can be parsed.
	FieldSelector fields.Requirements
	LabelSelector labels.Requirements
	Path          string // of a request for no resource, such as /version; Resource is then empty
	// Nameless says that a resource is meant though Resource is empty, as it may be in a
	// SubjectAccessReview.
	Nameless bool
}

// IsResourceRequest reports whether the request is for a resource.
func (a *Attributes) IsResourceRequest() bool { return a.Resource != "" || a.Nameless }

// GroupResource is the resource with its group.
func (a *Attributes) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: a.Group, Resource: a.Resource}
}

// Decision is what the authorizers say.
type Decision struct {
	Allowed bool
	By      string // the binding or rule that allowed
	Reason  string // why, in a sentence
	Why     string // the reason in Kubernetes' words, for its 403, for SubjectAccessReviews and the audit log; often nothing

	// Of a chain of authorizers that a file configures.
	Forbidden bool     // one of them has denied it; nobody after it was asked
	Asked     []string // what each said: "rbac: no opinion"
	Err       error    // what went wrong; a request that is not allowed then fails with 500
	Answered  trace.ID // the newest answer of a server that was asked
}
