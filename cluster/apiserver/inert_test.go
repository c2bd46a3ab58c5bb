package apiserver

import (
	"slices"
	"strings"
	"testing"

	"kviz/cluster/apiserver/request"

	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/client"
	"kviz/cluster/inert"
	"kviz/cluster/sim"
)

// Who scales what nothing acts on is told, by whichever patch; who scales a Deployment is not told
// again of what its template has.
func TestScalingIsWarnedOf(t *testing.T) {
	run(t, Config{Inert: inert.Written}, func(w *world, task *sim.Task) {
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
			made string   // what is told of the creation
			want []string // of scaling
		}{
			{client.StatefulSets, `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web"},"spec":{"serviceName":"web",` + template + `}}`, "acts on StatefulSets yet", []string{"nothing in this cluster acts on StatefulSets yet: no pods are made of it"}},
			{client.Deployments, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{` + template + `}}`, "spec.template.spec.hostAliases: ", nil},
		} {
			resp := w.ask(task, &request.Request{Verb: "create", Resource: c.r.GroupVersionResource, Namespace: "default", Body: []byte(c.body)})
			w.must(resp.Err)
			if len(resp.Warnings) != 1 || !strings.Contains(resp.Warnings[0], c.made) {
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
				if got := scale(c.r, "scale", by.pt, by.body); !slices.Equal(got, c.want) {
					t.Errorf("%s scaled by %s: warned %q, want %q", c.r.Kind, by.pt, got, c.want)
				}
			}
			if got := scale(c.r, "", types.MergePatchType, `{"spec":{"replicas":5}}`); !slices.Equal(got, c.want) {
				t.Errorf("%s patched: warned %q, want %q", c.r.Kind, got, c.want)
			}
		}
	})
}
