package apiserver

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"kviz/cluster/apiserver/registry"
)

// bodies are a kind's documents to begin with: its sample, what is wrong with it,
// each in every form it may be sent in.
func (g *target) bodies(a action) [][]byte {
	s, ok := g.samples[a.kind.GroupResource().String()]
	if !ok {
		return nil
	}
	doc := s.named(a.kind, or(g.made[a.kind], "one"))
	all := [][]byte{doc}
	for _, patches := range [][]map[string]any{s.Changes, s.Wrong, s.Status} {
		for _, p := range patches {
			b, err := json.Marshal(p)
			if err != nil {
				panic(err)
			}
			all = append(all, with(g.tb, doc, string(b)))
		}
	}
	return all
}

// subBodies are those of subresources with an object of their own, and of
// questions.
var subBodies = map[string]string{
	"create pods.v1/binding":                                  `{"apiVersion":"v1","kind":"Binding","metadata":{"name":"one"},"target":{"kind":"Node","name":"n"}}`,
	"create pods.v1/eviction":                                 `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"one"},"deleteOptions":{"gracePeriodSeconds":-1}}`,
	"create serviceaccounts.v1/token":                         `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"audiences":["a"],"expirationSeconds":600,"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"one"}}}`,
	"update deployments.v1.apps/scale":                        `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"one","namespace":"default"},"spec":{"replicas":-1}}`,
	"update crontabs.v1.stable.example.com/scale":             `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"one","namespace":"default"},"spec":{"replicas":4}}`,
	"create selfsubjectaccessreviews.v1.authorization.k8s.io": `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"get","fieldSelector":{"requirements":[{"key":"a","operator":"In","values":["b"]}]}}}}`,
	"create subjectaccessreviews.v1.authorization.k8s.io":     `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"jane","nonResourceAttributes":{"path":"/","verb":"*"}}}`,
	"create selfsubjectrulesreviews.v1.authorization.k8s.io":  `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview","spec":{"namespace":"default"}}`,
	"create tokenreviews.v1.authentication.k8s.io":            `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"a.b.c","audiences":["x"]}}`,
	"create selfsubjectreviews.v1.authentication.k8s.io":      `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`,
}

// mayStore reports whether there are seeds that store such an object: of a few
// kinds only, as each time the server is made anew.
func mayStore(a action) bool {
	switch a.kind.Kind {
	case "Pod", "Service", "Deployment", "CronTab", "CustomResourceDefinition":
		return a.sub == ""
	}
	return false
}

// FuzzBody: no body of a creation or update, of whatever kind and in whatever
// form, ends the server or is answered with "internal error", and what is refused
// is not stored.
func FuzzBody(f *testing.F) {
	g := newTarget(f)
	actions := g.actions("create", "update")
	for _, what := range slices.Sorted(maps.Keys(actions)) {
		a := actions[what]
		bodies := g.bodies(a)
		if s := subBodies[what]; s != "" {
			bodies = [][]byte{[]byte(s)}
		}
		for i, b := range bodies {
			how := byte(i%4) << 2
			f.Add(what, how, b)
			if i > 0 {
				continue
			}
			if mayStore(a) {
				f.Add(what, byte(16), b)
			}
			if y, err := yaml.JSONToYAML(b); err == nil {
				f.Add(what, byte(1), y)
			}
			if obj, _, err := registry.LaxJSON.Decode(b, nil, nil); err == nil && a.kind.Custom == nil {
				var p bytes.Buffer
				if err := registry.Protobuf.Encode(obj, &p); err != nil {
					f.Fatal(err)
				}
				f.Add(what, byte(2), p.Bytes())
			}
		}
	}
	f.Fuzz(func(t *testing.T, what string, how byte, body []byte) {
		a := g.pick(what, "create", "update")
		r := g.request(a)
		r.Body, r.ContentType = body, fuzzBodies[int(how&3)%len(fuzzBodies)]
		r.FieldValidation = fuzzValidations[how>>2&3]
		r.DryRun = how&16 == 0
		g.ask(t, r)
	})
}

var fuzzPatches = []types.PatchType{types.MergePatchType, types.StrategicMergePatchType, types.JSONPatchType, types.ApplyPatchType}

// FuzzPatch: no patch of any kind of object, in each of the three forms and as
// server-side apply, ends the server or is answered with "internal error", and
// what is refused is not stored.
func FuzzPatch(f *testing.F) {
	g := newTarget(f)
	actions := g.actions("patch")
	for _, what := range slices.Sorted(maps.Keys(actions)) {
		a := actions[what]
		s := g.samples[a.kind.GroupResource().String()]
		patches := slices.Concat(s.Changes, s.Wrong)
		if a.sub == "status" {
			patches = s.Status
		}
		for i, p := range patches {
			b, err := json.Marshal(p)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(what, byte(i%2)|byte(i%4)<<2, b)
		}
		if bodies := g.bodies(a); len(bodies) > 0 {
			f.Add(what, byte(3), bodies[0])
			if mayStore(a) {
				f.Add(what, byte(3+16+32), bodies[0])
			}
		}
		f.Add(what, byte(2), []byte(`[{"op":"test","path":"/metadata/name","value":"one"},{"op":"add","path":"/metadata/labels","value":{"a":"b"}},{"op":"copy","from":"/spec","path":"/x/-"}]`))
		f.Add(what, byte(2+4), []byte(`[{"op":"replace","path":"/metadata/finalizers/-1","value":null},{"op":"move","from":"/metadata","path":"/metadata/annotations/~1~0"},{"op":"remove","path":""}]`))
		f.Add(what, byte(0), []byte(`{"metadata":{"managedFields":[{"fieldsV1":{"f:x":{}},"operation":"Apply","manager":"m"}],"ownerReferences":[{}],"resourceVersion":"x","uid":1,"deletionTimestamp":"never"}}`))
		f.Add(what, byte(0), []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"}}`))
		f.Add(what, byte(1), []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"}}`))
		f.Add(what, byte(3), []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"a":"b"}}`))
		f.Add(what, byte(1), []byte(`{"metadata":{"finalizers":["a/b"],"$deleteFromPrimitiveList/finalizers":["c"],"$setElementOrder/finalizers":["a/b","d"],"$patch":"replace"},"$retainKeys":["x"]}`))
	}
	f.Fuzz(func(t *testing.T, what string, how byte, patch []byte) {
		r := g.request(g.pick(what, "patch"))
		r.Patch, r.PatchType = patch, fuzzPatches[how&3]
		r.FieldValidation = fuzzValidations[how>>2&3]
		r.DryRun = how&16 == 0
		r.Force = r.PatchType == types.ApplyPatchType && how&32 != 0
		g.ask(t, r)
	})
}
