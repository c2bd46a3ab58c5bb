package apiserver

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"kviz/cluster/apiserver/request"

	coordinationv1 "k8s.io/api/coordination/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/sim"
	"kviz/cluster/trace"
)

// numbered repeats a text with the numbers from 0 in it, between commas.
func numbered(n int, text string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(text, "#", fmt.Sprint(i))
	}
	return strings.Join(parts, ",")
}

// The parts of a big request that take the square of its size are computed beside the
// kernel: others get their turns meanwhile. A small one is done in the turns that it
// always took.
func TestBigRequestsLetOthersGoOn(t *testing.T) {
	const n = 8000
	run(t, Config{}, func(w *world, task *sim.Task) {
		at := func(verb, name string, r client.Resource, body string) *request.Request {
			return &request.Request{Verb: verb, Resource: r.GroupVersionResource, Namespace: "default", Name: name, Body: []byte(body), FieldManager: "t"}
		}
		patch := func(name string, pt types.PatchType, body string) *request.Request {
			r := at("patch", name, client.ConfigMaps, "")
			r.Body, r.PatchType, r.Patch = nil, pt, []byte(body)
			return r
		}
		inYAML := at("create", "", client.ConfigMaps, "metadata: {name: yaml}\ndata: {"+numbered(n, "key#: a")+"}")
		inYAML.ContentType = "application/yaml"
		rules := at("create", "", client.CustomResourceDefinitions, `{"metadata":{"name":"many.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"many","kind":"Many"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-validations":[`+numbered(2000, `{"rule":"1 < # + 2","message":"a sentence of some length"}`)+`]}}}}}]}}`)
		rules.Namespace = ""
		paged := at("list", "", client.ConfigMaps, "") // of a revision: it comes from the store
		choosy := at("list", "", client.Leases, "")
		choosy.List.LabelSelector = numbered(20000, "!label#")
		evicting := at("create", "web", client.Pods, `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"web"}}`)
		evicting.Subresource = "eviction"
		for _, c := range []struct {
			name string
			req  *request.Request
			most bool // as many turns as it wants; else only as many as modelled pauses take
		}{
			{"a small one", at("create", "", client.ConfigMaps, `{"metadata":{"name":"small"},"data":{"a":"b"}}`), false},
			{"keys", at("create", "", client.ConfigMaps, `{"metadata":{"name":"big"},"data":{`+numbered(n, `"key#":"a"`)+`}}`), true},
			{"YAML", inYAML, true},
			{"a short patch of a big object", patch("big", types.MergePatchType, `{"data":{"key1":"b"}}`), true},
			{"operations", patch("small", types.JSONPatchType, `[`+numbered(2000, `{"op":"add","path":"/data/key#","value":"x"}`)+`]`), true},
			{"a strategic merge", patch("small", types.StrategicMergePatchType, `{"data":{`+numbered(n, `"other#":"a"`)+`}}`), true},
			{"an apply", patch("applied", types.ApplyPatchType, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"applied"},"data":{`+numbered(n, `"key#":"a"`)+`}}`), true},
			{"a definition with rules", rules, true},
			{"a short object of it", nil, true},
			{"a long selector", choosy, true},
			{"a long page", paged, true},
			{"an eviction beside a long budget", evicting, true},
		} {
			if c.req == nil {
				task.Sleep(5 * time.Second)
				c.req = &request.Request{Verb: "create", Resource: example("v1", "many"), Namespace: "default", Body: []byte(`{"apiVersion":"example.com/v1","kind":"Many","metadata":{"name":"a"},"spec":{}}`)}
			}
			if c.req == evicting {
				defaultAccount(w, task)
				guarded(w, task, "web", true)
				_, err := w.admin().Create(task, client.PodDisruptionBudgets, "default", &policyv1.PodDisruptionBudget{
					ObjectMeta: metav1.ObjectMeta{Name: "long", Namespace: "default"},
					Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
						{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: strings.Split(numbered(20000, "value-#"), ",")},
					}}},
				})
				w.must(err)
			}
			if c.req == choosy {
				for i := range 100 {
					_, err := w.admin().Create(task, client.Leases, "default", &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("lease-", i), Namespace: "default"}})
					w.must(err)
				}
			}
			if c.req == paged {
				for i := range 8 {
					big, err := client.Create(task, w.admin(), client.ConfigMaps, "default", configMap(fmt.Sprint("page-", i), "a", strings.Repeat("x", 200_000)))
					w.must(err)
					paged.List.ResourceVersion, paged.List.ResourceVersionMatch = big.ResourceVersion, metav1.ResourceVersionMatchExact
				}
			}
			c.req.DryRun = c.req.Verb != "list" && c.req.Verb != "create" // what it costs to write does not count
			w.besideOthers(task, c.name, c.req, c.most)
		}
	})
}

// besideOthers asks, and looks whether others had as many turns meanwhile as they want
// (most), or only as many as modelled pauses take.
func (w *world) besideOthers(task *sim.Task, name string, req *request.Request, most bool) {
	turns, over := 0, false
	w.user.Go("others", func(o *sim.Task) {
		for ; !over; o.Sleep(200 * time.Microsecond) {
			turns++
		}
	})
	began := task.Elapsed()
	r := w.ask(task, req)
	over = true
	w.must(r.Err)
	took := task.Elapsed() - began
	switch bulky := took > 4*time.Millisecond; {
	case most && (!bulky || turns < int(took/(200*time.Microsecond))-1):
		w.t.Errorf("%s: took %v, and others had %d turns meanwhile", name, took, turns)
	case !most && bulky:
		w.t.Errorf("%s: took %v", name, took)
	}
}

// A request whose time is over while a part of it is computed is answered then, as upstream;
// what that part comes to is dropped, and the worker serves the next request.
func TestARequestIsAnsweredWhenItsTimeIsOver(t *testing.T) {
	const limit = 5 * time.Millisecond // less than is modelled for decoding a body of this size
	run(t, Config{}, func(w *world, task *sim.Task) {
		create := func(name string, timeout time.Duration) *request.Response {
			return w.ask(task, &request.Request{
				Verb: "create", Resource: client.ConfigMaps.GroupVersionResource, Namespace: "default", Timeout: timeout,
				Body: []byte(`{"metadata":{"name":"` + name + `"},"data":{"key":"` + strings.Repeat("x", 900_000) + `"}}`),
			})
		}
		began := task.Elapsed()
		r := create("late", limit)
		if status := request.StatusOf(r.Err); r.Code != 504 || status.Code != 504 || status.Reason != metav1.StatusReasonTimeout {
			t.Errorf("%d %v, want 504 and a Timeout", r.Code, r.Err)
		}
		if took := task.Elapsed() - began; took != limit || r.Took != limit {
			t.Errorf("answered after %v (%v by itself), want %v", took, r.Took, limit)
		}
		task.Sleep(time.Second)
		if _, err := w.admin().Get(task, client.ConfigMaps, "default", "late"); !apierrors.IsNotFound(err) {
			t.Errorf("what was too late: %v, want that it is not stored", err)
		}
		w.must(create("in-time", 0).Err)
		for _, e := range w.sink.events {
			if done, ok := e.Payload.(*trace.Response); ok && e.Object.Name == "late" && done.Verb == "create" && done.Code != 504 {
				t.Errorf("the trace says %d of the request that was answered with 504", done.Code)
			}
		}
	})
}

// The expressions of a large policy are compiled beside the kernel, once, by the first
// request that it concerns, whoever sends that: a component's would keep everybody
// waiting just as long.
func TestALargePolicyIsCompiledBesideTheKernel(t *testing.T) {
	for sender, system := range map[string]bool{"a client": false, "a component": true} {
		run(t, Config{}, func(w *world, task *sim.Task) {
			create := func(r client.Resource, namespace, body string) *request.Request {
				return &request.Request{Verb: "create", Resource: r.GroupVersionResource, Namespace: namespace, Body: []byte(body)}
			}
			one := func(name string) *request.Request {
				r := create(client.ConfigMaps, "default", `{"metadata":{"name":"`+name+`"}}`)
				r.System = system
				return r
			}
			w.must(w.ask(task, create(client.ValidatingAdmissionPolicies, "", `{"metadata":{"name":"large"},"spec":{
				"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]},
				"validations":[`+numbered(1000, `{"expression":"object.metadata.name != 'x#'"}`)+`]}}`)).Err)
			w.must(w.ask(task, create(client.ValidatingAdmissionPolicyBindings, "", `{"metadata":{"name":"large"},"spec":{"policyName":"large","validationActions":["Deny"]}}`)).Err)
			task.Sleep(time.Second)
			w.besideOthers(task, "the first of "+sender, one("first"), true)
			w.besideOthers(task, "the second of "+sender, one("second"), false)
			if r := w.ask(task, one("x7")); r.Code != 422 {
				t.Errorf("%s: what the policy forbids is answered with %d %v", sender, r.Code, r.Err)
			}
		})
	}
}

// A JSON patch of a few kilobytes makes no gigabytes of an object: what its copies add
// up to has a limit, as upstream.
func TestPatchCopiesHaveALimit(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		_, err := w.admin().Create(task, client.ConfigMaps, "default", configMap("big", "a", strings.Repeat("x", 1<<19)))
		w.must(err)
		req := &request.Request{
			Verb: "patch", Resource: client.ConfigMaps.GroupVersionResource, Namespace: "default", Name: "big", PatchType: types.JSONPatchType,
			Patch: []byte(`[` + numbered(400, `{"op":"copy","from":"/data/a","path":"/data/b#"}`) + `]`),
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := w.ask(task, req)
		runtime.ReadMemStats(&after)
		if r.Code != 422 {
			t.Errorf("%d %v", r.Code, r.Err)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 64<<20 {
			t.Errorf("%d MiB were made of it", made>>20)
		}
	})
}

// What is computed beside the kernel reads nothing that the kernel's tasks change
// meanwhile: the race detector looks at big applies while other requests make field
// managers, time goes on, and the status of a definition changes.
func TestOffloadSharesNothing(t *testing.T) {
	const n = 6000
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.define(task, cronTabs)
		resources := []client.Resource{client.Secrets, client.ServiceAccounts, client.Namespaces, client.Nodes, client.Pods, client.Services}
		over := false
		w.user.Go("others", func(o *sim.Task) {
			for i := 0; !over; i++ {
				r := resources[i%len(resources)]
				req := &request.Request{Verb: "create", Resource: r.GroupVersionResource, Body: []byte(`{"metadata":{"name":"other"}}`), FieldManager: "others", DryRun: true}
				if r.Namespaced {
					req.Namespace = "default"
				}
				w.ask(o, req) // some are invalid: their managers are made all the same
				w.must(w.ask(o, &request.Request{
					Verb: "patch", Resource: client.CustomResourceDefinitions.GroupVersionResource, Name: "crontabs.stable.example.com",
					PatchType: types.MergePatchType, Patch: fmt.Appendf(nil, `{"metadata":{"labels":{"turn":"%d"}}}`, i),
				}).Err)
			}
		})
		apply := func(r *request.Request, name, body string) {
			t.Helper()
			r.Verb, r.Namespace, r.Name, r.FieldManager, r.PatchType, r.Patch = "patch", "default", name, "t", types.ApplyPatchType, []byte(body)
			w.must(w.ask(task, r).Err)
		}
		for range 2 { // a new object, and one that is there
			apply(&request.Request{Resource: client.ConfigMaps.GroupVersionResource}, "big", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"big"},"data":{`+numbered(n, `"key#":"a"`)+`}}`)
			apply(&request.Request{Resource: cronTabResource}, "big", `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"big","annotations":{`+numbered(n, `"key#":"a"`)+`}},"spec":{"cronSpec":"* * * * *","image":"a"}}`)
		}
		over = true
	})
}
