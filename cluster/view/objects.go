package view

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/trace"
)

// Object is an API object as it lies in the store.
type Object struct {
	gen
	Ref            trace.Ref
	Resource       string         // "pods"
	Value          runtime.Object // nil where the trace has none
	UID            string
	Revision       int64
	CreateRevision int64
	Version        int64
	Size           int
	Created        trace.ID // store.commit that created it
	Changed        trace.ID // store.commit that wrote it last
	At             time.Duration
	Deleted        bool

	history []Change
	owners  []metav1.OwnerReference
	stage   Stage // by which its owners' families count it
}

func (o *Object) seal() { clip(&o.history) }

// Change is one write of an object.
type Change struct {
	Event    trace.ID // store.commit
	At       time.Duration
	Revision int64
	Type     string // ADDED, MODIFIED, DELETED
	Value    runtime.Object
}

// History lists the last writes of the object (at most about 32), oldest
// first.
func (o *Object) History() []Change { return last(o.history, 32) }

// Name is the object's name.
func (o *Object) Name() string { return o.Ref.Name }

// Namespace is the object's namespace, "" where there is none.
func (o *Object) Namespace() string { return o.Ref.Namespace }

// Meta is the object's metadata, or nil.
func (o *Object) Meta() metav1.Object {
	if o.Value == nil {
		return nil
	}
	m, err := meta.Accessor(o.Value)
	if err != nil {
		return nil
	}
	return m
}

// KubeEvents are the Kubernetes Events about one object.
type KubeEvents struct {
	gen
	list []KubeEvent
}

func (k *KubeEvents) seal() { clip(&k.list) }

// KubeEvent is a Kubernetes Event as it was recorded.
type KubeEvent struct {
	*trace.KubeEvent
	Event trace.ID
	At    time.Duration
}

// ResourceOf is the plural of a kind, as in API paths: "EndpointSlice" gives
// "endpointslices". A plural is returned as it is, and the usual short names
// (po, svc, deploy …) are known.
func ResourceOf(kind string) string {
	if r, ok := shortNames[kind]; ok {
		return r
	}
	if kind == strings.ToLower(kind) {
		return kind
	}
	plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Kind: kind})
	return plural.Resource
}

var shortNames = map[string]string{
	"po": "pods", "pod": "pods", "svc": "services", "service": "services", "deploy": "deployments", "deployment": "deployments",
	"rs": "replicasets", "replicaset": "replicasets", "no": "nodes", "node": "nodes", "ns": "namespaces", "namespace": "namespaces",
	"cm": "configmaps", "configmap": "configmaps", "secret": "secrets", "sa": "serviceaccounts", "serviceaccount": "serviceaccounts",
	"ev": "events", "event": "events", "endpointslice": "endpointslices", "lease": "leases", "pc": "priorityclasses",
	"ds": "daemonsets", "daemonset": "daemonsets", "sts": "statefulsets", "statefulset": "statefulsets", "job": "jobs",
	"cj": "cronjobs", "cronjob": "cronjobs", "pv": "persistentvolumes", "pvc": "persistentvolumeclaims", "sc": "storageclasses",
	"hpa": "horizontalpodautoscalers", "pdb": "poddisruptionbudgets", "netpol": "networkpolicies", "ing": "ingresses",
	"ep": "endpoints", "quota": "resourcequotas", "limits": "limitranges", "crd": "customresourcedefinitions",
}

func objectKey(resource, namespace, name string) string {
	return resource + "\x00" + namespace + "\x00" + name
}

// Resources lists the resources of which there are objects, with how many.
func (s *State) Resources() map[string]int {
	n := map[string]int{}
	s.objects.all(func(_ string, o *Object) bool { n[o.Resource]++; return true })
	return n
}

// Objects lists the objects of a kind ("pods", "Pod" or "po") in a namespace,
// or in all for "", by namespace and name.
func (s *State) Objects(kind, namespace string) []*Object {
	var out []*Object
	s.EachObject(kind, namespace, func(o *Object) bool { out = append(out, o); return true })
	return out
}

// EachObject visits the objects that [State.Objects] lists until f returns
// false.
func (s *State) EachObject(kind, namespace string, f func(*Object) bool) {
	prefix := ResourceOf(kind) + "\x00"
	if namespace != "" {
		prefix += namespace + "\x00"
	}
	s.objects.from(prefix, func(key string, o *Object) bool {
		return strings.HasPrefix(key, prefix) && f(o)
	})
}

// Object is one object, or nil.
func (s *State) Object(kind, namespace, name string) *Object {
	o, _ := s.objects.get(objectKey(ResourceOf(kind), namespace, name))
	return o
}

// ObjectOf is the object a ref names (as it is now, whatever the ref's UID), or
// nil.
func (s *State) ObjectOf(ref trace.Ref) *Object {
	return s.Object(ref.Kind, ref.Namespace, ref.Name)
}

// ObjectByUID is the object with a UID, or nil.
func (s *State) ObjectByUID(uid string) *Object {
	key, ok := s.uids.get(uid)
	if !ok {
		return nil
	}
	o, _ := s.objects.get(key)
	return o
}

// Children lists the objects whose ownerReferences name the UID, by resource,
// namespace and name.
func (s *State) Children(uid string) []*Object {
	if uid == "" {
		return nil
	}
	var out []*Object
	prefix := uid + "\x00"
	s.owned.from(prefix, func(k, key string) bool {
		if !strings.HasPrefix(k, prefix) {
			return false
		}
		if o, ok := s.objects.get(key); ok {
			out = append(out, o)
		}
		return true
	})
	return out
}

// Owner is the object that controls this one, or nil.
func (s *State) Owner(o *Object) *Object {
	m := o.Meta()
	if m == nil {
		return nil
	}
	if ref := metav1.GetControllerOf(m); ref != nil {
		return s.ObjectByUID(string(ref.UID))
	}
	return nil
}

// Deleted lists the last deleted objects (at most 128), oldest first.
func (s *State) Deleted() []*Object { return s.gone.values() }

// Find is the object a ref names, or the last deleted one of that name, or
// nil.
func (s *State) Find(ref trace.Ref) *Object {
	if o := s.ObjectOf(ref); o != nil {
		return o
	}
	resource := ResourceOf(ref.Kind)
	var found *Object
	s.gone.back(func(_ uint64, o *Object) bool {
		if o.Resource == resource && o.Ref.Namespace == ref.Namespace && o.Ref.Name == ref.Name {
			found = o
		}
		return found == nil
	})
	return found
}

// KubeEvents lists the last Kubernetes Events of all objects (at most 256),
// oldest first.
func (s *State) KubeEvents() []KubeEvent { return last(s.kubeEvents, 256) }

// KubeEventsAbout lists the last Kubernetes Events about one object (at most
// about 16), oldest first.
func (s *State) KubeEventsAbout(ref trace.Ref) []KubeEvent {
	k, ok := s.about.get(aboutKey(ref))
	if !ok {
		return nil
	}
	return last(k.list, 16)
}

func aboutKey(ref trace.Ref) string { return ref.Kind + "\x00" + ref.Key() }
