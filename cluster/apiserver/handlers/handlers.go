// Package handlers implements the verbs on stored objects: apiserver's
// pkg/endpoints/handlers, and behind them the Store of pkg/registry/generic/registry, which
// takes an object through admission, its kind's strategy and the store. Subresources that are
// more than a part of their object are here too (pkg/registry/core/pod/storage): binding,
// eviction, log, exec, scale.
//
// Each stage takes one form of the object and returns the next:
//
//	decode          body       → decoded    (update, patch: updatedObject)
//	mutate          decoded    → admitted
//	validate…       admitted   → validated
//	admit           validated  → approved
//	insert, replace approved   → written
//	answer          written    → Response
//
// Start reading at [Handlers.Verb], then create.go.
package handlers

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/authz"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/fieldmanager"
	"kviz/cluster/apiserver/names"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/registry/service"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/sim"
)

// Handlers are what the verbs' handlers share.
type Handlers struct {
	Process     *sim.Process // the server's
	Store       *etcd3.Store
	Admission   *admission.Chain
	Authorizers *authz.Authorizers
	Fields      *fieldmanager.Managers
	Services    *service.Allocator
	Names       *names.Generator
	Tokens      TokenIssuer
	Kubelets    Kubelets // nil where there are none
	Backends    Backends
	Dial        Dial // nil where there is no network
	Kinds       Kinds

	// Serve answers a part of a request, which is a request of its own.
	Serve func(t *sim.Task, req *request.Request) *request.Response
	// Components tells how the other parts of the control plane are, by name; nil where
	// nobody knows.
	Components func() []ComponentHealth
	Inert      Inert // nil where that is unknown

	// The modelled time of decoding, and of admission.
	DecodeTime, AdmissionTime time.Duration
}

// Kinds are those that are served now.
type Kinds interface {
	// KindFor is the kind served as a resource; nil if none is.
	KindFor(r schema.GroupVersionResource) *registry.Kind
	// Resources are all of them.
	Resources() []*registry.Kind
	// InUse reports whether there are, or were, objects of a kind on demand.
	InUse(k *registry.Kind) bool
}

// TokenIssuer is the subresource token of a ServiceAccount.
type TokenIssuer interface {
	// Issue answers a TokenRequest; a is what admission is to see of it.
	Issue(c *Call, a *admission.Attributes, body runtime.Object) (runtime.Object, error)
}

// Call is a request that was let in, for a kind that is served.
type Call struct {
	request.Scope
	Req  *request.Request
	Kind *registry.Kind
	Sub  *registry.Subresource // nil for the object itself
	User authn.User

	allocation *service.Allocation // what the round has taken for its Service; nil where that is nothing
	inert      []string            // what of it nothing acts on, for those who did not write it
}

type (
	// decoded was read from the body, or made by a patch; it has its defaults.
	decoded struct{ obj runtime.Object }
	// admitted is what mutating admission has left.
	admitted struct{ obj runtime.Object }
	// validated obeys the rules of its kind.
	validated struct{ obj runtime.Object }
	// approved is what no validating plugin objects to.
	approved struct{ obj runtime.Object }
	// written has the revision at which it was stored.
	written = etcd3.Written
)

// Verb answers a request for objects that are stored.
func (h *Handlers) Verb(c *Call) *request.Response {
	switch c.Req.Verb {
	case "get":
		return h.get(c)
	case "list":
		return h.list(c)
	case "watch":
		return h.watch(c)
	case "create":
		if c.Sub != nil {
			return h.createSub(c)
		}
		return h.create(c)
	case "update", "patch":
		return h.update(c)
	case "delete":
		return h.delete(c)
	case "deletecollection":
		return h.deleteCollection(c)
	}
	return &request.Response{Err: apierrors.NewMethodNotSupported(c.Req.Resource.GroupResource(), c.Req.Verb)}
}

// insert is the storage stage of a creation.
func (h *Handlers) insert(c *Call, in approved) (written, error) {
	return h.Store.Create(&c.Scope, c.At(), in.obj, c.writer())
}

// replace is the storage stage of an update; [etcd3.ErrStale] asks for another round.
func (h *Handlers) replace(c *Call, in approved, old *etcd3.Stored) (written, error) {
	return h.Store.Update(&c.Scope, c.At(), in.obj, old, c.writer())
}

// answer is what was written: the caller's own copy, except of what components patch,
// and of Events, which they only read.
func (c *Call) answer(w written) *request.Response {
	switch {
	case w.Shared && c.Req.System && (c.Req.Verb == "patch" || c.Kind.Is("Event")):
		return &request.Response{Object: w.Object, Shared: w.Object}
	case w.Shared:
		return request.Own(w.Object)
	}
	return &request.Response{Object: w.Object.DeepCopyObject()} // parts of it may be the old object's
}

// At is where the request's object is at the store.
func (c *Call) At() etcd3.Key {
	return etcd3.Key{Kind: c.Kind, Namespace: c.Ref.Namespace, Name: c.Ref.Name}
}

// writer is on whose behalf the request writes.
func (c *Call) writer() etcd3.Writer {
	return etcd3.Writer{DryRun: c.Req.DryRun, Component: c.Req.System}
}
