package storageversionmigrator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	svmv1 "k8s.io/api/storagemigration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/client"
	"kviz/cluster/client/clienttest"
	"kviz/cluster/controller/reconcile"
	"kviz/cluster/informer"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// start starts the controller beside another that has caches of some kinds.
func start(b *clienttest.Bench, cached ...client.Resource) {
	c := b.Client()
	p := b.Kernel.NewProcess(trace.Lane{Component: trace.CompKCM})
	f := informer.NewFactory(p, p.Lane, c)
	New(reconcile.NewEnv(p, Name, Name, c, f, 1)).Start()
	for _, r := range cached {
		f.For(r)
	}
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

func here(b *clienttest.Bench) string {
	var all []*svmv1.StorageVersionMigration
	for _, o := range b.Objects(client.StorageVersionMigrations) {
		all = append(all, o.(*svmv1.StorageVersionMigration))
	}
	crd, _ := b.Object(client.CustomResourceDefinitions, "", "hats.example.com").(*apiextensionsv1.CustomResourceDefinition)
	return told(all, crd)
}

// Of three ConfigMaps one was written since the migration began, one is gone when its turn comes,
// and one fails at first; a second migration waits for the first, and then for the cache.
func TestAMigration(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		c := b.Client()
		b.Discovered = discovered
		for _, name := range []string{"a", "b", "c"} {
			clienttest.Must(client.Create(t, c, client.ConfigMaps, "demo", configMap(name)))
		}
		busy := 2
		b.Refuse = func(verb string, r client.Resource, _, name string) error {
			switch {
			case verb != "patch" || r != client.ConfigMaps:
			case name == "a":
				return apierrors.NewConflict(r.GroupResource(), name, fmt.Errorf("the object has been modified"))
			case name == "b":
				return apierrors.NewNotFound(r.GroupResource(), name)
			case busy > 0:
				busy--
				return apierrors.NewServiceUnavailable("not now")
			}
			return nil
		}
		start(b)
		clienttest.Note(t, "two migrations of the same resource")
		clienttest.Must(client.Create(t, c, client.StorageVersionMigrations, "", migration("first", "", "configmaps")))
		clienttest.Must(client.Create(t, c, client.StorageVersionMigrations, "", migration("second", "", "configmaps")))
		for range 4 {
			t.Sleep(30 * time.Second)
			b.Bookmark(client.ConfigMaps)
		}
		t.Sleep(5 * time.Minute)
	})
	var waits []string
	for _, e := range b.Events {
		if p, ok := e.Payload.(*trace.Reconcile); ok && p.Waits != "" && (len(waits) == 0 || waits[len(waits)-1] != p.Waits) {
			waits = append(waits, p.Waits)
		}
	}
	clienttest.Golden(t, "migration.txt", b.Transcript(trace.ReconcileAction, trace.CommandStart)+"\n"+strings.Join(waits, "\n")+"\n\n"+here(b))
}

// The status of a custom kind's definition says that a migration runs, and how it has ended. If
// somebody has changed the definition meanwhile, objects may be stored in the old version again.
func TestTheDefinitionOfACustomKind(t *testing.T) {
	for _, changed := range []bool{false, true} {
		var during string
		b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
			c := b.Client()
			b.Discovered = discovered
			hat, _ := discovered(schema.GroupResource{Group: "example.com", Resource: "hats"})
			clienttest.Must(client.Create(t, c, client.CustomResourceDefinitions, "", hats()))
			start(b, hat.Resource)
			clienttest.Must(client.Create(t, c, client.StorageVersionMigrations, "", migration("hats", "example.com", "hats")))
			t.Sleep(time.Second)
			during = here(b)
			if changed {
				crd := clienttest.Must(client.Get[*apiextensionsv1.CustomResourceDefinition](t, c, client.CustomResourceDefinitions, "", "hats.example.com"))
				crd.Spec.Versions[0].Storage, crd.Spec.Versions[1].Storage = true, false
				clienttest.Must(client.Update(t, c, client.CustomResourceDefinitions, "", crd))
			}
			b.Bookmark(hat.Resource)
			t.Sleep(time.Minute)
		})
		if want := "hats.example.com [v1beta1 v1]\n  StorageMigrating=True MigrationRunning of 1: Migration hats is running\n"; !strings.HasSuffix(during, want) {
			t.Errorf("while it runs: %s\nwant at the end %s", during, want)
		}
		want := "hats.example.com [v1]\n  StorageMigrating=False MigrationSucceeded of 1: The migration has succeeded and the stored versions have been updated\n"
		if changed {
			want = "hats.example.com [v1beta1 v1]\n  StorageMigrating=False MigrationSucceeded of 2: The migration has succeeded but the stored versions have not been updated due to a generation mismatch\n"
		}
		if got := here(b); !strings.HasSuffix(got, want) {
			t.Errorf("changed %v: %s\nwant at the end %s", changed, got, want)
		}
	}
}

// Events are in no cache of the garbage collector: their migration is tried for ever, as upstream's.
func TestEventsAreNeverMigrated(t *testing.T) {
	b := clienttest.Run(t, 1, func(b *clienttest.Bench, t *sim.Task) {
		b.Discovered = discovered
		start(b)
		clienttest.Must(client.Create(t, b.Client(), client.StorageVersionMigrations, "", migration("events", "", "events")))
		t.Sleep(time.Hour)
	})
	m := b.Object(client.StorageVersionMigrations, "", "events").(*svmv1.StorageVersionMigration)
	if over(m) || !is(m, svmv1.MigrationRunning) {
		t.Errorf("the migration is %+v", m.Status)
	}
}
