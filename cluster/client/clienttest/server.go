// Package clienttest is a small API server in memory, for tests of components
// that speak [client.Interface]: revisions, conflicts, watches, the status
// subresource, finalizers and graceful deletion behave as in the real one;
// there is no authentication, admission, defaulting or validation.
//
// Every request takes [Latency] of virtual time, so that tasks interleave.
// Start reading at [New].
package clienttest

import (
	"fmt"
	"time"

	"github.com/tidwall/btree"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// Latency is how long a request takes.
const Latency = time.Millisecond

// Server is the API server in memory.
type Server struct {
	k        *sim.Kernel
	revision int64
	uids     int
	names    int
	kinds    map[client.Resource]*kind
	watches  uint64

	// Down makes every request fail as unreachable and ends all watches.
	down bool
	// Refuse, if set, may refuse a request by returning an error. verb is get,
	// list, watch, create, update, patch, delete.
	Refuse func(verb string, r client.Resource, namespace, name string) error
	// NoWatchList makes the server refuse WatchList, as old servers do.
	NoWatchList bool
	// Aggregated answers for the other servers behind this one, which serve AggregatedGroups,
	// with an HTTP status and a body.
	Aggregated       func(client.AggregatedRead) (code int, body []byte)
	AggregatedGroups []schema.GroupVersion
	// Discovered, if set, is what is served of a resource.
	Discovered func(schema.GroupResource) (client.ServedResource, bool)
	// Requests counts requests by "verb resource".
	Requests map[string]int
}

type kind struct {
	items   btree.Map[string, runtime.Object]
	history []record
	floor   int64 // revisions up to this one are compacted away
	watches []*watcher
}

// record is one change, as watches see it.
type record struct {
	kind     watch.EventType
	obj      runtime.Object
	prev     runtime.Object
	revision int64
	why      []trace.ID
}

// New makes an empty server.
func New(k *sim.Kernel) *Server {
	return &Server{k: k, revision: 1, kinds: map[client.Resource]*kind{}, Requests: map[string]int{}}
}

// Client is a connection to the server.
func (s *Server) Client() client.Interface { return &conn{s} }

// SetDown takes the server away or brings it back.
func (s *Server) SetDown(down bool) {
	s.down = down
	if !down {
		return
	}
	s.EndWatches()
}

// EndWatches ends every open watch, as a server does every few minutes.
func (s *Server) EndWatches() {
	for _, r := range client.Resources() {
		s.EndWatchesOf(r)
	}
}

// EndWatchesOf ends the open watches of one kind.
func (s *Server) EndWatchesOf(r client.Resource) {
	k := s.kind(r)
	for _, w := range k.watches {
		w.box.Close()
	}
	k.watches = nil
}

// Compact forgets all history: watches from earlier revisions get 410.
func (s *Server) Compact() {
	for _, r := range client.Resources() {
		k := s.kind(r)
		k.history, k.floor = nil, s.revision
	}
}

// Revision is the newest revision.
func (s *Server) Revision() int64 { return s.revision }

// Bookmark tells the watches of a kind which revision the server is at.
func (s *Server) Bookmark(r client.Resource) {
	for _, w := range s.kind(r).watches {
		w.offer(record{kind: watch.Bookmark, obj: bookmark(r, s.revision), revision: s.revision})
	}
}

// Objects lists the objects of a kind, sorted by key.
func (s *Server) Objects(r client.Resource) []runtime.Object { return s.kind(r).items.Values() }

// Object gives one object, or nil.
func (s *Server) Object(r client.Resource, namespace, name string) runtime.Object {
	o, _ := s.kind(r).items.Get(key(namespace, name))
	return o
}

func (s *Server) kind(r client.Resource) *kind {
	k := s.kinds[r]
	if k == nil {
		k = &kind{}
		s.kinds[r] = k
	}
	return k
}

func key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// commit writes obj (or removes it) and tells the watches.
func (s *Server) commit(t *sim.Task, r client.Resource, et watch.EventType, obj runtime.Object) runtime.Object {
	s.revision++
	k := s.kind(r)
	m := mustMeta(obj)
	m.SetResourceVersion(fmt.Sprint(s.revision))
	id := key(m.GetNamespace(), m.GetName())
	prev, _ := k.items.Get(id)
	if et == watch.Deleted {
		k.items.Delete(id)
	} else {
		k.items.Set(id, obj)
	}
	rec := record{kind: et, obj: obj, prev: prev, revision: s.revision, why: t.Causes()}
	k.history = append(k.history, rec)
	for _, w := range k.watches {
		w.offer(rec)
	}
	return obj.DeepCopyObject()
}

func mustMeta(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic("clienttest: object without metadata: " + err.Error())
	}
	return m
}

func (s *Server) uid() types.UID {
	s.uids++
	return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.uids))
}

// generate gives the five letters at the end of a generated name. They count
// up, so that transcripts are easy to read.
func (s *Server) generate(prefix string) string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	n, suffix := s.names, make([]byte, 5)
	s.names++
	for i := len(suffix) - 1; i >= 0; i-- {
		suffix[i] = letters[n%len(letters)]
		n /= len(letters)
	}
	return prefix + string(suffix)
}

// selects says whether an object is in a list or watch.
func selects(r client.Resource, namespace string, opts metav1.ListOptions) (func(runtime.Object) bool, error) {
	ls, err := labels.Parse(opts.LabelSelector)
	if err != nil {
		return nil, err
	}
	fs, err := fields.ParseSelector(opts.FieldSelector)
	if err != nil {
		return nil, err
	}
	return func(obj runtime.Object) bool {
		m := mustMeta(obj)
		if namespace != "" && m.GetNamespace() != namespace || !ls.Matches(labels.Set(m.GetLabels())) {
			return false
		}
		return fs.Empty() || fs.Matches(fieldsOf(obj, m))
	}, nil
}

func fieldsOf(obj runtime.Object, m metav1.Object) fields.Set {
	set := fields.Set{"metadata.name": m.GetName(), "metadata.namespace": m.GetNamespace()}
	switch o := obj.(type) {
	case *corev1.Pod:
		set["spec.nodeName"], set["status.phase"] = o.Spec.NodeName, string(o.Status.Phase)
	case *certificatesv1.PodCertificateRequest:
		set["spec.nodeName"] = string(o.Spec.NodeName)
	}
	return set
}
