package crd

import (
	"context"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserverscheme "k8s.io/apiextensions-apiserver/pkg/crdserverscheme"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
)

// picky is a definition with a bit of everything that validation knows.
const picky = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.count, statusReplicasPath: .status.count, labelSelectorPath: .status.sel}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        x-kubernetes-validations:
        - {rule: "!has(self.status) || !has(self.status.count) || self.status.count <= self.spec.count", messageExpression: "self.status.count > 9 ? 'far too many' : 'too many'"}
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: "self.min <= self.max", message: "min above max", fieldPath: .min, reason: FieldValueForbidden}
            - {rule: "!has(oldSelf.mode) || self.mode == oldSelf.mode", message: "mode is immutable"}
            properties:
              count: {type: integer, default: 1}
              min: {type: integer, default: 0, minimum: 0}
              max: {type: integer, default: 5, multipleOf: 5}
              mode: {type: string, enum: [fast, slow], default: fast}
              when: {type: string, format: date-time}
              name: {type: string, maxLength: 5}
              tags: {type: array, maxItems: 3, x-kubernetes-list-type: set, items: {type: string}}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [port]
                items: {type: object, required: [port], properties: {port: {type: integer}, proto: {type: string, default: TCP}}}
              either: {oneOf: [{required: [a]}, {required: [b]}], type: object, properties: {a: {type: string}, b: {type: string}}}
              amount: {x-kubernetes-int-or-string: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              note: {type: string, nullable: true}
          status:
            type: object
            properties: {count: {type: integer, minimum: 0}, sel: {type: string}}
`

// Our own lines about custom objects refuse what upstream's strategy refuses, in
// the same words.
func TestCustomRefusalsAreUpstreams(t *testing.T) {
	k := serve(t, picky)
	made := Of(k).schema()
	upstream := customresource.NewStrategy(crdserverscheme.NewUnstructuredObjectTyper(), true, k.GVK(), made.whole, made.status, made.structural,
		&apiextensions.CustomResourceSubresourceStatus{}, made.scale, nil)
	status := customresource.NewStatusStrategy(upstream)
	gadget := func(spec string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		text := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"default","resourceVersion":"1","uid":"u"},"spec":{}}`
		if err := u.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		parts := map[string]any{}
		if err := json.Unmarshal([]byte(spec), &parts); err != nil {
			t.Fatal(spec, err)
		}
		merge(u, parts)
		Of(k).Fill(u)
		return u
	}
	for _, changed := range []string{
		`{}`, `{"spec":{"count":-1}}`, `{"spec":{"count":4294967296}}`, `{"spec":{"count":"three"}}`, `{"spec":{"min":9}}`, `{"spec":{"min":-1,"max":7}}`,
		`{"spec":{"mode":"slow"}}`, `{"spec":{"mode":"other"}}`, `{"spec":{"when":"yesterday"}}`, `{"spec":{"when":"2026-01-01T00:00:00Z"}}`,
		`{"spec":{"name":"too long a name"}}`, `{"spec":{"tags":["a","a"]}}`, `{"spec":{"tags":["a","b","c","d"]}}`, `{"spec":{"tags":"a"}}`,
		`{"spec":{"ports":[{"port":1},{"port":1}]}}`, `{"spec":{"ports":[{"proto":"UDP"}]}}`, `{"spec":{"either":{}}}`, `{"spec":{"either":{"a":"1","b":"2"}}}`,
		`{"spec":{"amount":"10%"}}`, `{"spec":{"amount":1.5}}`, `{"spec":{"free":{"any":[1]}}}`, `{"spec":{"template":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"}}}}`,
		`{"spec":{"template":{"kind":"Pod","metadata":{"name":"A_B"}}}}`, `{"spec":{"note":null}}`, `{"spec":null}`, `{"status":{"count":5}}`, `{"status":{"count":-5,"sel":3}}`,
		`{"kind":"Gadget"}`, `{"apiVersion":"example.com/v2"}`, `{"metadata":{"name":"Not_A_Name"}}`, `{"metadata":{"finalizers":["x"]}}`,
		`{"metadata":{"labels":{"a b":"c"}}}`, `{"metadata":{"namespace":""}}`, `{"metadata":{"generation":-1}}`,
	} {
		u, old, ctx := gadget(changed), gadget(`{}`), context.Background()
		alike(t, changed+" created", Of(k).validate(t.Context(), k, u), upstream.Validate(ctx, u))
		alike(t, changed+" updated", Of(k).validateUpdate(t.Context(), k, u, old), upstream.ValidateUpdate(ctx, u, old))
		alike(t, changed+" not changed", Of(k).validateUpdate(t.Context(), k, u, u.DeepCopy()), upstream.ValidateUpdate(ctx, u, u.DeepCopy()))
		alike(t, changed+" as status", Of(k).validateStatus(t.Context(), k, u, old), status.ValidateUpdate(ctx, u, old))
		ours, theirs := u.DeepCopy(), u.DeepCopy()
		Of(k).prepare(ours, old)
		upstream.PrepareForUpdate(ctx, theirs, old)
		if !object.Equal(ours, theirs) {
			t.Errorf("%s: prepared %v, upstream %v", changed, ours, theirs)
		}
		ours, theirs = u.DeepCopy(), u.DeepCopy()
		prepareCustomStatus(ours, old)
		status.PrepareForUpdate(ctx, theirs, old)
		if !object.Equal(ours, theirs) {
			t.Errorf("%s: prepared for status %v, upstream %v", changed, ours, theirs)
		}
		if a, b := finalizerWarnings(u, old), upstream.WarningsOnUpdate(ctx, u, old); !slices.Equal(a, b) {
			t.Errorf("%s: warnings %q, upstream %q", changed, a, b)
		}
	}
}

