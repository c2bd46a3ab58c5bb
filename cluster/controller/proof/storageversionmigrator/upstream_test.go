// Package storageversionmigrator compares the storage version migrator with upstream's, whose
// packages the main module does not have.
package storageversionmigrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	svmv1 "k8s.io/api/storagemigration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdac "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration/apiextensions/v1"
	crdclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	upstream "k8s.io/kubernetes/pkg/controller/storageversionmigrator"
	"pgregory.net/rapid"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/controller/storageversionmigrator"
	"kviz/cluster/controller/upstreamtest"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

func start(b *clienttest.Bench) {
	c := b.Client()
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, c)
	storageversionmigrator.New(reconcile.NewEnv(p, storageversionmigrator.Name, storageversionmigrator.Name, c, f, 1)).Start()
	hat, _ := discovered(schema.GroupResource{Group: "example.com", Resource: "hats"})
	f.For(hat.Resource)
	f.Start()
}

func migration(name, group, resource string) *svmv1.StorageVersionMigration {
	return &svmv1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       svmv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: group, Resource: resource}},
	}
}

// hats is a definition that has stored v1beta1, and stores v1 now.
func hats() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "hats.example.com", Generation: 1},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "example.com", Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
			{Name: "v1beta1", Served: true}, {Name: "v1", Served: true, Storage: true},
		}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1beta1", "v1"}},
	}
}

var readWrite = []string{"create", "delete", "get", "list", "patch", "update", "watch"}

// discovered is what is served in these tests.
func discovered(gr schema.GroupResource) (client.ServedResource, bool) {
	switch gr.String() {
	case "configmaps":
		return client.ServedResource{Resource: client.ConfigMaps, Verbs: readWrite}, true
	case "events":
		return client.ServedResource{Resource: client.Events, Verbs: readWrite}, true
	case "componentstatuses":
		return client.ServedResource{Resource: client.ComponentStatuses, Verbs: []string{"get", "list"}}, true
	case "hats.example.com":
		return client.ServedResource{Resource: client.Resource{GroupVersionResource: gr.WithVersion("v1"), Kind: "Hat"}, Verbs: readWrite}, true
	}
	return client.ServedResource{}, false
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
}

