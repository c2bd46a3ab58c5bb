package apiserver

import (
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// twoVersions serves hats as v1beta1, which is stored, and v1.
const twoVersions = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hats.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: hats, singular: hat, kind: Hat, shortNames: [ht]}
  versions:
  - name: v1beta1
    served: true
    storage: true
    deprecated: true
    schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}, brim: {type: string}}}}
  - name: v1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}, colour: {type: string, default: black}}}}
`

// The same stored object read as two versions: with conversion None only the
// apiVersion differs, and what one version's schema does not know is not seen in
// it. Then the storage version changes: old objects stay as they are until they
// are written.
func TestTwoVersions(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.define(task, twoVersions)
		gvr := func(version string) schema.GroupVersionResource { return example(version, "hats") }
		hat := func(version string) string {
			r := w.ask(task, &request.Request{Verb: "get", Resource: gvr(version), Name: "top"})
			if r.Err != nil {
				return r.Err.Error()
			}
			u := r.Object.(*unstructured.Unstructured)
			text := u.GetAPIVersion()
			for _, f := range []string{"size", "brim", "colour"} {
				if v, ok := u.Object[f]; ok {
					text += " " + f + "=" + object.JSON(v)
				}
			}
			return text
		}
		stored := func() string {
			resp, err := w.st.Range(task, &pb.RangeRequest{Key: []byte("/registry/example.com/hats/top")})
			w.must(err)
			u := &unstructured.Unstructured{}
			w.must(u.UnmarshalJSON(resp.Kvs[0].Value))
			if u.GetResourceVersion() != "" || !strings.HasSuffix(string(resp.Kvs[0].Value), "}\n") {
				t.Errorf("stored %q", resp.Kvs[0].Value)
			}
			return u.GetAPIVersion()
		}
		expect := func(what, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		r := w.ask(task, &request.Request{Verb: "create", Resource: gvr("v1beta1"), Body: []byte(`{"apiVersion":"example.com/v1beta1","kind":"Hat","metadata":{"name":"top"},"size":7,"brim":"wide"}`)})
		w.must(r.Err)
		expect("warning", strings.Join(r.Warnings, ";"), "example.com/v1beta1 Hat is deprecated; use example.com/v1 Hat")
		expect("as v1beta1", hat("v1beta1"), `example.com/v1beta1 size=7 brim="wide"`)
		expect("as v1", hat("v1"), `example.com/v1 size=7 colour="black"`)
		expect("stored", stored(), "example.com/v1beta1")

		storeV1 := `[{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`
		w.onDefinition(task, "patch", "hats.example.com", types.JSONPatchType, storeV1)
		expect("still stored", stored(), "example.com/v1beta1")
		expect("as v1", hat("v1"), `example.com/v1 size=7 colour="black"`)
		crd, err := w.admin().Get(task, client.CustomResourceDefinitions, "", "hats.example.com")
		w.must(err)
		expect("storedVersions", object.JSON(storedVersions(crd)), `["v1beta1","v1"]`)

		r = w.ask(task, &request.Request{Verb: "patch", Resource: gvr("v1"), Name: "top", PatchType: types.MergePatchType, Patch: []byte(`{}`)})
		w.must(r.Err)
		expect("stored after a write that changes nothing", stored(), "example.com/v1")
		expect("as v1beta1", hat("v1beta1"), "example.com/v1beta1 size=7")

		hook := `{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://hats.example.com/convert"}}}}}`
		w.onDefinition(task, "patch", "hats.example.com", types.MergePatchType, hook)
		expect("as v1 with a webhook", hat("v1"), `example.com/v1 size=7 colour="black"`)
		if got := hat("v1beta1"); !strings.Contains(got, "conversion webhook for example.com/v1, Kind=Hat failed") {
			t.Errorf("as v1beta1 with a webhook: %s", got)
		}

		r = w.ask(task, &request.Request{Verb: "get", Resource: gvr("v2"), Name: "top"})
		if request.StatusOf(r.Err).Code != 404 {
			t.Errorf("v2: %v", r.Err)
		}
		r = w.ask(task, &request.Request{Verb: "get", Resource: gvr("v1"), Namespace: "default", Name: "top"})
		if request.StatusOf(r.Err).Code != 404 {
			t.Errorf("a cluster-scoped hat in a namespace: %v", r.Err)
		}
	})
}

// Two definitions that want the same kind: the second waits, and gets it when the
// first has gone.
func TestNamesConflict(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.define(task, twoVersions)
		other := strings.NewReplacer("hats", "caps", "singular: hat", "singular: cap").Replace(twoVersions)
		w.define(task, other)
		crd, err := w.admin().Get(task, client.CustomResourceDefinitions, "", "caps.example.com")
		w.must(err)
		if got := conditions(crd); got != "NamesAccepted=False ListKindConflict \"HatList\" is already in use; Established=False NotAccepted not all names are accepted" {
			t.Error(got)
		}
		if r := w.ask(task, &request.Request{Verb: "list", Resource: example("v1", "caps")}); request.StatusOf(r.Err).Code != 404 {
			t.Errorf("caps are served: %v", r.Err)
		}
		w.onDefinition(task, "delete", "hats.example.com", "", "")
		crd, err = w.admin().Get(task, client.CustomResourceDefinitions, "", "caps.example.com")
		w.must(err)
		if got := conditions(crd); got != "NamesAccepted=True NoConflicts no conflicts found; Established=True InitialNamesAccepted the initial names have been accepted" {
			t.Error(got)
		}
		if r := w.ask(task, &request.Request{Verb: "list", Resource: example("v1", "caps")}); r.Err != nil {
			t.Errorf("caps are not served: %v", r.Err)
		}
	})
}

