package apiserver

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"kviz/cluster/apiserver/request"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/authn"
	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// story runs steps and writes the transcript of each under its title.
type story struct {
	w   *world
	t   *sim.Task
	out strings.Builder
}

func (s *story) step(title string, fn func()) {
	n := len(s.w.sink.events)
	fn()
	s.t.Sleep(s.w.s.cfg.Cost.Deliver) // what is on its way arrives
	s.out.WriteString("## " + title + "\n" + transcript(s.w.sink.events[n:]) + "\n")
}

// outside sends a request as kubectl would: bytes, and no identity but a token.
func (s *story) outside(req *request.Request) *request.Response {
	if req.User == nil && req.Token == "" {
		u := authn.Admin()
		req.User = &u
	}
	req.Client = "kubectl"
	if req.Body != nil && req.ContentType == "" {
		req.ContentType = "application/json"
	}
	return s.w.s.Handle(s.t, req)
}

func defaultAccount(w *world, t *sim.Task) {
	_, err := w.admin().Create(t, client.ServiceAccounts, "default", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	w.must(err)
}

// TestPipeline tells what each stage does with requests that pass.
func TestPipeline(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		s := &story{w: w, t: task}
		post := func(r client.Resource, ns, body string) {
			s.outside(&request.Request{Verb: "create", Resource: r.GroupVersionResource, Namespace: ns, Body: []byte(body), FieldManager: "kubectl-create", FieldValidation: "Strict"})
		}
		s.step("a pod is created: defaults, then admission", func() {
			post(client.Pods, "default", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"app","image":"nginx"}]}}`)
		})
		s.step("it is bound to a node", func() {
			post2 := &request.Request{
				Verb: "create", Resource: client.Pods.GroupVersionResource, Subresource: "binding", Namespace: "default", Name: "web",
				Body: []byte(`{"apiVersion":"v1","kind":"Binding","metadata":{"name":"web"},"target":{"kind":"Node","name":"node-1"}}`),
			}
			s.outside(post2)
		})
		s.step("and deleted: it has 30 s to stop", func() {
			s.outside(&request.Request{Verb: "delete", Resource: client.Pods.GroupVersionResource, Namespace: "default", Name: "web"})
		})
		s.step("the kubelet deletes it for good", func() {
			c := w.s.Client(w.user.Lane, authn.Node("node-1"))
			w.must(c.Delete(task, client.Pods, "default", "web", metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}))
		})
		s.step("a service gets its address and port", func() {
			post(client.Services, "default", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},"spec":{"type":"NodePort","ports":[{"port":80}],"selector":{"app":"web"}}}`)
		})
		s.step("a deployment is created, scaled, and its template changed", func() {
			post(client.Deployments, "default", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"app","image":"nginx"}]}}}}`)
			s.outside(&request.Request{
				Verb: "patch", Resource: client.Deployments.GroupVersionResource, Subresource: "scale", Namespace: "default", Name: "web",
				PatchType: "application/merge-patch+json", Patch: []byte(`{"spec":{"replicas":3}}`),
			})
			s.outside(&request.Request{
				Verb: "patch", Resource: client.Deployments.GroupVersionResource, Namespace: "default", Name: "web",
				PatchType: "application/strategic-merge-patch+json", Patch: []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"nginx:1.29"}]}}}}`),
			})
		})
		s.step("a namespace is deleted: it is Terminating", func() {
			post(client.Namespaces, "", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"demo"}}`)
			s.outside(&request.Request{Verb: "delete", Resource: client.Namespaces.GroupVersionResource, Name: "demo"})
		})
		s.step("the namespace controller takes the last finalizer: it is gone", func() {
			ns, err := client.Get[*corev1.Namespace](task, w.admin(), client.Namespaces, "", "demo")
			w.must(err)
			ns.Spec.Finalizers = nil
			_, err = w.admin().Update(task, client.Namespaces, "", ns, "finalize")
			w.must(err)
		})
		golden(t, "pipeline", s.out.String())
	})
}

// TestRefusals tells who refuses what, and in which words.
func TestRefusals(t *testing.T) {
	jane := authn.User{Name: "jane", Groups: []string{"developers"}}
	run(t, Config{Tokens: map[string]authn.User{"jane-token": jane}}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		s := &story{w: w, t: task}
		cm := func(verb string, req request.Request) func() {
			return func() {
				req.Verb, req.Resource = verb, client.ConfigMaps.GroupVersionResource
				if req.Namespace == "" {
					req.Namespace = "default"
				}
				s.outside(&req)
			}
		}
		podIn := func(ns, body, validation string) func() {
			return func() {
				s.outside(&request.Request{Verb: "create", Resource: client.Pods.GroupVersionResource, Namespace: ns, Body: []byte(body), FieldValidation: validation})
			}
		}
		s.step("an unknown token", cm("get", request.Request{Name: "a", Token: "wrong"}))
		s.step("a known user without rights", cm("get", request.Request{Name: "a", Token: "jane-token"}))
		s.step("what does not exist", cm("get", request.Request{Name: "a"}))
		s.step("no such namespace", cm("create", request.Request{Namespace: "nowhere", Body: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)}))
		s.step("a name that is no name", cm("create", request.Request{Body: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"Not_A_Name"}}`)}))
		s.step("a body that is no JSON", cm("create", request.Request{Body: []byte(`{"metadata"`)}))
		s.step("the wrong kind", cm("create", request.Request{Body: []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`)}))
		s.step("first", cm("create", request.Request{Body: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)}))
		s.step("the same again", cm("create", request.Request{Body: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`)}))
		s.step("a field nobody knows, strictly", podIn("default", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containerz":[],"containers":[{"name":"app","image":"nginx"}]}}`, "Strict"))
		s.step("a pod without containers", podIn("default", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{}}`, "Warn"))
		s.step("a pod of a class that is not there", podIn("default", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"priorityClassName":"gold","containers":[{"name":"app","image":"nginx"}]}}`, "Warn"))
		s.step("a pod of an account that is not there", podIn("default", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"serviceAccountName":"robot","containers":[{"name":"app","image":"nginx"}]}}`, "Warn"))
		s.step("the namespace default cannot be deleted", func() {
			s.outside(&request.Request{Verb: "delete", Resource: client.Namespaces.GroupVersionResource, Name: "default"})
		})
		s.step("a taken address", func() {
			s.outside(&request.Request{
				Verb: "create", Resource: client.Services.GroupVersionResource, Namespace: "default",
				Body: []byte(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"thief"},"spec":{"clusterIP":"10.96.0.1","ports":[{"port":80}]}}`),
			})
		})
		s.step("an update of an old state", func() {
			c := w.admin()
			old, err := client.Get[*corev1.ConfigMap](task, c, client.ConfigMaps, "default", "a")
			w.must(err)
			newer := old.DeepCopy()
			newer.Data = map[string]string{"k": "1"}
			_, err = client.Update(task, c, client.ConfigMaps, "default", newer)
			w.must(err)
			old.Data = map[string]string{"k": "2"}
			_, err = client.Update(task, c, client.ConfigMaps, "default", old)
			if err == nil {
				t.Error("an update of an old state went through")
			}
		})
		s.step("a field no pod can be selected by", func() {
			s.outside(&request.Request{Verb: "list", Resource: client.Pods.GroupVersionResource, List: metav1.ListOptions{FieldSelector: "spec.color=blue"}})
		})
		s.step("what is not served", func() {
			s.outside(&request.Request{Verb: "list", Resource: client.Pods.GroupVersion().WithResource("unicorns")})
		})
		s.step("a verb the kind does not have", func() {
			s.outside(&request.Request{Verb: "deletecollection", Resource: client.Namespaces.GroupVersionResource})
		})
		s.step("a kubelet writes to another node's lease", func() {
			c := w.s.Client(w.user.Lane, authn.Node("node-1"))
			_, err := c.Get(task, client.Leases, "kube-node-lease", "node-2")
			if err == nil {
				t.Error("node-1 read the lease of node-2")
			}
		})
		golden(t, "refusals", s.out.String())
	})
}

