// Package client is how every component of the simulation talks to the API
// server: the verbs of client-go's dynamic client, with the task that waits
// for the answer as the first argument.
//
// In Kubernetes this is client-go's rest.Client over HTTPS. Here a request goes to
// the API server's pipeline without a socket, as a task of the API server's process;
// what a caller can notice is the same: it takes time, it can be refused, the server
// can be down, and the answer is the caller's own copy (except for those of Patch and
// of writing Events, which callers only read). Components never import the API
// server: [Interface] is all they know of it.
//
// Errors are the API machinery's own (apierrors.IsNotFound, IsConflict,
// IsInvalid …); a server that cannot be reached gives an error for which
// [IsUnreachable] is true.
//
// Start reading at [Interface].
package client

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Interface is a connection to the API server as one user.
//
// Objects given to it are not kept; objects it returns are the caller's to
// change, except those inside a [WatchEvent] or a list from [Interface.List],
// which are shared and must be copied before they are changed (as with
// informer caches in client-go).
type Interface interface {
	Get(t *sim.Task, r Resource, namespace, name string) (runtime.Object, error)

	// List answers from the server's watch cache when opts.ResourceVersion is
	// "0", else with the store's newest state. revision is the list's
	// resourceVersion.
	List(t *sim.Task, r Resource, namespace string, opts metav1.ListOptions) (items []runtime.Object, revision int64, err error)

	// Watch opens a watch from opts.ResourceVersion. opts.SendInitialEvents
	// asks for a WatchList: the present objects as ADDED, then a BOOKMARK
	// annotated metav1.InitialEventsAnnotationKey. A resourceVersion that is
	// too old gives 410 (apierrors.IsResourceExpired), at once or as an ERROR
	// event.
	Watch(t *sim.Task, r Resource, namespace string, opts metav1.ListOptions) (Watch, error)

	Create(t *sim.Task, r Resource, namespace string, obj runtime.Object) (runtime.Object, error)

	// Update replaces the object; subresource is "" or "status", "scale" …
	// A resourceVersion in obj that is not the newest gives a conflict.
	Update(t *sim.Task, r Resource, namespace string, obj runtime.Object, subresource string) (runtime.Object, error)

	// Patch changes parts of an object. What it gives is shared: copy it before
	// changing it.
	Patch(t *sim.Task, r Resource, namespace, name string, pt types.PatchType, data []byte, subresource string) (runtime.Object, error)

	// Apply is a server-side apply of an apply configuration, in JSON, by a field manager
	// that takes over what others own (force). Its result is shared likewise.
	Apply(t *sim.Task, r Resource, namespace, name string, configuration []byte, manager string) (runtime.Object, error)

	// ApplyStatus is Apply of an object's status.
	ApplyStatus(t *sim.Task, r Resource, namespace, name string, configuration []byte, manager string) (runtime.Object, error)

	Delete(t *sim.Task, r Resource, namespace, name string, opts metav1.DeleteOptions) error

	// CreateSub posts to a subresource: pods/binding, pods/eviction,
	// serviceaccounts/token.
	CreateSub(t *sim.Task, r Resource, namespace, name, subresource string, obj runtime.Object) (runtime.Object, error)
}

// Watch is an open watch.
type Watch interface {
	// Recv waits for the next event and emits watch.event for it in the
	// receiving task's lane. ok is false when the watch has ended; the client
	// then watches again from the last revision it saw. e.ID is then the event
	// of the end, if there is one.
	Recv(t *sim.Task) (e WatchEvent, ok bool)
	// Stop ends the watch from the client's side.
	Stop()
}

// WatchEvent is one delivered event.
type WatchEvent struct {
	Type     watch.EventType
	Object   runtime.Object // shared; a *metav1.Status for ERROR
	Revision int64
	Size     int      // about how many bytes of the object nobody else may have
	ID       trace.ID // the watch.event in the trace: the cause of what follows
}

// Resource names a kind as the API does.
type Resource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
}

// GVK is the resource's group, version and kind.
func (r Resource) GVK() schema.GroupVersionKind { return r.GroupVersion().WithKind(r.Kind) }

func resource(group, version, plural, kind string, namespaced bool) Resource {
	return Resource{schema.GroupVersionResource{Group: group, Version: version, Resource: plural}, kind, namespaced}
}

// The kinds this cluster serves.
var (
	Namespaces                = resource("", "v1", "namespaces", "Namespace", false)
	Nodes                     = resource("", "v1", "nodes", "Node", false)
	Pods                      = resource("", "v1", "pods", "Pod", true)
	Services                  = resource("", "v1", "services", "Service", true)
	ConfigMaps                = resource("", "v1", "configmaps", "ConfigMap", true)
	Secrets                   = resource("", "v1", "secrets", "Secret", true)
	ServiceAccounts           = resource("", "v1", "serviceaccounts", "ServiceAccount", true)
	Endpoints                 = resource("", "v1", "endpoints", "Endpoints", true)
	Events                    = resource("", "v1", "events", "Event", true)
	ReplicaSets               = resource("apps", "v1", "replicasets", "ReplicaSet", true)
	Deployments               = resource("apps", "v1", "deployments", "Deployment", true)
	EndpointSlices            = resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true)
	Leases                    = resource("coordination.k8s.io", "v1", "leases", "Lease", true)
	Roles                     = resource("rbac.authorization.k8s.io", "v1", "roles", "Role", true)
	RoleBindings              = resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true)
	ClusterRoles              = resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false)
	ClusterRoleBindings       = resource("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", false)
	CustomResourceDefinitions = resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false)
	PriorityClasses           = resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false)
)

// Resources lists the kinds this cluster serves, in the order kubectl
// api-resources prints them by group.
func Resources() []Resource {
	return []Resource{
		ConfigMaps, Endpoints, Events, Namespaces, Nodes, Pods, Secrets, ServiceAccounts, Services,
		Deployments, ReplicaSets, Leases, EndpointSlices,
		ClusterRoleBindings, ClusterRoles, RoleBindings, Roles, PriorityClasses,
	}
}

// ErrUnreachable is wrapped by errors of a server that is down or cut off.
var ErrUnreachable = errors.New("connection refused")

// IsUnreachable reports whether err says that the server could not be reached.
func IsUnreachable(err error) bool { return errors.Is(err, ErrUnreachable) }

// Get is [Interface.Get] with the object's type.
func Get[T runtime.Object](t *sim.Task, c Interface, r Resource, namespace, name string) (T, error) {
	return typed[T](c.Get(t, r, namespace, name))
}

// Create is [Interface.Create] with the object's type.
func Create[T runtime.Object](t *sim.Task, c Interface, r Resource, namespace string, obj T) (T, error) {
	return typed[T](c.Create(t, r, namespace, obj))
}

// Update is [Interface.Update] of the object itself, with its type.
func Update[T runtime.Object](t *sim.Task, c Interface, r Resource, namespace string, obj T) (T, error) {
	return typed[T](c.Update(t, r, namespace, obj, ""))
}

// UpdateStatus is [Interface.Update] of the status, with the object's type.
func UpdateStatus[T runtime.Object](t *sim.Task, c Interface, r Resource, namespace string, obj T) (T, error) {
	return typed[T](c.Update(t, r, namespace, obj, "status"))
}

func typed[T runtime.Object](o runtime.Object, err error) (T, error) {
	var zero T
	if err != nil {
		return zero, err
	}
	return o.(T), nil
}
