package inert_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/inert"
)

// step is one field on the way from an object to a field of the table.
type step struct {
	field int
	name  string // as it is written; "" of what is inlined
}

// eachListed calls fn for every way in which a type comes to have a field of the table.
func eachListed(t reflect.Type, way []step, fn func(way []step, row inert.Row)) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || !strings.HasPrefix(t.PkgPath(), "k8s.io/api/") {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if inert.Ours(f) {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		way := append(slices.Clone(way), step{i, name})
		if at := slices.IndexFunc(inert.Fields, func(r inert.Row) bool { return r.What == inert.FieldOf(t, f) }); at >= 0 {
			fn(way, inert.Fields[at])
			continue
		}
		eachListed(f.Type, way, fn)
	}
}

// set makes an object have something at the end of a way, and nothing else, and gives the path as
// it is written.
func set(v reflect.Value, way []step) (path string) {
	for _, s := range way {
		v = down(v)
		if strings.HasSuffix(path, "!") {
			path = strings.TrimSuffix(path, "!") + "[0]"
		}
		v = v.Field(s.field)
		if s.name != "" {
			path = strings.TrimPrefix(path+"."+s.name, ".")
		}
		if v.Kind() == reflect.Slice {
			path += "!"
		}
	}
	fill(v)
	return strings.TrimSuffix(path, "!")
}

// down is the struct that a value is, points to or has in it, made where there is none.
func down(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return down(v.Elem())
	case reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		return down(v.Index(0))
	}
	return v
}

// fill makes a value that is not the zero one.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.String:
		v.SetString("Other")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Struct:
		if q, ok := v.Addr().Interface().(*resource.Quantity); ok {
			*q = resource.MustParse("1m")
		} else if v.NumField() > 0 {
			fill(v.Field(0))
		}
	}
}

// Wherever a workload has a field of the table, in whichever list, pointer or inlined struct, who
// sets it is told, with the path as he wrote it; and every row is reached by some.
func TestEveryPathIsTold(t *testing.T) {
	told := map[string]bool{}
	for _, o := range workloads {
		gk := schema.GroupKind{Kind: reflect.TypeOf(o).Elem().Name()}
		eachListed(reflect.TypeOf(o), nil, func(way []step, row inert.Row) {
			obj := reflect.New(reflect.TypeOf(o).Elem())
			path := set(obj, way)
			told[row.What] = true
			if end := end(obj, way); end.Kind() == reflect.Bool && slices.Contains(row.Unless, "true") {
				return // asks for what happens anyway
			}
			want := path + ": " + besides(row) + "nothing in this cluster acts on it yet: " + row.So
			if got := inert.Of(gk, obj.Interface().(runtime.Object)); !slices.Contains(got, want) {
				t.Errorf("%s with %s: told %q, want %q", gk.Kind, path, got, want)
			}
			if got := inert.Written(gk, "", obj.Interface().(runtime.Object), obj.Interface().(runtime.Object)); len(got) > 0 {
				t.Errorf("%s with %s, as before: told %q", gk.Kind, path, got)
			}
		})
	}
	for _, r := range inert.Fields {
		if !told[r.What] {
			t.Errorf("no workload has %s", r.What)
		}
	}
}

// besides is how a sentence begins about what one component acts on.
func besides(r inert.Row) string {
	if r.Only == "" {
		return ""
	}
	return "besides " + r.Only + ", "
}

// end is what a way leads to, without pointers.
func end(obj reflect.Value, way []step) reflect.Value {
	for _, s := range way {
		obj = down(obj).Field(s.field)
	}
	for obj.Kind() == reflect.Pointer {
		obj = obj.Elem()
	}
	return obj
}

// Of a kind that is wholly inert each write is told of with one sentence, whatever is set in it,
// also of those that have a template with inert fields.
func TestWhollyInertKindsAreTold(t *testing.T) {
	for _, r := range inert.Kinds {
		at := slices.IndexFunc(registry.Kinds, func(k *registry.Kind) bool {
			return inert.KindOf(schema.GroupKind{Group: k.Group, Kind: k.Kind}) == r.What
		})
		if at < 0 {
			continue // TestEveryKindIsActedOnOrListed tells
		}
		k := registry.Kinds[at]
		gk := schema.GroupKind{Group: k.Group, Kind: k.Kind}
		whole := func(obj runtime.Object) {
			t.Helper()
			got := inert.Written(gk, "", obj, obj)
			if len(got) != 1 || !strings.HasPrefix(got[0], besides(r)+"nothing in this cluster acts on ") || !strings.HasSuffix(got[0], " yet: "+r.So) {
				t.Errorf("%s: told %q", r.What, got)
			}
		}
		whole(k.New())
		eachListed(reflect.TypeOf(k.New()), nil, func(way []step, _ inert.Row) {
			obj := k.New()
			set(reflect.ValueOf(obj), way)
			whole(obj)
		})
	}
}