// The deletion of a collection has the time of one request, that of a list, and each of
// its deletions what is left of it.
func TestDeleteCollectionHasOneDeadline(t *testing.T) {
	slow := DefaultCost
	slow.Admission = 2 * time.Second
	run(t, Config{Cost: slow}, func(w *world, task *sim.Task) {
		left := func() int {
			task.Sleep(3 * time.Second) // nothing more goes after the answer
			return len(w.ask(task, &request.Request{Verb: "list", Resource: client.ConfigMaps.GroupVersionResource, Namespace: "default"}).Items)
		}
		for _, c := range []struct {
			n, left int
			time    time.Duration
			code    int
		}{
			{20, 0, 0, 200}, // 40 s: more than a write has
			{35, 6, 0, 504}, // all of them would take 70 s, and 29 are done in a minute
			{10, 13, 7 * time.Second, 504},
		} {
			for i := range c.n {
				w.put(task, fmt.Sprintf("c%02d", i), "1")
			}
			r := w.ask(task, &request.Request{Verb: "deletecollection", Resource: client.ConfigMaps.GroupVersionResource, Namespace: "default", Timeout: c.time})
			if n := left(); r.Code != c.code || n != c.left {
				t.Errorf("of %d in %v: %d %v, %d left; want %d, %d left", c.n, c.time, r.Code, r.Err, n, c.code, c.left)
			}
		}
	})
}

// A request at which the server panics is answered with 500 in upstream's words, and told in the trace as
// any other; it keeps no seat, and the next requests are served.
func TestAPanicIsOfOneRequest(t *testing.T) {
	t.Parallel()
	broken := false
	delay := func(*sim.Task) {
		if broken {
			panic("at this request")
		}
	}
	run(t, Config{Delay: delay}, func(w *world, task *sim.Task) {
		defaultAccount(w, task)
		for range 1000 { // more than there are seats
			broken = true
			_, err := w.admin().Create(task, client.Pods, "default", pod("p"))
			if broken = false; !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "This request caused apiserver to panic. Look in the logs for details: panic: at this request (apiserver.TestAPanicIsOfOneRequest") {
				t.Fatalf("it is answered with %v", err)
			}
		}
		_, err := w.admin().Create(task, client.Pods, "default", pod("p"))
		w.must(err)
		answered := 0
		for _, e := range w.sink.events {
			if r, ok := e.Payload.(*trace.Response); ok && r.Code == http.StatusInternalServerError {
				answered++
			}
		}
		if answered != 1000 {
			t.Errorf("the trace has %d answers 500", answered)
		}
	})
}