// What is written past a server that is down is told, and nothing is started in
// it: no more than the watch of a kind that nobody has asked for.
func TestACustomObjectIsDescribedWhileTheServerIsDown(t *testing.T) {
	const key = "/registry/example.com/hats/top"
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.define(task, twoVersions)
		w.restart(task) // its caches are closed again
		w.s.Process().Kill()
		from := len(w.sink.events)
		value := []byte(`{"apiVersion":"example.com/v1beta1","kind":"Hat","metadata":{"name":"top"}}`)
		_, _, err := w.st.Txn(task, &pb.TxnRequest{Success: []*pb.RequestOp{storage.Put(key, value)}})
		w.must(err)
		told := ""
		for _, e := range w.sink.events[from:] {
			switch p := e.Payload.(type) {
			case *trace.Commit:
				told += p.Changes[0].Object.String() + ";"
			case *trace.StoreWatch:
				if e.Kind == trace.StoreWatchOpened {
					t.Errorf("the watch %s of the store is opened", p.Name)
				}
			}
		}
		if told != "Hat top;" {
			t.Errorf("told: %s", told)
		}
	})
}

// A definition may give its kind the name of a built-in one, in a group that looks
// like one of Kubernetes' own. The caches, what they tell and their watches at the
// store are not mixed up, nor are two versions of one definition.
func TestCustomKindsShareNoNames(t *testing.T) {
	services := strings.NewReplacer("{name: hats.example.com}", `{name: services.net.k8s.io, annotations: {api-approved.kubernetes.io: "https://example.com/1"}}`,
		"group: example.com", "group: net.k8s.io", "plural: hats", "plural: services").Replace(twoVersions)
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.define(task, services)
		for _, version := range []string{"v1beta1", "v1"} {
			gvr := schema.GroupVersionResource{Group: "net.k8s.io", Version: version, Resource: "services"}
			w.must(w.ask(task, &request.Request{Verb: "watch", Resource: gvr}).Err)
		}
		gvr := schema.GroupVersionResource{Group: "net.k8s.io", Version: "v1", Resource: "services"}
		w.must(w.ask(task, &request.Request{Verb: "create", Resource: gvr, Body: []byte(`{"apiVersion":"net.k8s.io/v1","kind":"Hat","metadata":{"name":"top"}}`)}).Err)
		task.Sleep(time.Second)
		b := view.NewBuilder()
		for _, e := range w.sink.events {
			b.Apply(e)
		}
		s := b.Mark()
		if own := s.WatchCache("services"); own != nil { // nothing has come to it since the start
			t.Errorf("the cache of the built-in kind is taken for %+v", own)
		}
		for _, name := range []string{"services.net.k8s.io", "services.net.k8s.io/v1"} {
			if c := s.WatchCache(name); c == nil || c.Events != 1 || c.Watchers != 1 {
				t.Errorf("%s: %+v", name, c)
			}
		}
		var lines []string
		for _, w := range s.Watchers() {
			lines = append(lines, w.Of())
		}
		if got := strings.Join(lines, " "); got != "services.net.k8s.io services.net.k8s.io/v1" {
			t.Errorf("the watches are of %s", got)
		}
		for _, c := range w.s.customs.Open() {
			if c.WatchName() != "services.net.k8s.io" {
				t.Errorf("a fault would call the watch at the store %s", c.WatchName())
			}
		}
	})
}

// The watch cache of a kind whose definition goes before it has begun to fill never
// watches the store.
func TestADroppedCacheStaysClosed(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.define(task, twoVersions)
		from := len(w.sink.events)
		w.s.caches.Of(w.s.customs.Stored("hats.example.com"))
		w.s.customs.Changed("hats.example.com", nil)
		task.Sleep(time.Second)
		for _, e := range w.sink.events[from:] {
			if p, ok := e.Payload.(*trace.StoreWatch); ok && e.Kind == trace.StoreWatchOpened {
				t.Errorf("the watch %s of the store is opened", p.Name)
			}
		}
	})
}

func storedVersions(crd runtime.Object) []string {
	return crd.(*apiextensionsv1.CustomResourceDefinition).Status.StoredVersions
}

func conditions(crd runtime.Object) string {
	var out []string
	for _, c := range crd.(*apiextensionsv1.CustomResourceDefinition).Status.Conditions {
		out = append(out, string(c.Type)+"="+string(c.Status)+" "+c.Reason+" "+c.Message)
	}
	return strings.Join(out, "; ")
}
