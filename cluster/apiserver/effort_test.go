package apiserver

import (
	"context"
	"strings"
	"testing"

	"kviz/cluster/apiserver/request"
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
