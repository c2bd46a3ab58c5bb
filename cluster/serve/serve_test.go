package serve_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"kviz/assets"
	"kviz/cluster/apiserver"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/serve"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// edge is an API server on the bare store behind its HTTP edge, in virtual
// time that runs as fast as it can.
type edge struct {
	kernel *sim.Kernel
	stream *trace.Stream
	server *apiserver.Server
	h      *serve.Handler
}

func newEdge(tb testing.TB) *edge {
	tb.Helper()
	e := &edge{stream: trace.NewStream(0)}
	e.kernel = sim.New(sim.Config{Seed: 1, Sink: e.stream})
	e.kernel.SetDemand(true)
	store := raftstore.OpenBare()
	lane := trace.Lane{Component: trace.CompAPIServer}
	server := apiserver.New(e.kernel.NewProcess(lane), storage.New(e.kernel, store), apiserver.Config{})
	e.server = server
	e.h = serve.New(serve.Config{Kernel: e.kernel, API: func() serve.API { return server }, Documents: assets.Documents(), Untaken: time.Hour})
	ready := make(chan struct{})
	e.kernel.AddDemand(1)
	e.kernel.NewProcess(trace.Lane{Component: trace.CompSimulation}).Go("boot", func(t *sim.Task) {
		server.WaitReady(t)
		t.SleepUntil(e.kernel.Epoch().Add(10 * time.Second))
		e.kernel.AddDemand(-1)
		close(ready)
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.kernel.Run(ctx) }()
	<-ready
	tb.Cleanup(func() {
		e.h.Close()
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
		store.Close()
	})
	return e
}

// do sends a request as the administrator, inside the process, without a connection.
func (e *edge) do(tb testing.TB, method, path, body string, headers ...string) *http.Response {
	tb.Helper()
	p := e.kernel.NewProcess(trace.Lane{Component: trace.CompClient})
	ctx, cancel := context.WithTimeout(serve.WithCaller(context.Background(), serve.Caller{User: authn.Admin(), Client: "test", Process: p}), steady.Patience(tb))
	tb.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, "http://kviz"+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := e.h.Transport().RoundTrip(r)
	if err != nil {
		tb.Fatal(err)
	}
	return resp
}

const (
	tableType   = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	partialType = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
	protoType   = "application/vnd.kubernetes.protobuf"
)

// The requests and answers of one conversation, as they go over the wire.
func TestRoundTrips(t *testing.T) {
	e := newEdge(t)
	var out bytes.Buffer
	talk := func(method, path, body string, headers ...string) {
		fmt.Fprintf(&out, "> %s %s\n", method, path)
		for i := 0; i+1 < len(headers); i += 2 {
			fmt.Fprintf(&out, "> %s: %s\n", headers[i], headers[i+1])
		}
		if body != "" {
			fmt.Fprintf(&out, "> %s\n", body)
		}
		resp := e.do(t, method, path, body, headers...)
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		fmt.Fprintf(&out, "< %d %s\n", resp.StatusCode, resp.Header.Get("Content-Type"))
		for _, w := range resp.Header.Values("Warning") {
			fmt.Fprintf(&out, "< Warning: %s\n", w)
		}
		fmt.Fprintf(&out, "%s\n\n", show(b))
	}
	cm := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"a":"1"}}`
	configmaps := "/api/v1/namespaces/default/configmaps"
	json, yaml := "application/json", "application/yaml"
	talk("POST", configmaps, cm, "Content-Type", json)
	talk("POST", configmaps, cm, "Content-Type", json)
	talk("POST", configmaps+"?dryRun=All", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}", "Content-Type", yaml, "Accept", yaml)
	talk("POST", configmaps+"?fieldValidation=Strict", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"two"},"dat":{}}`, "Content-Type", json)
	talk("POST", configmaps+"?fieldValidation=Warn", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"two"},"dat":{}}`, "Content-Type", json)
	talk("POST", configmaps, "x", "Content-Type", "text/plain")
	talk("POST", configmaps+"?dryRun=Some", cm, "Content-Type", json)
	talk("GET", configmaps+"/one", "", "Accept", "text/html")
	talk("GET", configmaps+"/one", "", "Accept", tableType)
	talk("GET", configmaps, "", "Accept", tableType)
	talk("GET", configmaps, "", "Accept", partialType)
	talk("GET", configmaps+"?limit=1", "")
	talk("GET", configmaps+"?labelSelector=a%3Db", "")
	talk("GET", configmaps+"?fieldSelector=metadata.name%3Dtwo", "", "Accept", tableType)
	talk("GET", configmaps+"/nothing", "")
	talk("PUT", configmaps+"/one", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","resourceVersion":"1"}}`, "Content-Type", json)
	talk("PATCH", configmaps+"/one", `{"data":{"b":"2"}}`, "Content-Type", "application/merge-patch+json")
	talk("PATCH", configmaps+"/one", `{}`, "Content-Type", json)
	talk("PATCH", configmaps+"/one", `{"apiVersion":"v1","kind":"ConfigMap"}`, "Content-Type", "application/apply-patch+yaml")
	talk("DELETE", configmaps+"/one", `{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Sideways"}`, "Content-Type", json)
	talk("DELETE", configmaps+"/one", `{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background"}`, "Content-Type", json)
	talk("DELETE", configmaps+"?labelSelector=x", "")
	talk("PUT", configmaps, cm, "Content-Type", json)
	talk("GET", "/api/v1/nothings", "")
	talk("GET", "/apis/example.com/v1/things", "")
	talk("GET", "/nothing", "")
	talk("GET", "/readyz?verbose", "")
	talk("GET", "/readyz?verbose&exclude=etcd&exclude=nothing", "")
	talk("GET", "/livez/ping", "")
	golden(t, "roundtrips.txt", out.String())
}