// told is how the migrations and the definition are.
func told(migrations []*svmv1.StorageVersionMigration, crd *apiextensionsv1.CustomResourceDefinition) string {
	var out strings.Builder
	for _, m := range migrations {
		fmt.Fprintf(&out, "%s revision %v\n", m.Name, m.Status.ResourceVersion != "")
		for _, c := range m.Status.Conditions {
			fmt.Fprintf(&out, "  %s=%s %s of %d: %s\n", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
		}
	}
	if crd != nil {
		fmt.Fprintf(&out, "%s %v\n", crd.Name, crd.Status.StoredVersions)
		for _, c := range crd.Status.Conditions {
			fmt.Fprintf(&out, "  %s=%s %s of %d: %s\n", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
		}
	}
	return out.String()
}

func state(b *clienttest.Bench) string {
	var all []*svmv1.StorageVersionMigration
	for _, o := range b.Objects(client.StorageVersionMigrations) {
		all = append(all, o.(*svmv1.StorageVersionMigration))
	}
	crd, _ := b.Object(client.CustomResourceDefinitions, "", "hats.example.com").(*apiextensionsv1.CustomResourceDefinition)
	return told(all, crd)
}

// story is some migrations, and what the API server answers to the patches of three ConfigMaps.
type story struct {
	migrations []planned
	answers    map[string]string // of each ConfigMap
	busy       time.Duration     // until when "busy" is answered; then all is well
	changed    int               // after how many seconds the definition is changed; 0 for never
	late       time.Duration     // for how long the cache of hats is behind
}

type planned struct {
	group, resource string
	after           int // seconds
}

func anyStory(r *rapid.T) story {
	s := story{answers: map[string]string{}, changed: rapid.SampledFrom([]int{0, 0, 1, 2, 3, 6, 101}).Draw(r, "changed")}
	s.late = rapid.SampledFrom([]time.Duration{0, 0, 4250 * time.Millisecond, 50250 * time.Millisecond}).Draw(r, "late")
	for range rapid.IntRange(1, 4).Draw(r, "migrations") {
		gr := schema.ParseGroupResource(rapid.SampledFrom([]string{"configmaps", "configmaps", "hats.example.com", "caps.example.com", "componentstatuses"}).Draw(r, "of"))
		s.migrations = append(s.migrations, planned{gr.Group, gr.Resource, rapid.SampledFrom([]int{1, 2, 100}).Draw(r, "after")})
	}
	s.busy = rapid.SampledFrom([]time.Duration{1250 * time.Millisecond, 3250 * time.Millisecond, 50250 * time.Millisecond}).Draw(r, "busy")
	for _, name := range []string{"a", "b", "c"} {
		s.answers[name] = rapid.SampledFrom([]string{"fine", "fine", "conflict", "gone", "busy", "broken", "forbidden"}).Draw(r, name)
	}
	return s
}

// patch is what the API server answers after a while.
func (s story) patch(name string, now time.Duration) error {
	of := client.ConfigMaps.GroupResource()
	switch answer := s.answers[name]; {
	case answer == "conflict":
		return apierrors.NewConflict(of, name, errors.New("it is another"))
	case answer == "gone":
		return apierrors.NewNotFound(of, name)
	case answer == "busy" && now < s.busy:
		return apierrors.NewServiceUnavailable("busy")
	case answer == "broken" && now < s.busy:
		return apierrors.NewInternalError(errors.New("broken"))
	case answer == "forbidden":
		return apierrors.NewForbidden(of, name, errors.New("no"))
	}
	return nil
}

func name(i int) string { return fmt.Sprint("migration-", i) }

// Whatever is migrated, however the patches end and whenever the definition changes, the
// migrations and the definition end as upstream's do.
func TestMigrationsEndAsUpstreams(tt *testing.T) {
	upstreamtest.Check(tt, "20", func(r *rapid.T) {
		s := anyStory(r)
		ours, theirs := s.here(r), s.there(tt)
		if diff := cmp.Diff(strings.Split(theirs, "\n"), strings.Split(ours, "\n")); diff != "" {
			r.Fatalf("%+v\n-upstream +here:\n%s", s, diff)
		}
	})
}

func (s story) here(r *rapid.T) (out string) {
	clienttest.Run(r, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		b.Discovered = discovered
		b.Refuse = func(verb string, r client.Resource, _, name string) error {
			if verb == "patch" && r == client.ConfigMaps {
				return s.patch(name, t.Elapsed())
			}
			return nil
		}
		clienttest.Must(client.Create(t, c, client.CustomResourceDefinitions, "", hats()))
		for _, name := range []string{"a", "b", "c"} {
			clienttest.Must(client.Create(t, c, client.ConfigMaps, "demo", configMap(name)))
		}
		start(b)
		b.Kernel.NewProcess(t.Process().Lane).Go("bookmarks", func(t *sim.Task) {
			for {
				t.Sleep(100 * time.Millisecond)
				if b.Bookmark(client.ConfigMaps); t.Elapsed() < s.late {
					continue
				}
				hat, _ := discovered(schema.GroupResource{Group: "example.com", Resource: "hats"})
				b.Bookmark(hat.Resource)
			}
		})
		if s.changed > 0 {
			b.Kernel.NewProcess(t.Process().Lane).Go("change", func(t *sim.Task) {
				t.Sleep(time.Duration(s.changed)*time.Second + time.Second/2)
				crd := clienttest.Must(client.Get[*apiextensionsv1.CustomResourceDefinition](t, c, client.CustomResourceDefinitions, "", "hats.example.com"))
				crd.Spec.PreserveUnknownFields = true
				clienttest.Must(client.Update(t, c, client.CustomResourceDefinitions, "", crd))
			})
		}
		for i, m := range s.migrations {
			t.Sleep(time.Duration(m.after) * time.Second)
			clienttest.Must(client.Create(t, c, client.StorageVersionMigrations, "", migration(name(i), m.group, m.resource)))
		}
		t.Sleep(10 * time.Minute)
		out = state(b)
	})
	return out
}

// mapper knows the same as [discovered].
type mapper struct{ *meta.DefaultRESTMapper }

func (mapper) Reset() {}

// lists is a client that finds every list empty, at revision 5.
type lists struct {
	metadata.Interface
	metadata.Getter
}

func (l lists) Resource(schema.GroupVersionResource) metadata.Getter { return l }
func (l lists) Namespace(string) metadata.ResourceInterface          { return l }
func (l lists) List(context.Context, metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}}, nil
}

// patches is a client that patches ConfigMaps.
type patches struct {
	dynamic.NamespaceableResourceInterface
	story
	began time.Time
}

func (p patches) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return p
}
func (p patches) Namespace(string) dynamic.ResourceInterface { return p }
func (p patches) Patch(_ context.Context, name string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string) (*unstructured.Unstructured, error) {
	return nil, p.story.patch(name, time.Since(p.began))
}

// graph has caches of ConfigMaps and hats.
type graph struct{ ready time.Time } // when that of hats is up to date

type monitor struct {
	cache.Controller
	ready time.Time
}

func (m monitor) LastSyncResourceVersion() string {
	if time.Now().Before(m.ready) {
		return "4"
	}
	return "5"
}

