package handlers

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/apiserver/admission"
	"kviz/cluster/apiserver/authn"
	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/etcd3"
	"kviz/cluster/apiserver/fieldmanager"
	"kviz/cluster/apiserver/names"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/storage"
	"kviz/cluster/trace"
	"kviz/raftstore"
)

// stages keeps the row of stages that the requests of a test passed.
type stages struct{ passed []string }

func (s *stages) Append(e *trace.Event) {
	if st, ok := e.Payload.(*trace.Stage); ok {
		s.passed = append(s.passed, st.Stage+" "+st.Verdict)
	}
}

// server is the handlers over a bare store, with no other part of an API server: who sends a
// request has been let in.
type server struct {
	t        *testing.T
	task     *sim.Task
	handlers *Handlers
	said     *stages
	requests uint64
}

var kind = registry.KindFor(client.ConfigMaps.GroupVersionResource)

// tell runs a story.
func tell(t *testing.T, story func(s *server)) {
	t.Helper()
	said := &stages{}
	k := sim.New(sim.Config{Seed: 1, Sink: said})
	clock := storage.NewClock(k)
	bare := raftstore.OpenBareWith(raftstore.Config{Clock: clock})
	defer bare.Close()
	st := storage.New(k, bare)
	st.Use(clock)
	p := k.NewProcess(trace.Lane{Component: trace.CompAPIServer})
	conn := st.Connect("apiserver")
	plain := func(*registry.Kind) *encrypt.Transformer { return &encrypt.Transformer{} }
	cache := cacher.New(&cacher.Config{Process: p, Store: conn, Transformer: plain, Wires: &cacher.Wires{}}, kind)
	s := &server{t: t, said: said, handlers: &Handlers{
		Process: p, Admission: &admission.Chain{}, Fields: &fieldmanager.Managers{}, Names: &names.Generator{Stream: rand.New(rand.NewPCG(1, 1))},
		Store: &etcd3.Store{Conn: conn, Caches: func(*registry.Kind) *cacher.Cache { return cache }, Sealed: plain},
	}}
	p.Go("watch-cache", cache.Run)
	p.Go("story", func(task *sim.Task) {
		defer k.Stop()
		cache.AwaitFilled(task)
		s.task = task
		story(s)
	})
	if err := k.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// do answers a request for ConfigMaps of the namespace default.
func (s *server) do(req *request.Request) *request.Response {
	s.requests++
	req.Resource, req.Namespace = kind.GroupVersionResource, "default"
	c := &Call{Scope: request.NewScope(s.task, s.requests), Req: req, Kind: kind, User: authn.Admin()}
	c.Ref = trace.Ref{APIVersion: kind.APIVersion, Kind: kind.Kind, Namespace: "default", Name: req.Name}
	return s.handlers.Verb(c)
}

// must is do of a request that is not refused.
func (s *server) must(req *request.Request) *corev1.ConfigMap {
	s.t.Helper()
	r := s.do(req)
	if r.Err != nil {
		s.t.Fatalf("%s: %v", req.Verb, r.Err)
	}
	obj, _ := r.Object.(*corev1.ConfigMap)
	return obj
}

func body(text string) *request.Request {
	return &request.Request{Verb: "create", ContentType: "application/json", Body: []byte(text)}
}

// A creation goes from the body to the store in one row of stages. What only the server may
// set is set by it, and the client gets what was stored.
func TestACreationPassesItsStages(t *testing.T) {
	tell(t, func(s *server) {
		made := s.must(body(`{"metadata":{"name":"colours","uid":"mine","creationTimestamp":"1999-01-01T00:00:00Z"},"data":{"sky":"grey"}}`))
		if made.UID == "mine" || made.UID == "" || made.CreationTimestamp.Year() == 1999 || made.ResourceVersion == "" || made.Data["sky"] != "grey" {
			t.Errorf("made %+v", made)
		}
		want := []string{"decode pass", "mutating-admission pass", "validation pass", "validating-admission pass", "storage pass"}
		if !slices.Equal(s.said.passed, want) {
			t.Errorf("stages %q, want %q", s.said.passed, want)
		}
		if again := s.do(body(`{"metadata":{"name":"colours"}}`)); !apierrors.IsAlreadyExists(again.Err) {
			t.Errorf("again: %v", again.Err)
		}
		if bad := s.do(body(`{"metadata":{"name":"Not_A_Name"}}`)); !apierrors.IsInvalid(bad.Err) {
			t.Errorf("a bad name: %v", bad.Err)
		}
	})
}

// A name that is to be generated is drawn by the server.
func TestANameIsGenerated(t *testing.T) {
	tell(t, func(s *server) {
		one, other := s.must(body(`{"metadata":{"generateName":"sky-"}}`)), s.must(body(`{"metadata":{"generateName":"sky-"}}`))
		if !strings.HasPrefix(one.Name, "sky-") || len(one.Name) != len("sky-")+5 || one.Name == other.Name {
			t.Errorf("drew %q and %q", one.Name, other.Name)
		}
	})
}

// Who read an object and writes it back says which revision he has seen; if that is an old
// one he is refused. A patch says nothing of the kind, and is made on what there is.
func TestAnOldObjectIsRefusedAPatchIsNot(t *testing.T) {
	tell(t, func(s *server) {
		seen := s.must(body(`{"metadata":{"name":"colours"},"data":{"sky":"grey"}}`))
		patch := func(text string) *request.Request {
			return &request.Request{Verb: "patch", Name: "colours", PatchType: types.MergePatchType, Patch: []byte(text)}
		}
		s.must(patch(`{"data":{"sea":"green"}}`))
		old := seen.DeepCopy()
		old.Data["sky"] = "blue"
		if r := s.do(&request.Request{Verb: "update", Name: "colours", Object: old}); !apierrors.IsConflict(r.Err) {
			t.Errorf("the update: %v, want a conflict", r.Err)
		}
		now := s.must(patch(`{"data":{"sky":"blue"}}`))
		if now.Data["sky"] != "blue" || now.Data["sea"] != "green" {
			t.Errorf("patched: %v", now.Data)
		}
	})
}

// An object with a finalizer is only marked when it is deleted, and goes when the last
// finalizer does.
func TestAFinalizerHoldsADeletion(t *testing.T) {
	tell(t, func(s *server) {
		s.must(body(`{"metadata":{"name":"colours","finalizers":["example.com/paint"]}}`))
		marked := s.must(&request.Request{Verb: "delete", Name: "colours"})
		if marked == nil || marked.DeletionTimestamp.IsZero() {
			t.Fatalf("the deletion gave %+v, want the object as it is marked", marked)
		}
		s.must(&request.Request{Verb: "patch", Name: "colours", PatchType: types.MergePatchType, Patch: []byte(`{"metadata":{"finalizers":null}}`)})
		if r := s.do(&request.Request{Verb: "get", Name: "colours"}); !apierrors.IsNotFound(r.Err) {
			t.Errorf("without its finalizer: %v", r.Err)
		}
	})
}

// painter is an admission plugin.
type painter struct{ refuses bool }

func (painter) Name() string { return "Painter" }

// Admit paints what is grey.
func (p painter) Admit(_ *request.Scope, a *admission.Attributes) (admission.Result, error) {
	if p.refuses {
		return admission.Result{}, apierrors.NewForbidden(kind.GroupResource(), a.Name, errors.New("the paint is used up"))
	}
	if obj, ok := a.Object.(*corev1.ConfigMap); ok && obj.Data["sky"] == "grey" {
		obj.Data["sky"] = "blue"
		return admission.Result{Note: "painted it"}, nil
	}
	return admission.Result{}, nil
}

// A mutating plugin changes the object before it is validated and stored, or refuses it:
// then nothing is stored, and the answer says which stage it was.
func TestAPluginChangesOrRefuses(t *testing.T) {
	tell(t, func(s *server) {
		s.handlers.Admission = &admission.Chain{Mutating: []admission.Mutating{painter{}}}
		if made := s.must(body(`{"metadata":{"name":"colours"},"data":{"sky":"grey"}}`)); made.Data["sky"] != "blue" {
			t.Errorf("made %v", made.Data)
		}
		s.handlers.Admission = &admission.Chain{Mutating: []admission.Mutating{painter{refuses: true}}}
		if r := s.do(body(`{"metadata":{"name":"more"}}`)); !apierrors.IsForbidden(r.Err) {
			t.Errorf("refused: %v", r.Err)
		}
		if last := s.said.passed[len(s.said.passed)-1]; last != "mutating-admission refuse" {
			t.Errorf("it ended with %q", last)
		}
		if r := s.do(&request.Request{Verb: "list"}); r.Err != nil || len(r.Items) != 1 {
			t.Errorf("there are %v, %v", nameOf(r.Items), r.Err)
		}
	})
}

// A dry run passes the same stages and stores nothing.
func TestADryRunStoresNothing(t *testing.T) {
	tell(t, func(s *server) {
		req := body(`{"metadata":{"name":"colours"}}`)
		req.DryRun = true
		if made := s.must(req); made.UID == "" {
			t.Errorf("made %+v", made)
		}
		if r := s.do(&request.Request{Verb: "get", Name: "colours"}); !apierrors.IsNotFound(r.Err) {
			t.Errorf("afterwards: %v", r.Err)
		}
	})
}

func nameOf(all []runtime.Object) (names []string) {
	for _, obj := range all {
		names = append(names, obj.(metav1.Object).GetName())
	}
	return names
}
