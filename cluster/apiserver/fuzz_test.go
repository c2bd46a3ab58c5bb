package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"kviz/cluster/apiserver/request"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
	"kviz/raftstore"
	"kviz/raftstore/steady"
)

// sample is what the differential test (proof/testdata/kinds.yaml) has of a kind:
// an object, patches to it that are good and bad, selectors. The seeds are
// made of it.
type sample struct {
	Object    map[string]any   `json:"object"`
	Names     []string         `json:"names"`
	Changes   []map[string]any `json:"changes"`
	Wrong     []map[string]any `json:"wrong"`
	Status    []map[string]any `json:"status"`
	Selectors []string         `json:"selectors"`
}

// named is the sample's object as JSON, with a name, in the version that k is.
func (s *sample) named(k *registry.Kind, name string) []byte {
	b, err := json.Marshal(s.Object)
	if err != nil {
		panic(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(strings.NewReplacer("NAME", name, "of-"+k.GroupVersionResource.Resource, "default").Replace(string(b))), &u.Object); err != nil {
		panic(err)
	}
	if u.GetName() == "" {
		u.SetName(name)
	}
	u.SetAPIVersion(k.GroupVersion().String())
	u.SetKind(k.Kind)
	if b, err = json.Marshal(u.Object); err != nil {
		panic(err)
	}
	return b
}

// target is an API server that is asked by a fuzz test: one object of every kind
// is there. It has no trace, and time passes only while it is asked.
type target struct {
	tb      testing.TB
	samples map[string]sample
	kernel  *sim.Kernel
	server  *Server
	sender  *sim.Process
	end     func() error
	made    map[*registry.Kind]string // what the object is called
	kinds   []*registry.Kind
	all     map[string]map[string]action // by verbs, by name
	names   map[string][]string          // the names of those, sorted
	rev     int64
}

func newTarget(tb testing.TB) *target {
	g := &target{tb: tb}
	b, err := os.ReadFile("proof/testdata/kinds.yaml")
	if err == nil {
		err = yaml.Unmarshal(b, &g.samples)
	}
	if err != nil {
		tb.Fatal(err)
	}
	s := g.samples["csinodes.storage.k8s.io"] // whose node is the YAML of a bool
	s.Object = map[string]any{"spec": map[string]any{"drivers": []any{map[string]any{"name": "d.example.com", "nodeID": "n"}}}}
	g.samples["csinodes.storage.k8s.io"] = s
	s = g.samples["volumeattachments.storage.k8s.io"]
	s.Object = map[string]any{"spec": map[string]any{"attacher": "d.example.com", "nodeName": "n", "source": map[string]any{"persistentVolumeName": "pv"}}}
	g.samples["volumeattachments.storage.k8s.io"] = s
	g.samples["crontabs.stable.example.com"] = sample{
		Object:  map[string]any{"spec": map[string]any{"cronSpec": "* * * * */5", "image": "tick", "replicas": 2}},
		Changes: []map[string]any{{"spec": map[string]any{"replicas": 3}}, {"spec": map[string]any{"nosuch": 1}}},
		Wrong:   []map[string]any{{"spec": map[string]any{"replicas": 7}}, {"spec": nil}, {"spec": map[string]any{"cronSpec": 5}}},
		Status:  []map[string]any{{"status": map[string]any{"replicas": 2, "labelSelector": "a=b"}}},
	}
	g.start()
	tb.Cleanup(func() {
		if g.end == nil {
			return
		}
		if err := g.end(); err != nil {
			tb.Error(err)
		}
	})
	return g
}

// start makes the server and its objects.
func (g *target) start() {
	g.kernel = sim.New(sim.Config{Seed: 1})
	g.kernel.SetDemand(true)
	store := raftstore.OpenBare()
	g.server = New(g.kernel.NewProcess(trace.Lane{Component: trace.CompAPIServer}), storage.New(g.kernel, store), Config{})
	g.sender = g.kernel.NewProcess(trace.Lane{Component: trace.CompClient})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.kernel.Run(ctx) }()
	g.end = func() error {
		cancel()
		defer store.Close()
		return <-ended
	}
	g.call(func(t *sim.Task) {
		g.server.WaitReady(t)
		w := &world{t: g.tb, k: g.kernel, s: g.server, user: g.sender}
		w.define(t, cronTabs)
		g.populate(t, w)
		t.Sleep(10 * time.Second)
		g.rev = g.server.Store().Revision()
	})
}

// populate creates one object of every kind that can be stored, in the namespace
// default if in one.
func (g *target) populate(t *sim.Task, w *world) {
	g.made, g.kinds, g.all, g.names = map[*registry.Kind]string{}, nil, map[string]map[string]action{}, map[string][]string{}
	_, err := w.admin().Create(t, client.ServiceAccounts, "default", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}) // for the pod
	w.must(err)
	for _, k := range g.server.Resources() {
		g.kinds = append(g.kinds, k)
		s, ok := g.samples[k.GroupResource().String()]
		if !ok || k.Hub != nil {
			continue
		}
		name := "one"
		if len(s.Names) > 0 {
			name = s.Names[0]
		}
		r := w.ask(t, &request.Request{Verb: "create", Resource: k.GroupVersionResource, Namespace: g.namespace(k), Body: s.named(k, name)})
		if r.Err != nil {
			g.tb.Errorf("create the sample of %s: %v", k.GroupResource(), r.Err)
			continue
		}
		g.made[k] = object.Meta(r.Object).GetName()
	}
	for _, k := range g.kinds {
		if k.Hub != nil {
			g.made[k] = g.made[k.Hub]
		}
	}
}