// serve makes the kind of a definition, in the version that is stored.
func serve(t *testing.T, text string) *registry.Kind {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal([]byte(text), crd); err != nil {
		t.Fatal(err)
	}
	registry.Scheme.Default(crd)
	crd.Status.AcceptedNames = crd.Spec.Names
	cs := New(nobody{})
	cs.add(crd.Name, crd)
	return cs.Stored(crd.Name)
}

// nobody serves what the definitions of a test say.
type nobody struct{ host }

func (nobody) CustomKindsMoved()              {}
func (nobody) CustomKindAdded(*registry.Kind) {}

// merge puts the fields of parts, which the object has from then on, into it.
func merge(u *unstructured.Unstructured, parts map[string]any) {
	for name, part := range parts {
		fields, ok := part.(map[string]any)
		had, had2 := u.Object[name].(map[string]any)
		if !ok || !had2 {
			u.Object[name] = part
			continue
		}
		for f, v := range fields {
			had[f] = v
		}
	}
}

// sorted are refusals in an order; upstream's is random.
func sorted(errs field.ErrorList) string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Error())
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

func alike(t *testing.T, what string, ours, theirs field.ErrorList) {
	t.Helper()
	if a, b := sorted(ours), sorted(theirs); a != b {
		t.Errorf("%s: we refuse\n%s\nupstream\n%s", what, a, b)
	}
}

// A definition that is no good is refused as upstream does.
func TestDefinitionRefusalsAreUpstreams(t *testing.T) {
	upstream := customresourcedefinition.NewStrategy(registry.Scheme)
	for _, change := range []struct{ name, from, to string }{
		{"nothing", "", ""},
		{"name", "name: widgets.example.com", "name: widgets.example.org"},
		{"no storage", "storage: true", "storage: false"},
		{"upper case plural", "plural: widgets", "plural: Widgets"},
		{"not structural", "count: {type: integer, default: 1}", "count: {default: 1}"},
		{"bad default", "mode: {type: string, enum: [fast, slow], default: fast}", "mode: {type: string, enum: [fast, slow], default: idle}"},
		{"bad rule", `self.min <= self.max`, `self.min <= self.nothing`},
		{"costly rule", `rule: "self.min <= self.max"`, `rule: "self.tags.all(a, self.tags.all(b, self.tags.all(c, a.contains(b) || b.contains(c))))"`},
		{"rule of another type", `self.min <= self.max`, `self.min + self.max`},
		{"list map without key", "x-kubernetes-list-map-keys: [port]", "x-kubernetes-list-map-keys: [nothing]"},
		{"two of a version", "  - name: v1\n", "  - {name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}\n  - name: v1\n"},
		{"scale path", "specReplicasPath: .spec.count", "specReplicasPath: spec.count"},
		{"scope", "scope: Namespaced", "scope: Everywhere"},
		{"protected group", "example.com", "example.k8s.io"},
		{"no schema", "type: object\n        required: [spec]", "required: [spec]"},
	} {
		text := picky
		if change.from != "" {
			if text = strings.ReplaceAll(picky, change.from, change.to); text == picky {
				t.Fatalf("%s: nothing changed", change.name)
			}
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal([]byte(text), crd); err != nil {
			t.Fatal(change.name, err)
		}
		registry.Scheme.Default(crd)
		crd.ResourceVersion = ""
		theirs := upstream.Validate(context.Background(), registry.Internal[apiextensions.CustomResourceDefinition](crd))
		ours := registry.CustomResourceDefinitionStrategy.Validate(crd)
		if len(ours) == 0 && change.from != "" {
			t.Errorf("%s: not refused", change.name)
		}
		alike(t, change.name, ours, theirs)
		if a, b := registry.CustomResourceDefinitionStrategy.Warn(crd, nil), upstream.WarningsOnCreate(context.Background(), registry.Internal[apiextensions.CustomResourceDefinition](crd)); !slices.Equal(a, b) {
			t.Errorf("%s: warnings %q, upstream %q", change.name, a, b)
		}
	}
}
