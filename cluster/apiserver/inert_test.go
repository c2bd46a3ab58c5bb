package apiserver

import (
	"strings"
	"testing"

	"kviz/cluster/apiserver/request"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/inert"
	"kviz/cluster/sim"
)

// Whoever writes a template with a field that nothing acts on is warned; whoever then scales the object, by
// whichever patch, is not warned of it again.
func TestScalingIsNotWarnedOf(t *testing.T) {
	run(t, Config{Inert: warns{}}, func(w *world, task *sim.Task) {
		scale := func(r client.Resource, sub string, pt types.PatchType, body string) []string {
			resp := w.ask(task, &request.Request{
				Verb: "patch", Resource: r.GroupVersionResource, Namespace: "default", Name: "web", Subresource: sub, PatchType: pt, Patch: []byte(body), FieldManager: "test", Force: true,
			})
			w.must(resp.Err)
			return resp.Warnings
		}
		const template = `"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"hostAliases":[{"ip":"10.0.0.1","hostnames":["a"]}],"containers":[{"name":"a","image":"nginx"}]}}`
		for _, c := range []struct {
			r    client.Resource
			body string
		}{
			{client.StatefulSets, `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web"},"spec":{"serviceName":"web",` + template + `}}`},
			{client.Deployments, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{` + template + `}}`},
		} {
			resp := w.ask(task, &request.Request{Verb: "create", Resource: c.r.GroupVersionResource, Namespace: "default", Body: []byte(c.body)})
			w.must(resp.Err)
			if len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], "spec.template.spec.hostAliases: ") {
				t.Errorf("%s created: warned %q", c.r.Kind, resp.Warnings)
			}
			for _, by := range []struct {
				pt   types.PatchType
				body string
			}{
				{types.MergePatchType, `{"spec":{"replicas":2}}`},
				{types.JSONPatchType, `[{"op":"replace","path":"/spec/replicas","value":3}]`},
				{types.ApplyPatchType, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web"},"spec":{"replicas":4}}`},
			} {
				if got := scale(c.r, "scale", by.pt, by.body); len(got) > 0 {
					t.Errorf("%s scaled by %s: warned %q", c.r.Kind, by.pt, got)
				}
			}
			if got := scale(c.r, "", types.MergePatchType, `{"spec":{"replicas":5}}`); len(got) > 0 {
				t.Errorf("%s patched: warned %q", c.r.Kind, got)
			}
		}
	})
}

// warns knows what nothing acts on, and notes it nowhere.
type warns struct{}

func (warns) Warnings(gk schema.GroupKind, subresource string, obj, old runtime.Object) (unacted, assumed []string) {
	return inert.Written(gk, subresource, obj, old), nil
}
func (warns) Whole(gk schema.GroupKind) bool           { return inert.Whole(gk) }
func (warns) Note(*sim.Task, runtime.Object, []string) {}
