package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"kviz/cluster"
	"kviz/cluster/beside"
	"kviz/cluster/control"
)

// side is a cluster of kviz with one controller manager: kviz' own, or kube-controller-manager's binary. All else, the
// API server, the scheduler and the kubelets, is kviz' on both sides.
type side struct {
	*beside.Side
	dyn    dynamic.Interface
	caches map[string]cache.SharedIndexInformer // by resource

	mu     sync.Mutex
	rooms  map[string]*room  // by namespace
	drawn  map[string]string // names that end in random letters, and what they are called here
	places map[string]string // the namespace whose story has a node
}

// room is what is known of a story's namespace.
type room struct {
	changed time.Time // when the last change was seen
	extent  *extent   // in the current step
	open    map[series]bool
}

// watched are the kinds that a story looks at.
var watched = map[string]schema.GroupVersionResource{
	"pods":                     {Version: "v1", Resource: "pods"},
	"replicationcontrollers":   {Version: "v1", Resource: "replicationcontrollers"},
	"resourcequotas":           {Version: "v1", Resource: "resourcequotas"},
	"persistentvolumeclaims":   {Version: "v1", Resource: "persistentvolumeclaims"},
	"events":                   {Version: "v1", Resource: "events"},
	"nodes":                    {Version: "v1", Resource: "nodes"},
	"deployments":              {Group: "apps", Version: "v1", Resource: "deployments"},
	"replicasets":              {Group: "apps", Version: "v1", Resource: "replicasets"},
	"statefulsets":             {Group: "apps", Version: "v1", Resource: "statefulsets"},
	"daemonsets":               {Group: "apps", Version: "v1", Resource: "daemonsets"},
	"controllerrevisions":      {Group: "apps", Version: "v1", Resource: "controllerrevisions"},
	"jobs":                     {Group: "batch", Version: "v1", Resource: "jobs"},
	"cronjobs":                 {Group: "batch", Version: "v1", Resource: "cronjobs"},
	"poddisruptionbudgets":     {Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
	"horizontalpodautoscalers": {Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
	"persistentvolumes":        {Version: "v1", Resource: "persistentvolumes"},
	"volumeattachments":        {Group: "storage.k8s.io", Version: "v1", Resource: "volumeattachments"},
}

// boot starts a side. Its time is the machine's, as the binary's is.
func boot(t *testing.T, name string, nodes int, without ...string) *side {
	t.Helper()
	s := &side{
		Side:   beside.Serve(t, name, cluster.Config{Seed: 1, Bare: true, Nodes: nodes, Epoch: time.Now(), Speed: 1, Without: without}),
		caches: map[string]cache.SharedIndexInformer{}, rooms: map[string]*room{}, drawn: map[string]string{}, places: map[string]string{},
	}
	var err error
	if s.dyn, err = dynamic.NewForConfig(s.Client); err != nil {
		t.Fatal(err)
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(s.dyn, 0)
	for name, r := range watched {
		inf := factory.ForResource(r).Informer()
		if err := inf.AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}); err != nil && name == "" {
			t.Fatal(err)
		}
		if _, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { s.see(obj, false) }, UpdateFunc: func(_, obj any) { s.see(obj, false) }, DeleteFunc: func(obj any) { s.see(obj, true) },
		}); err != nil {
			t.Fatal(err)
		}
		s.caches[name] = inf
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	return s
}

// see takes note of a change.
func (s *side) see(obj any, gone bool) {
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	o, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if prefix := o.GetGenerateName(); prefix != "" && strings.HasPrefix(o.GetName(), prefix) && o.GetLabels()["statefulset.kubernetes.io/pod-name"] == "" {
		s.drawn[o.GetName()] = prefix + "#"
	}
	in := o.GetNamespace()
	switch o.GetKind() {
	case "Node":
		in = s.places[o.GetName()]
	case "PersistentVolume":
		in = volumeOf(o)
	case "VolumeAttachment":
		in = s.places[at(o, "spec", "nodeName")]
	}
	r := s.rooms[in]
	if r == nil {
		return
	}
	r.changed = time.Now()
	switch o.GetKind() {
	case "Pod":
		r.extent.see(o, gone)
	case "Event":
		r.note(o)
	}
}

// enter makes a story's namespace, whose nodes are these.
func (s *side) enter(ctx context.Context, ns string, nodes []string) error {
	s.mu.Lock()
	s.rooms[ns] = &room{changed: time.Now(), extent: newExtent(nil), open: map[series]bool{}}
	for _, n := range nodes {
		s.places[n] = ns
	}
	s.mu.Unlock()
	for _, n := range nodes {
		if err := s.patch(ctx, "nodes", "", n, map[string]any{"metadata": map[string]any{"labels": map[string]any{
			"story": ns, "topology.kubernetes.io/zone": ns, "extra": nil,
		}}, "spec": map[string]any{"unschedulable": nil}}); err != nil {
			return err
		}
	}
	if err := s.create(ctx, "", "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+ns+"}"); err != nil {
		return err
	}
	// No pod can be made before its ServiceAccount.
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	for {
		if _, err := s.API.CoreV1().ServiceAccounts(ns).Get(ctx, "default", metav1.GetOptions{}); err == nil || !apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("namespace %s has no ServiceAccount: %w", ns, ctx.Err())
		case <-time.After(look):
		}
	}
}

// client is for the objects of a resource in a namespace.
func (s *side) client(resource, ns string) dynamic.ResourceInterface {
	if resource == "namespaces" {
		return s.dyn.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	}
	if ns == "" || resource == "persistentvolumes" {
		return s.dyn.Resource(watched[resource])
	}
	return s.dyn.Resource(watched[resource]).Namespace(ns)
}

// create makes what a manifest says.
func (s *side) create(ctx context.Context, ns, manifest string) error {
	o := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(manifest), &o.Object); err != nil {
		return fmt.Errorf("%w\n%s", err, manifest)
	}
	gvr, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	_, err := s.client(gvr.Resource, ns).Create(ctx, o, metav1.CreateOptions{})
	return err
}

// patch merges a change into an object.
func (s *side) patch(ctx context.Context, resource, ns, name string, change map[string]any) error {
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = s.client(resource, ns).Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{})
	return err
}

func (s *side) delete(ctx context.Context, resource, ns, name string, how metav1.DeletionPropagation) error {
	return s.client(resource, ns).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &how})
}

// exec types a line into the console.
func (s *side) exec(ctx context.Context, line string) error {
	var out bytes.Buffer
	if code := s.C.Exec(ctx, line, control.Streams{Out: &out, Err: &out}); code != 0 {
		return fmt.Errorf("%s: exit status %d: %s", line, code, out.String())
	}
	return nil
}

// all are the objects of a kind in a namespace, as last seen.
func (s *side) all(resource, ns string) (found []*unstructured.Unstructured) {
	if resource == "persistentvolumes" {
		return s.allVolumes(ns)
	}
	items, _ := s.caches[resource].GetIndexer().ByIndex(cache.NamespaceIndex, ns)
	for _, item := range items {
		if o, ok := item.(*unstructured.Unstructured); ok {
			found = append(found, o)
		}
	}
	return found
}

// node is a node as last seen.
func (s *side) node(name string) *unstructured.Unstructured {
	item, _, _ := s.caches["nodes"].GetStore().GetByKey(name)
	o, _ := item.(*unstructured.Unstructured)
	return o
}

// quiet is for how long nothing has changed in a namespace.
func (s *side) quiet(ns string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.rooms[ns]; r != nil {
		return time.Since(r.changed)
	}
	return 0
}
