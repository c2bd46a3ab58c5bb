package expr

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/scheme"

	"kviz/cluster/view"
)

// What object() and objects() give is JSON. Its names are those of Kubernetes' own types,
// where a resource has one: a custom resource has what its definition says, which an
// expression is not checked against.

// kindTypes are Kubernetes' types by resource; nil for a resource of several groups.
var kindTypes = sync.OnceValue(func() map[string]reflect.Type {
	type found struct {
		group, version string
		typ            reflect.Type
	}
	best := map[string]found{}
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || strings.HasSuffix(gvk.Kind, "List") {
			continue
		}
		if _, ok := typ.FieldByName("ObjectMeta"); !ok {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		old, ok := best[plural.Resource]
		switch order := version.CompareKubeAwareVersionStrings(gvk.Version, old.version); {
		case !ok || order > 0:
			best[plural.Resource] = found{gvk.Group, gvk.Version, typ}
		case order == 0 && old.group != gvk.Group:
			old.typ = nil
			best[plural.Resource] = old
		}
	}
	out := map[string]reflect.Type{}
	for resource, f := range best {
		if f.typ != nil {
			out[resource] = f.typ
		}
	}
	return out
})

// json is the Go type whose JSON a part of an expression is, nil where that is not known.
func (c *checker) json(e ast.Expr) reflect.Type {
	switch e.Kind() {
	case ast.IdentKind:
		return c.jsons[e.AsIdent()]
	case ast.SelectKind:
		t := c.json(e.AsSelect().Operand())
		if t == nil {
			return nil
		}
		return jsonFields(t)[e.AsSelect().FieldName()]
	case ast.CallKind:
		call := e.AsCall()
		args := call.Args()
		switch call.FunctionName() {
		case "_object", "_objects":
			if len(args) < 2 {
				return nil
			}
			kind, ok := literal(args[1])
			if !ok {
				return nil
			}
			t := kindTypes()[view.ResourceOf(kind)]
			if t != nil && call.FunctionName() == "_objects" {
				return reflect.SliceOf(t)
			}
			return t
		case operators.Index:
			return jsonElement(c.json(args[0]))
		}
	}
	return nil
}

// jsonField refuses a field that the JSON of a type does not have.
func (c *checker) jsonField(e ast.Expr, name string) {
	op := e.AsSelect().Operand()
	t := c.json(op)
	if t == nil || t.Kind() != reflect.Struct {
		return
	}
	fields := jsonFields(t)
	if _, ok := fields[name]; ok || len(fields) == 0 {
		return
	}
	c.refuse(e, fmt.Sprintf("%s has no %q", c.text(op), name), name, sorted(fields))
}

// jsonElement is what an index into a type gives.
func jsonElement(t reflect.Type) reflect.Type {
	if t == nil || t.Kind() != reflect.Slice && t.Kind() != reflect.Map {
		return nil
	}
	return concrete(t.Elem())
}

var jsonShapes sync.Map // reflect.Type -> map[string]reflect.Type

// jsonFields are the names in the JSON of a type, each with the type below it, nil where that
// writes its own JSON.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	t = concrete(t)
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	if m, ok := jsonShapes.Load(t); ok {
		return m.(map[string]reflect.Type)
	}
	m := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case name == "" && f.Anonymous:
			for k, v := range jsonFields(f.Type) {
				m[k] = v
			}
		case name != "":
			m[name] = concrete(f.Type)
		}
	}
	jsonShapes.Store(t, m)
	return m
}

// concrete is a type without its pointer, nil if it writes its own JSON.
func concrete(t reflect.Type) reflect.Type {
	if t == nil {
		return nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	marshals := reflect.TypeFor[json.Marshaler]()
	if t.Implements(marshals) || reflect.PointerTo(t).Implements(marshals) {
		return nil
	}
	return t
}