func (g graph) GetMonitor(_ context.Context, gvr schema.GroupVersionResource) (*garbagecollector.Monitor, bool, error) {
	store, ready := cache.NewStore(cache.MetaNamespaceKeyFunc), g.ready
	if gvr.Resource == "configmaps" {
		ready = time.Time{}
		for i, name := range []string{"a", "b", "c"} {
			cm := configMap(name)
			cm.ResourceVersion = fmt.Sprint(i + 1)
			if err := store.Add(cm); err != nil {
				return nil, false, err
			}
		}
	}
	return &garbagecollector.Monitor{Store: sorted{store}, Controller: monitor{ready: ready}}, true, nil
}

// sorted lists what it holds in the order of the names.
type sorted struct{ cache.Store }

func (s sorted) List() (all []any) {
	for _, name := range []string{"demo/a", "demo/b", "demo/c"} {
		if obj, ok, err := s.GetByKey(name); ok && err == nil {
			all = append(all, obj)
		}
	}
	return all
}

// definition is a client of one definition, in the API server of the bench.
type definition struct {
	crdclient.CustomResourceDefinitionInterface
	mu  sync.Mutex
	crd *apiextensionsv1.CustomResourceDefinition
}

func (d *definition) Get(_ context.Context, name string, _ metav1.GetOptions) (*apiextensionsv1.CustomResourceDefinition, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if name != d.crd.Name {
		return nil, apierrors.NewNotFound(client.CustomResourceDefinitions.GroupResource(), name)
	}
	return d.crd.DeepCopy(), nil
}

func (d *definition) ApplyStatus(_ context.Context, of *crdac.CustomResourceDefinitionApplyConfiguration, opts metav1.ApplyOptions) (*apiextensionsv1.CustomResourceDefinition, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	configuration, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	obj, err := clienttest.Applied(client.CustomResourceDefinitions, d.crd, configuration, opts.FieldManager, "status")
	if err == nil {
		d.crd = obj.(*apiextensionsv1.CustomResourceDefinition)
	}
	return d.crd.DeepCopy(), err
}

func (s story) there(t *testing.T) (out string) {
	crds := &definition{crd: hats()}
	upstreamtest.Bubble(t, nil, func(ctx context.Context, c *fake.Clientset, f informers.SharedInformerFactory) func(context.Context) {
		c.Discovery().(*fakediscovery.FakeDiscovery).Resources = []*metav1.APIResourceList{
			{GroupVersion: "v1", APIResources: []metav1.APIResource{
				{Name: "configmaps", Namespaced: true, Verbs: readWrite}, {Name: "componentstatuses", Verbs: []string{"get", "list"}},
			}},
			{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{{Name: "hats", Verbs: readWrite}}},
		}
		known := mapper{meta.NewDefaultRESTMapper(nil)}
		for _, r := range []string{"configmaps", "componentstatuses", "hats.example.com"} {
			is, _ := discovered(schema.ParseGroupResource(r))
			known.AddSpecific(is.GVK(), is.GroupVersionResource, is.GroupVersion().WithResource(strings.ToLower(is.Kind)), meta.RESTScopeRoot)
		}
		svms := f.Storagemigration().V1().StorageVersionMigrations()
		migrator := upstream.NewSVMController(ctx, c, nil, svms, storageversionmigrator.Name, known, nil)
		replace(migrator, "dynamicClient", patches{story: s, began: time.Now()})
		replace(migrator, "dependencyGraphBuilder", graph{time.Now().Add(s.late)})
		revisions := upstream.NewResourceVersionController(ctx, c, c.Discovery(), lists{}, svms, known)
		runner := upstream.NewCustomResourceController(ctx, c, svms, crds)
		return func(ctx context.Context) {
			var all sync.WaitGroup
			for _, run := range []func(context.Context){migrator.Run, revisions.Run, runner.Run} {
				all.Go(func() { run(ctx) })
			}
			all.Wait()
		}
	}, func(ctx context.Context, c *fake.Clientset) {
		if s.changed > 0 {
			go func() {
				time.Sleep(time.Duration(s.changed)*time.Second + time.Second/2)
				crds.mu.Lock()
				defer crds.mu.Unlock()
				crds.crd.Spec.PreserveUnknownFields = true
				crds.crd.Generation++
			}()
		}
		svms := c.StoragemigrationV1().StorageVersionMigrations()
		for i, m := range s.migrations {
			time.Sleep(time.Duration(m.after) * time.Second)
			made := migration(name(i), m.group, m.resource)
			made.CreationTimestamp, made.Generation = metav1.Now(), 1
			clienttest.Must(svms.Create(ctx, made, metav1.CreateOptions{}))
		}
		time.Sleep(10 * time.Minute)
		list := clienttest.Must(svms.List(ctx, metav1.ListOptions{}))
		var all []*svmv1.StorageVersionMigration
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
		out = told(all, crds.crd)
	})
	return out
}

// replace puts another value into a field of an interface's type.
func replace(of any, field string, value any) {
	f := reflect.ValueOf(of).Elem().FieldByName(field)
	reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Set(reflect.ValueOf(value))
}
