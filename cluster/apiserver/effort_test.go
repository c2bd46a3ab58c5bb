package apiserver

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
	"kviz/cluster/sim"
)

// costly is a kind whose small objects take long to be judged.
const costly = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: costly.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: costly, kind: Costly}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          text: {type: string, pattern: "((a?){30}){30}b$"}
          spec:
            type: object
            properties: {items: {type: array, maxItems: 300, items: {type: integer}}}
            RULES
`

// costlyKind is the definition with or without rules.
func costlyKind(rules string) string { return strings.Replace(costly, "RULES", rules, 1) }

const squareRules = `x-kubernetes-validations:
            - {rule: "self.items.all(x, self.items.all(y, x + y >= 0))"}
            - {rule: "self.items.all(x, self.items.all(y, x + y + 1 >= 0))"}`

// A small object whose kind has rules, or patterns with long programs, is judged beside the
// kernel, and one without is not.
func TestCostlyObjectsAreJudgedBesideTheKernel(t *testing.T) {
	create := func(body string) *request.Request {
		return &request.Request{
			Verb: "create", Resource: example("v1", "costly"), Namespace: "default", DryRun: true,
			Body: []byte(`{"apiVersion":"example.com/v1","kind":"Costly","metadata":{"name":"x"},` + body + `}`),
		}
	}
	beside := func(w *world, task *sim.Task, req *request.Request) (*request.Response, int) {
		before := w.s.parts.Begun()
		r := w.ask(task, req)
		return r, w.s.parts.Begun() - before
	}
	items := `"spec":{"items":[` + numbered(300, "#") + `]}`
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.define(task, costlyKind(""))
		if r, n := beside(w, task, create(items)); r.Err != nil || n != 0 {
			t.Errorf("without rules: %v, %d parts beside the kernel", r.Err, n)
		}
		if r, n := beside(w, task, create(`"text":"aab"`)); r.Err != nil || n != 0 {
			t.Errorf("a short text under a pattern: %v, %d parts beside the kernel", r.Err, n)
		}
		if r, n := beside(w, task, create(`"text":"`+strings.Repeat("a", 6000)+`"`)); r.Code != 422 || n != 1 {
			t.Errorf("a long text under a pattern: %d, %d parts beside the kernel", r.Code, n)
		}
		if r, _ := beside(w, task, create(`"text":"`+strings.Repeat("a", 1<<20)+`"`)); r.Code != 504 {
			t.Errorf("a text that takes longer than anybody waits: %d %.200v", r.Code, r.Err)
		}
	})
	run(t, Config{}, func(w *world, task *sim.Task) {
		before := w.s.parts.Begun()
		w.define(task, costlyKind(squareRules))
		if n := w.s.parts.Begun() - before; n == 0 {
			t.Error("a definition with rules is judged on the kernel")
		}
		if r, n := beside(w, task, create(items)); r.Err != nil || n != 1 {
			t.Errorf("with rules: %v, %d parts beside the kernel", r.Err, n)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		req := create(items)
		req.Gone = gone
		if r, _ := beside(w, task, req); r.Err == nil || !strings.Contains(r.Err.Error(), "operation interrupted") {
			t.Errorf("whose client has gone: %v", r.Err)
		}
	})
}

// Whose fields are whose is found out beside the kernel where the fields are many or deep.
func TestManyFieldsAreBesideTheKernel(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		w.define(task, free)
		nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
		for _, c := range []struct {
			name, spec string
			beside     bool
		}{
			{"a small object", `{"a":"b"}`, false},
			{"one as large as most", `{` + numbered(100, `"key#":"a"`) + `}`, false},
			{"many fields", `{` + numbered(1000, `"key#":"a"`) + `}`, true},
			{"a deep one", nested(240), true},
		} {
			body := `{"apiVersion":"example.com/v1","kind":"Free","metadata":{"name":"x"},"spec":` + c.spec + `}`
			applied := &request.Request{Verb: "patch", Resource: example("v1", "free"), Namespace: "default", Name: "x", FieldManager: "t", DryRun: true, PatchType: "application/apply-patch+yaml", Patch: []byte(body)}
			created := &request.Request{Verb: "create", Resource: example("v1", "free"), Namespace: "default", FieldManager: "t", DryRun: true, Body: []byte(body)}
			for how, req := range map[string]*request.Request{"applied": applied, "created": created} {
				before := w.s.parts.Begun()
				w.must(w.ask(task, req).Err)
				if n := w.s.parts.Begun() - before; n > 0 != c.beside {
					t.Errorf("%s, %s: %d parts beside the kernel", c.name, how, n)
				}
			}
		}
	})
}

// A strategic merge patch that is small compares each of its elements with each of the object's.
func TestPairsAreComparedBesideTheKernel(t *testing.T) {
	run(t, Config{}, func(w *world, task *sim.Task) {
		create := &request.Request{
			Verb: "create", Resource: client.Endpoints.GroupVersionResource, Namespace: "default",
			Body: []byte(`{"metadata":{"name":"x","finalizers":[` + numbered(600, `"a.b/c#"`) + `]}}`),
		}
		w.must(w.ask(task, create).Err)
		for n, want := range map[int]int{1: 1, 600: 2} { // the object's managed fields are many in any case
			patch := &request.Request{
				Verb: "patch", Resource: create.Resource, Namespace: "default", Name: "x", DryRun: true, PatchType: "application/strategic-merge-patch+json",
				Patch: []byte(`{"metadata":{"finalizers":[` + numbered(n, `"a.b/d#"`) + `]}}`),
			}
			before := w.s.parts.Begun()
			w.must(w.ask(task, patch).Err)
			if beside := w.s.parts.Begun() - before; beside != want {
				t.Errorf("%d elements: %d parts beside the kernel, want %d", n, beside, want)
			}
		}
	})
}

// The expressions of policies and of webhooks' conditions that may take long are evaluated beside
// the kernel, with their variables; those that cannot, or that ask the authorizer, on it.
func TestLoopsOfPoliciesAreEvaluatedBesideTheKernel(t *testing.T) {
	const constraints = `{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}`
	run(t, Config{}, func(w *world, task *sim.Task) {
		create := func(r client.Resource, body string) *request.Response {
			req := &request.Request{Verb: "create", Resource: r.GroupVersionResource, Body: []byte(body)}
			if r.Namespaced {
				req.Namespace = "default"
			}
			return w.ask(task, req)
		}
		asked := func(name, labels string) (r *request.Response, beside int) {
			before := w.s.parts.Begun()
			r = create(client.ConfigMaps, `{"metadata":{"name":"`+name+`","labels":{`+labels+`}}}`)
			return r, w.s.parts.Begun() - before
		}
		if r, n := asked("first", ""); r.Err != nil || n != 0 {
			t.Errorf("without policies: %v, %d", r.Err, n)
		}
		policy := func(name, validation string) {
			w.must(create(client.ValidatingAdmissionPolicies, `{"metadata":{"name":"`+name+`"},"spec":{"matchConstraints":`+constraints+`,"variables":[{"name":"labels","expression":"object.metadata.?labels.orValue({})"}],"validations":[{"expression":"`+validation+`"}]}}`).Err)
			w.must(create(client.ValidatingAdmissionPolicyBindings, `{"metadata":{"name":"`+name+`"},"spec":{"policyName":"`+name+`","validationActions":["Deny"]}}`).Err)
			task.Sleep(1e9)
		}
		policy("plain", "object.metadata.name != 'x'")
		if r, n := asked("plain", ""); r.Err != nil || n != 0 {
			t.Errorf("a plain policy: %v, %d", r.Err, n)
		}
		policy("loop", "variables.labels.all(k, variables.labels[k] != 'bad')")
		if r, n := asked("good", `"a":"good"`); r.Err != nil || n != 1 {
			t.Errorf("a policy that loops: %v, %d", r.Err, n)
		}
		if r, n := asked("bad", `"a":"bad"`); r.Code != 422 || n != 1 {
			t.Errorf("a policy that loops, refusing: %d %v, %d", r.Code, r.Err, n)
		}
		policy("asking", "[1].all(x, authorizer.group('').resource('pods').check('list').allowed())")
		if r, n := asked("asking", ""); r.Err != nil || n != 1 {
			t.Errorf("a policy that asks the authorizer: %v, %d", r.Err, n)
		}
		w.must(create(client.MutatingAdmissionPolicies, `{"metadata":{"name":"mutating"},"spec":{"reinvocationPolicy":"Never","failurePolicy":"Fail","matchConstraints":`+constraints+`,
			"variables":[{"name":"names","expression":"['a','b'].filter(x, x == 'b')"}],
			"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{annotations: {'n': variables.names.map(x, x + x)[0]}}}"}}]}}`).Err)
		w.must(create(client.MutatingAdmissionPolicyBindings, `{"metadata":{"name":"mutating"},"spec":{"policyName":"mutating"}}`).Err)
		task.Sleep(1e9)
		r, n := asked("mutated", "")
		if r.Err != nil || n != 2 {
			t.Fatalf("a mutating policy: %v, %d", r.Err, n)
		}
		if m := r.Object.(*corev1.ConfigMap); m.Annotations["n"] != "bb" {
			t.Errorf("it gives %v", m.Annotations)
		}
	})
}
