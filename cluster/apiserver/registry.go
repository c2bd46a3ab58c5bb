package apiserver

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/client"
)

// Kind is one kind the server serves: what discovery says about it and how it
// is stored. The registry is pkg/registry in Kubernetes, one store and one
// strategy a kind.
type Kind struct {
	client.Resource
	Singular     string
	ShortNames   []string
	Categories   []string
	Verbs        []string // sorted, as discovery lists them
	Prefix       string   // key prefix in the store: "/registry/minions/"; empty for kinds that are not stored
	Subresources []Subresource

	// Of a kind that most clusters never use nothing is kept, not even a watch
	// cache, before somebody asks for an object of it.
	onDemand bool
	// hub is the kind as which the objects are stored, of a kind that is the same
	// in another version (autoscaling/v1, events.k8s.io); else nil.
	hub *Kind

	custom     *customVersion // nil for built-in kinds
	strategy   *strategy
	apiVersion string                                               // "apps/v1"
	deprecated string                                               // the warning that its users get, or ""
	trigger    string                                               // field by which watches are indexed
	field      func(obj runtime.Object, name string) (string, bool) // value of a selectable field
}

// Subresource is a part of an object with a path of its own.
type Subresource struct {
	Name  string                  // "status", "scale", "binding" …
	GVK   schema.GroupVersionKind // of what it answers; the kind's own for status
	Verbs []string
}

// Stored reports whether objects of the kind are kept (as against the reviews,
// which are answered and forgotten).
func (k *Kind) Stored() bool { return k.Prefix != "" }

// new makes an empty object of the kind.
func (k *Kind) new() runtime.Object {
	if k.custom == nil {
		return newObject(k.GVK())
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(k.GVK())
	return u
}

// ListKind is the kind of a list of the kind.
func (k *Kind) ListKind() string {
	if k.custom != nil {
		return k.custom.of.born.Status.AcceptedNames.ListKind
	}
	return k.Kind + "List"
}

// Deprecation is the warning that the kind's users get, or "".
func (k *Kind) Deprecation() string { return k.deprecated }

// groupResource is how errors name the kind: as it is asked for.
func (k *Kind) groupResource() schema.GroupResource { return k.GroupVersionResource.GroupResource() }

// groupKind is how errors name an object of the kind.
func (k *Kind) groupKind() schema.GroupKind {
	if k.hub != nil {
		return k.hub.groupKind()
	}
	return k.GVK().GroupKind()
}