// show indents JSON and leaves the rest as it is.
func show(b []byte) string {
	var v any
	if json.Unmarshal(b, &v) == nil {
		b, _ = json.MarshalIndent(v, "", " ")
	}
	text := strings.TrimRight(string(b), "\n")
	return regexp.MustCompile(`"description": "[^\n]*"`).ReplaceAllString(text, `"description": "…"`)
}

func golden(tb testing.TB, name, got string) {
	tb.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("KVIZ_REWRITE") == "1" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatalf("%v (write it with KVIZ_REWRITE=1)", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		tb.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

// names are the resources and subresources of a discovery document, "apps/v1 deployments/scale".
func names(list apidiscovery.APIGroupDiscoveryList) (out []string) {
	for _, g := range list.Items {
		for _, v := range g.Versions {
			gv := schema.GroupVersion{Group: g.Name, Version: v.Version}.String() + " "
			for _, r := range v.Resources {
				out = append(out, gv+r.Resource)
				for _, s := range r.Subresources {
					out = append(out, gv+r.Resource+"/"+s.Subresource)
				}
			}
		}
	}
	return out
}

// Discovery and its like cost no virtual time and leave no event. (The health checks of
// the store read from it.)
func TestDocumentsAreOutsideTheSimulation(t *testing.T) {
	e := newEdge(t)
	events, elapsed := e.stream.Len(), time.Duration(0)
	_ = e.kernel.Do(func() { elapsed = e.kernel.Elapsed() })
	aggregated := "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	var named []string
	for _, path := range []string{
		"/", "/version", "/livez/ping", "/metrics", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1",
		"/openapi/v2", "/openapi/v3", "/openapi/v3/apis/apps/v1",
	} {
		resp := e.do(t, "GET", path, "")
		b, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 200 || len(b) == 0 {
			t.Errorf("GET %s: %d, %d bytes", path, resp.StatusCode, len(b))
		}
	}
	for _, path := range []string{"/api", "/apis"} {
		resp := e.do(t, "GET", path, "", "Accept", aggregated+",application/json")
		b, _ := io.ReadAll(resp.Body)
		if ct := resp.Header.Get("Content-Type"); ct != aggregated {
			t.Errorf("GET %s: Content-Type %q, want %q", path, ct, aggregated)
		}
		var list apidiscovery.APIGroupDiscoveryList
		if err := json.Unmarshal(b, &list); err != nil {
			t.Fatalf("GET %s: %v", path, err)
		}
		named = append(named, names(list)...)
		again := e.do(t, "GET", path, "", "Accept", aggregated, "If-None-Match", resp.Header.Get("ETag"))
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("GET %s with its own ETag: %d, want 304", path, again.StatusCode)
		}
	}
	for _, served := range []string{
		"v1 pods/eviction", "resource.k8s.io/v1 resourceslices", "storagemigration.k8s.io/v1 storageversionmigrations/status",
		"v1 pods/attach", "v1 pods/exec", "v1 pods/log", "v1 pods/portforward", "v1 pods/proxy", "v1 services/proxy",
	} {
		if !slices.Contains(named, served) {
			t.Errorf("discovery does not name %s", served)
		}
	}
	if slices.Contains(named, "v1 nodes/proxy") {
		t.Error("discovery names nodes/proxy, which are not served")
	}
	_ = e.kernel.Do(func() {
		if e.kernel.Elapsed() != elapsed {
			t.Errorf("virtual time went on from %s to %s", elapsed, e.kernel.Elapsed())
		}
	})
	if n := e.stream.Len(); n != events {
		t.Errorf("%d new events in the trace", n-events)
	}
}

// client-go over TLS, with the kubeconfig that Listen wrote: protobuf bodies,
// watches, an informer that comes in sync by a watch list.
func TestClientGoOverTLS(t *testing.T) {
	e := newEdge(t)
	_ = e.kernel.Do(func() { e.kernel.SetDemand(false); e.kernel.SetSpeed(1000) })
	path := filepath.Join(t.TempDir(), "kubeconfig")
	l, err := e.h.Listen(0, path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("kubeconfig: %v %v, want mode 0600", info, err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, contentType := range []string{"application/json", protoType} {
		t.Run(filepath.Base(contentType), func(t *testing.T) { informer(t, cfg, contentType) })
	}
	cfg.BearerToken = "wrong"
	_, err = kubernetes.NewForConfigOrDie(cfg).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("a wrong token got %v, want Unauthorized", err)
	}
}

func informer(t *testing.T, cfg *rest.Config, contentType string) {
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType, cfg.AcceptContentTypes = contentType, contentType+",application/json"
	c := kubernetes.NewForConfigOrDie(cfg)
	ctx, cancel := context.WithTimeout(t.Context(), steady.Patience(t))
	defer cancel()
	name := "before-" + strings.ReplaceAll(filepath.Base(contentType), ".", "-")
	create := func(name string) {
		if _, err := c.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	create(name)
	seen := make(chan string, 100)
	factory := informers.NewSharedInformerFactory(c, 0)
	inf := factory.Core().V1().ConfigMaps().Informer()
	if _, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { seen <- "added " + o.(*corev1.ConfigMap).Name },
		DeleteFunc: func(o any) { seen <- "deleted " + o.(*corev1.ConfigMap).Name },
	}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	factory.Start(stop)
	defer factory.Shutdown()
	defer close(stop)
	if !cache.WaitForCacheSync(ctx.Done(), inf.HasSynced) {
		t.Fatal("the informer did not come in sync")
	}
	create(name + "-after")
	if err := c.CoreV1().ConfigMaps("default").Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"added " + name: true, "added " + name + "-after": true, "deleted " + name: true}
	for len(want) > 0 {
		select {
		case s := <-seen:
			delete(want, s)
		case <-ctx.Done():
			t.Fatalf("still not seen: %v", want)
		}
	}
}

// Answers from 128 KiB on are gzipped for clients that accept that, and for no others
// else (apiserver responsewriters SerializeObject).
func TestLongAnswersAreGzipped(t *testing.T) {
	e := newEdge(t)
	long := strings.Repeat("kilobyte", 16<<10)
	for i := range 2 {
		resp := e.do(t, "POST", "/api/v1/namespaces/default/configmaps", fmt.Sprintf(`{"metadata":{"name":"long-%d"},"data":{"text":%q}}`, i, long))
		if resp.StatusCode != http.StatusCreated {
			t.Fatal(resp.Status)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path, accepts, encoding string
	}{
		{"/api/v1/namespaces/default/configmaps", "gzip", "gzip"},
		{"/api/v1/namespaces/default/configmaps", "deflate, gzip", "gzip"},
		{"/api/v1/namespaces/default/configmaps", "identity", ""},
		{"/api/v1/namespaces/default", "gzip", ""},
	} {
		resp := e.do(t, "GET", c.path, "", "Accept-Encoding", c.accepts)
		defer resp.Body.Close()
		if got := resp.Header.Get("Content-Encoding"); got != c.encoding {
			t.Errorf("%s to who accepts %q: encoded as %q, want %q", c.path, c.accepts, got, c.encoding)
			continue
		}
		body := io.Reader(resp.Body)
		if c.encoding != "" {
			if vary := resp.Header.Get("Vary"); vary != "Accept-Encoding" {
				t.Errorf("varies with %q", vary)
			}
			var err error
			if body, err = gzip.NewReader(body); err != nil {
				t.Fatal(err)
			}
		}
		var got struct {
			Kind  string
			Items []struct{ Data map[string]string }
		}
		if err := json.NewDecoder(body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if got.Kind == "ConfigMapList" && got.Items[0].Data["text"] != long {
			t.Errorf("the list to who accepts %q is not whole", c.accepts)
		}
	}
}

// A watch of tables says its columns once.
func TestWatchTables(t *testing.T) {
	e := newEdge(t)
	_ = e.kernel.Do(func() { e.kernel.SetDemand(false); e.kernel.SetSpeed(1000) })
	resp := e.do(t, "GET", "/api/v1/namespaces?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=5", "", "Accept", tableType)
	dec := json.NewDecoder(resp.Body)
	columns, rows, bookmark := 0, 0, false
	for {
		var event struct {
			Type   string
			Object struct {
				Kind              string
				ColumnDefinitions []any
				Rows              []struct {
					Cells  []any
					Object struct {
						Metadata struct{ Annotations map[string]string }
					}
				}
			}
		}
		if err := dec.Decode(&event); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if event.Object.Kind != "Table" {
			t.Errorf("an event of kind %q", event.Object.Kind)
		}
		if len(event.Object.ColumnDefinitions) > 0 {
			columns++
		}
		rows += len(event.Object.Rows)
		if event.Type == "BOOKMARK" && event.Object.Rows[0].Object.Metadata.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			bookmark = true
		}
	}
	if columns != 1 || rows < 4 || !bookmark {
		t.Errorf("columns said %d times, %d rows, initial events ended: %v", columns, rows, bookmark)
	}
}

// A watch that begins before what the server remembers is answered with an
// ERROR event that says 410, not refused: client-go counts on it.
func TestWatchTooOldIsAnErrorEvent(t *testing.T) {
	e := newEdge(t)
	_ = e.kernel.Do(func() { e.kernel.SetDemand(false); e.kernel.SetSpeed(1000) })
	resp := e.do(t, "GET", "/api/v1/namespaces?watch=true&resourceVersion=1&timeoutSeconds=5", "")
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d, want 200", resp.StatusCode)
	}
	dec := json.NewDecoder(resp.Body)
	var event struct {
		Type   string
		Object metav1.Status
	}
	if err := dec.Decode(&event); err != nil {
		t.Fatal(err)
	}
	s := event.Object
	if event.Type != "ERROR" || s.Code != http.StatusGone || s.Reason != metav1.StatusReasonExpired || !strings.HasPrefix(s.Message, "too old resource version: 1 (") {
		t.Errorf("got %s %+v", event.Type, s)
	}
	if err := dec.Decode(&event); err != io.EOF {
		t.Errorf("after the error: %v, want the end", err)
	}
}

// A list of StorageClasses says which of them claims without a class get: of several that say so
// the newest, and of equals the first by name. One that is read alone does not say it.
func TestListsShowTheDefaultStorageClass(t *testing.T) {
	e := newEdge(t)
	const classes = "/apis/storage.k8s.io/v1/storageclasses"
	ask := func(method, path, body string, headers ...string) (*http.Response, []byte) {
		resp := e.do(t, method, path, body, headers...)
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, b
	}
	for name, isDefault := range map[string]bool{"a": false, "b": true, "c": true} {
		body := fmt.Sprintf(`{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":%q,"annotations":{"storageclass.kubernetes.io/is-default-class":"%v"}},"provisioner":"example.com/p"}`, name, isDefault)
		if resp, _ := ask("POST", classes, body, "Content-Type", "application/json"); resp.StatusCode != http.StatusCreated {
			t.Fatalf("%s: %s", name, resp.Status)
		}
	}
	names := func(path string) (out []string) {
		var table struct{ Rows []struct{ Cells []any } }
		_, b := ask("GET", path, "", "Accept", tableType)
		if err := json.Unmarshal(b, &table); err != nil {
			t.Fatal(err)
		}
		for _, row := range table.Rows {
			out = append(out, row.Cells[0].(string))
		}
		return out
	}
	if got := names(classes); !slices.Equal(got, []string{"a", "b (default)", "c"}) && !slices.Equal(got, []string{"a", "b", "c (default)"}) {
		t.Errorf("the list shows %q", got)
	}
	if got := names(classes + "/b"); !slices.Equal(got, []string{"b"}) {
		t.Errorf("alone it is shown as %q", got)
	}
	ask("DELETE", classes+"/c", "")
	if got := names(classes); !slices.Equal(got, []string{"a", "b (default)"}) {
		t.Errorf("the list shows %q", got)
	}
}
