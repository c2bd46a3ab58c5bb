// Package registry is pkg/registry in Kubernetes: the table of the kinds that are
// served, each with its strategy, which has what is particular to writing an object of
// that kind: what its writer may not set, what is refused, what is warned about. Kinds
// that are rarely written use Kubernetes' own strategies (strategy_upstream.go); those
// that every cluster writes all the time have leaner ones, on top of Kubernetes'
// validation.
//
// Simplified: objects have the version that is served; the internal version exists
// for validation only. Start reading at [Kind], then kinds.go and [Strategy].
package registry

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/client"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "objects have the version that is served; the internal version exists for validation only",
})

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
	OnDemand bool
	// Hub is the kind as which the objects are stored, of a kind that is the same
	// in another version (autoscaling/v1, events.k8s.io); else nil.
	Hub *Kind
	// SameFields says that the hub has all fields too, under these names or others, so
	// that converting an object can never fail.
	SameFields bool

	Custom *Custom  // nil for built-in kinds
	Fewer  []string // the verbs that discovery tells of, where they are fewer; see Told

	Strategy   *Strategy
	APIVersion string                                               // "apps/v1"
	Deprecated string                                               // the warning that its users get, or ""
	Trigger    string                                               // field by which watches are indexed
	Field      func(obj runtime.Object, name string) (string, bool) // value of a selectable field
}

// Subresource is a part of an object with a path of its own.
type Subresource struct {
	Name  string                  // "status", "scale", "binding" …
	GVK   schema.GroupVersionKind // of what it answers; the kind's own for status
	Verbs []string
}

// Custom is what a kind has more if a CustomResourceDefinition made it.
type Custom struct {
	Version  Version // of the definition
	ListKind string
	Storage  bool // its version is the one that is stored
	Webhook  bool // a webhook converts objects from one version to another
}

// Version is what one version of a definition makes of its objects' bytes and of field
// selectors for them.
type Version interface {
	Encode(k *Kind, obj runtime.Object) ([]byte, error)
	Decode(k *Kind, value []byte, revision int64) (runtime.Object, error)
	Label(k *Kind, label, value string) (string, string, error)
}

// Told are the verbs in discovery. A kind whose definition is being deleted accepts
// writes that discovery no longer lists.
func (k *Kind) Told() []string {
	if k.Fewer != nil {
		return k.Fewer
	}
	return k.Verbs
}

// Is reports whether this is the built-in kind of a name; a custom kind may be
// called Service too.
func (k *Kind) Is(name string) bool { return k.Custom == nil && k.Kind == name }

// MayConvert reports whether a webhook converts the kind's objects where they are
// stored in another version.
func (k *Kind) MayConvert() bool { return k != nil && k.Custom != nil && k.Custom.Webhook }

// Converts reports whether a webhook converts the kind's objects as a rule: its
// version is not the one that is stored.
func (k *Kind) Converts() bool { return k.MayConvert() && !k.Custom.Storage }

// CustomName is what the trace calls a custom kind's cache beside its resource,
// which another kind may have too; "" of a built-in one.
func (k *Kind) CustomName() string {
	switch {
	case k.Custom == nil:
		return ""
	case k.Custom.Storage:
		return k.GroupResource().String()
	}
	return k.GroupResource().String() + "/" + k.Version
}

// Stored reports whether objects of the kind are kept (as against the reviews,
// which are answered and forgotten).
func (k *Kind) Stored() bool { return k.Prefix != "" }

// Key is the key of an object at the store, without the kind's prefix.
func (k *Kind) Key(namespace, name string) string {
	if k.Namespaced {
		return namespace + "/" + name
	}
	return name
}

// New makes an empty object of the kind.
func (k *Kind) New() runtime.Object {
	if k.Custom == nil {
		return NewObject(k.GVK())
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(k.GVK())
	return u
}

// ListKind is the kind of a list of the kind.
func (k *Kind) ListKind() string {
	if k.Custom != nil {
		return k.Custom.ListKind
	}
	return k.Kind + "List"
}

// Deprecation is the warning that the kind's users get, or "".
func (k *Kind) Deprecation() string { return k.Deprecated }

// GroupResource is how errors name the kind: as in requests.
func (k *Kind) GroupResource() schema.GroupResource { return k.GroupVersionResource.GroupResource() }

// GroupKind is how errors name an object of the kind.
func (k *Kind) GroupKind() schema.GroupKind {
	if k.Hub != nil {
		return k.Hub.GroupKind()
	}
	return k.GVK().GroupKind()
}

// Count is a number of objects of a kind, as text: "1 pod", "2 pods".
func Count(n int, k *Kind) string {
	if n == 1 {
		return "1 " + k.Singular
	}
	return strconv.Itoa(n) + " " + k.GroupVersionResource.Resource
}
