// Package admission judges what a request would write, after it has been decoded and
// before it is stored: first the plugins that may change the object, then those that
// only validate it. In Kubernetes that is apiserver's pkg/admission, and
// plugin/pkg/admission with one package per plugin; here each plugin is a file. A
// plugin sees the request as Attributes, looks other objects up through a Lister, and
// returns what it did; it knows neither the server nor the store.
//
// Start reading at [Chain]. Webhooks are in package webhook below this folder,
// policies in package policy.
package admission

import (
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Operation is what a request does to an object.
type Operation = admission.Operation

// The operations.
const (
	Create = admission.Create
	Update = admission.Update
	Delete = admission.Delete
	// Connect is a connection to a pod or to what is behind a Service: the object are its options.
	Connect = admission.Connect
)

// Attributes are a request as plugins see it. Mutating plugins change Object, and what
// was Sent, in place.
type Attributes struct {
	Operation   Operation
	Kind        schema.GroupVersionKind     // of the stored object: Pod, also of pods/binding
	Resource    schema.GroupVersionResource // likewise
	Subresource string
	Namespaced  bool   // whether the kind is
	Custom      bool   // a CustomResourceDefinition made the kind, which may share its name with a built-in one
	Namespace   string // that the object is in
	Name        string // as far as it is known
	DryRun      bool
	User        authn.User

	Object    runtime.Object // as it will be stored; nil of a deletion
	OldObject runtime.Object // as it is stored: shared, never changed; nil of a creation

	// Of a subresource with an object of its own (Binding, Scale, Eviction) the one
	// that was sent, and what it was; else nil.
	Sent, OldSent runtime.Object

	// What policies and webhooks are told beside (handlers/create.go, update.go,
	// delete.go).
	SentKind     schema.GroupVersionKind     // of the body: Binding of pods/binding
	SentResource schema.GroupVersionResource // that was asked for, in its version
	SentCreates  bool                        // the verb is create, whatever becomes of the object
	FieldManager string
	Validation   string // of fields: Strict, Warn, Ignore
	Options      *metav1.DeleteOptions
	Objects      admission.ObjectInterfaces // make, default and convert objects of the kind
}

// Is reports whether the object is of a built-in kind.
func (a *Attributes) Is(kind string) bool { return !a.Custom && a.Kind.Kind == kind }

// Forbid is admission.NewForbidden (apiserver pkg/admission/errors.go).
func (a *Attributes) Forbid(err error) *apierrors.StatusError {
	name := a.Name
	if a.Object != nil {
		if m := object.Meta(a.Object); m.GetName() != "" {
			name = m.GetName()
		} else if m.GetGenerateName() != "" {
			name = m.GetGenerateName()
		}
	}
	if name == "" {
		name = "Unknown"
	}
	return apierrors.NewForbidden(a.Resource.GroupResource(), name, err)
}

// Record is the request as upstream's plugins see it.
func (a *Attributes) Record() admission.Attributes {
	name := a.Name
	if a.Object != nil && name == "" {
		name = object.Meta(a.Object).GetName()
	}
	u := &user.DefaultInfo{Name: a.User.Name, UID: a.User.UID, Groups: a.User.Groups}
	return admission.NewAttributesRecord(a.Object, a.OldObject, a.Kind, a.Namespace, name, a.Resource, a.Subresource, a.Operation, nil, a.DryRun, u)
}

// Result is what a plugin did.
type Result struct {
	Note     string // in a sentence; "" for nothing
	Diff     []trace.FieldDiff
	Warnings []string // for the writer
}

// Refused is a refusal of one policy or webhook of many.
type Refused struct {
	By   string
	Err  error
	Took time.Duration // virtual; of the call of a webhook
}

// Error is error.
func (e *Refused) Error() string { return e.Err.Error() }

// Refusal names the policy or webhook.
func (e *Refused) Refusal() request.Refusal {
	return request.Refusal{By: e.By, Took: e.Took, Err: e.Err}
}

// Plugin is an admission plugin: Mutating, Validating or both.
type Plugin interface {
	Name() string
}

// Mutating may change the object (admission.MutationInterface).
type Mutating interface {
	Plugin
	Admit(r *request.Scope, a *Attributes) (Result, error)
}

// Validating only looks (admission.ValidationInterface).
type Validating interface {
	Plugin
	Validate(r *request.Scope, a *Attributes) (Result, error)
}

// Connecting is a validating plugin that is asked about connections, too
// (admission.Interface Handles); the others are not.
type Connecting interface {
	HandlesConnect()
}

// Lister reads objects as the server knows them: from its watch caches, which may be a
// little behind, or from the store.
type Lister interface {
	// Get is an object of the watch cache; nil where it has none of that name.
	Get(r client.Resource, namespace, name string) runtime.Object
	// Each calls fn for the objects of a namespace ("" for all), until it returns false.
	Each(r client.Resource, namespace string, fn func(runtime.Object) bool)
	// Newest are the objects of a namespace ("" for all), by key, of a kind that may have
	// been used by nobody, which costs a look; it counts what has become visible and is not
	// in the cache yet, and waits for a cache that is still being filled.
	Newest(t *sim.Task, r client.Resource, namespace string) ([]runtime.Object, error)
	// Live is an object as the store has it; nil where there is none.
	Live(t *sim.Task, r client.Resource, namespace, name string) (runtime.Object, error)
}

// Names gives names and chances from the seed.
type Names interface {
	// Generate makes a name of its beginning.
	Generate(base string) string
	Rand() *rand.Rand
}

// newest are the objects of a kind that may have been used by nobody, by name.
func newest[T runtime.Object](r *request.Scope, a *Attributes, l Lister, of client.Resource, namespace string) (out []T, err error) {
	all, err := l.Newest(r.Task, of, namespace)
	if err != nil {
		return nil, a.Forbid(err)
	}
	for _, obj := range all {
		out = append(out, obj.(T))
	}
	return out, nil
}
