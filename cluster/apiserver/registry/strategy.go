package registry

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kviz/cluster/apiserver/authn"
)

// Strategy is what is particular about writing one kind: pkg/registry
// <group>/<kind>/strategy.go. Objects are of the served version; validation
// is Kubernetes' own and gets the internal one.
type Strategy struct {
	// Prepare clears what the writer may not set, and bumps the generation.
	// old is nil for a creation.
	Prepare func(w *Write, obj, old runtime.Object)
	// SubPrepare does so for a subresource.
	SubPrepare map[string]func(w *Write, obj, old runtime.Object)

	Validate       func(obj runtime.Object) field.ErrorList
	ValidateUpdate func(obj, old runtime.Object) field.ErrorList
	SubValidate    map[string]func(obj, old runtime.Object) field.ErrorList

	// ValidateIn is all of these, for a kind whose validation can take long: it ends when its
	// context does. old is nil for a creation.
	ValidateIn func(ctx context.Context, sub string, obj, old runtime.Object) field.ErrorList

	// Declare adds what the tags of the types find to what the functions found, and
	// takes away what both say; nil for Kubernetes' plain way (rest.ValidateCreate).
	Declare    func(obj, old runtime.Object, errs field.ErrorList) field.ErrorList
	SubDeclare map[string]func(obj, old runtime.Object, errs field.ErrorList) field.ErrorList

	// Warn gives the warnings for the writer; old is nil for a creation.
	Warn         func(obj, old runtime.Object) []string
	SubWarn      map[string]func(obj, old runtime.Object) []string
	Canonicalize func(obj runtime.Object)

	CreateOnUpdate bool // PUT and apply may create
	Conditional    bool // an update must carry a resourceVersion
	NoOrphans      bool // garbage collection finalizers are not set
	Orphans        bool // dependents are left alone unless the deletion says otherwise

	// throughInternal says that objects take the way that all objects take in
	// Kubernetes when they are read: defaults, the internal version, and back.
	throughInternal bool

	// Resets are the fields that the kind ("") or a subresource does not let
	// through, if the strategy says so itself.
	Resets map[string]resetFieldSets
}

// Write is what a strategy knows of the request whose object it prepares; upstream
// it is read from the context.
type Write struct {
	User   authn.User
	Now    metav1.Time // virtual
	System bool        // a component of this process writes, which would read no warnings
	Rand   *rand.Rand  // of names and UIDs

	Warnings []string // what the strategy has to say to the writer
}

// Internal converts to the internal version.
func Internal[I any](obj runtime.Object) *I {
	in := new(I)
	convert(obj, in)
	return in
}

func convert[I any](obj runtime.Object, in *I) {
	if err := Scheme.Convert(obj, in, nil); err != nil {
		panic(fmt.Sprintf("apiserver: converting %T to %T: %v", obj, in, err))
	}
}

// lending lends a validation function the internal objects it looks at.
// They are used again unless it found fault: errors may point into them.
func lending[I any](fn func(obj, old *I) field.ErrorList) func(obj, old runtime.Object) field.ErrorList {
	spare := sync.Pool{New: func() any { return new([2]I) }}
	return func(obj, old runtime.Object) field.ErrorList {
		in := spare.Get().(*[2]I)
		convert(obj, &in[0])
		if old != nil {
			convert(old, &in[1])
		}
		errs := fn(&in[0], &in[1])
		if len(errs) == 0 {
			clear(in[:])
			spare.Put(in)
		}
		return errs
	}
}

// creation adapts a Kubernetes validation function.
func creation[I any](fn func(*I) field.ErrorList) func(runtime.Object) field.ErrorList {
	check := lending(func(in, _ *I) field.ErrorList { return fn(in) })
	return func(obj runtime.Object) field.ErrorList { return check(obj, nil) }
}

// updating adapts a Kubernetes validation function for updates.
func updating[I any](fn func(obj, old *I) field.ErrorList) func(obj, old runtime.Object) field.ErrorList {
	return lending(fn)
}

// prepare adapts a typed function.
func prepare[T any, P interface {
	*T
	runtime.Object
}](fn func(w *Write, obj, old P)) func(w *Write, obj, old runtime.Object) {
	return func(w *Write, obj, old runtime.Object) {
		if old == nil {
			fn(w, obj.(P), nil)
			return
		}
		fn(w, obj.(P), old.(P))
	}
}

type (
	Preparers  = map[string]func(w *Write, obj, old runtime.Object)
	Validators = map[string]func(obj, old runtime.Object) field.ErrorList
	declarers  = map[string]func(obj, old runtime.Object, errs field.ErrorList) field.ErrorList
	warners    = map[string]func(obj, old runtime.Object) []string
)