func (g *target) namespace(k *registry.Kind) string {
	if k.Namespaced {
		return "default"
	}
	return ""
}

// call runs fn as a task of somebody outside, to its end.
func (g *target) call(fn func(*sim.Task)) {
	ctx, cancel := context.WithTimeout(context.Background(), steady.Patience(g.tb))
	defer cancel()
	over := false
	err := g.kernel.Call(ctx, g.sender, "fuzz", func(t *sim.Task) { fn(t); over = true })
	switch {
	case errors.Is(err, sim.ErrStopped), err == nil && !over:
		err := g.end()
		g.end = nil // the next input finds a new one
		var p *sim.PanicError
		if errors.As(err, &p) {
			g.tb.Fatalf("%v\n%s", err, p.Stack)
		}
		g.tb.Fatal(err)
	case err != nil:
		g.tb.Fatalf("no answer: %v", err)
	}
}

// ask sends a request and holds what must hold of every answer: it is not the
// server's fault, and what was refused, or was to be tried only, is not stored.
func (g *target) ask(tb testing.TB, req *request.Request) *request.Response {
	g.tb = tb
	if g.end == nil {
		g.start()
	}
	var resp *request.Response
	var after int64
	g.call(func(t *sim.Task) {
		resp = g.server.Handle(t, req)
		if resp.Watch != nil {
			resp.Watch.Stop()
		}
		after = g.server.Store().Revision()
	})
	what := func() string {
		return fmt.Sprintf("%s %s\n%s%s\n= %d %v", req.Verb, req.URL(), req.Body, req.Patch, resp.Code, resp.Err)
	}
	if resp.Code < 200 || resp.Code == http.StatusInternalServerError && !upstreamsFault(resp.Err) {
		tb.Fatalf("the server's fault: %s", what())
	}
	if after == g.rev {
		return resp
	}
	gaveBack := req.Resource == client.Services.GroupVersionResource && !req.DryRun // an IPAddress is made before its Service
	if (resp.Err != nil || req.DryRun) && !gaveBack {
		tb.Errorf("stored (revision %d, then %d): %s", g.rev, after, what())
	}
	if err := g.end(); err != nil { // the next input finds what this one found
		tb.Fatal(err)
	}
	g.start()
	return resp
}

// upstreamsFault reports whether kube-apiserver answers with 500, too: its
// libraries have plain errors for these, which nobody above gives a code.
func upstreamsFault(err error) bool {
	for _, words := range []string{
		"unable to find api field in struct ",  // strategicpatch
		"failed to create typed patch object ", // managedfields: server-side apply
		"failed to convert new object (",
		"strconv.ParseUint: parsing ", // the registry: a resourceVersion that is none
		"resourceVersion: Invalid value: ",
	} {
		if strings.HasPrefix(err.Error(), words) {
			return true
		}
	}
	return false
}

// action is something that can be done to a kind: "update deployments.v1.apps/scale".
type action struct {
	kind *registry.Kind
	verb string
	sub  string
}

// actions are all there are of some verbs, by their names.
func (g *target) actions(verbs ...string) map[string]action {
	key := strings.Join(verbs, " ")
	if all := g.all[key]; all != nil {
		return all
	}
	all := map[string]action{}
	g.all[key] = all
	add := func(k *registry.Kind, sub string, has []string) {
		for _, v := range verbs {
			if slices.Contains(has, v) {
				r := k.GroupVersionResource
				name := v + " " + strings.TrimSuffix(r.Resource+"."+r.Version+"."+r.Group, ".")
				if sub != "" {
					name += "/" + sub
				}
				all[name] = action{k, v, sub}
			}
		}
	}
	for _, k := range g.kinds {
		add(k, "", k.Verbs)
		for _, s := range k.Subresources {
			add(k, s.Name, s.Verbs)
		}
	}
	g.names[key] = slices.Sorted(maps.Keys(all))
	return all
}

// pick is the action of a name; of one that is none, whichever it falls on, so
// that mutations of names are of use.
func (g *target) pick(what string, verbs ...string) action {
	all := g.actions(verbs...)
	if a, ok := all[what]; ok {
		return a
	}
	h := fnv.New32a()
	h.Write([]byte(what))
	names := g.names[strings.Join(verbs, " ")]
	return all[names[int(h.Sum32())%len(names)]]
}

// request is one of the administrator's, from outside.
func (g *target) request(a action) *request.Request {
	admin := authn.Admin()
	r := &request.Request{Verb: a.verb, Resource: a.kind.GroupVersionResource, Subresource: a.sub, Namespace: g.namespace(a.kind), User: &admin, Client: "fuzz", UserAgent: "fuzz", FieldManager: "fuzz"}
	if a.verb != "list" && a.verb != "watch" && a.verb != "deletecollection" && (a.verb != "create" || a.sub != "") {
		r.Name = g.made[a.kind]
	}
	return r
}

var (
	fuzzBodies      = []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"}
	fuzzValidations = []string{"", metav1.FieldValidationStrict, metav1.FieldValidationWarn, metav1.FieldValidationIgnore}
)
