package object

import (
	"encoding/json"
	"reflect"
	"sort"
	"strconv"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/trace"
)

// diffLimit is how many changed fields a stage shows at most.
const diffLimit = 64

// Diff lists the fields in which two objects of one type differ, in the
// order of the type's fields. Equal parts cost a comparison and nothing else.
func Diff(a, b runtime.Object) []trace.FieldDiff {
	var d differ
	if u, ok := a.(*unstructured.Unstructured); ok {
		d.json("", u.Object, b.(*unstructured.Unstructured).Object)
		return d.out
	}
	d.walk("", reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
	return d.out
}

type differ struct{ out []trace.FieldDiff }

func (d *differ) add(path string, from, to any) {
	if len(d.out) < diffLimit {
		d.out = append(d.out, trace.FieldDiff{Path: path, From: JSON(from), To: JSON(to)})
	}
}

// JSON is a value's JSON; empty for nothing.
func JSON(v any) string {
	if v == nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil || string(b) == "null" {
		return ""
	}
	return string(b)
}

func (d *differ) walk(path string, a, b reflect.Value) {
	if len(d.out) >= diffLimit || same(a, b) {
		return
	}
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() || leaf(a.Type().Elem()) {
			d.add(path, value(a), value(b))
			return
		}
		d.walk(path, a.Elem(), b.Elem())
	case reflect.Struct:
		if leaf(a.Type()) {
			d.add(path, value(a), value(b))
			return
		}
		d.fields(path, a, b)
	case reflect.Slice:
		if a.Len() == 0 || b.Len() == 0 || a.Type().Elem().Kind() == reflect.Uint8 {
			d.add(path, value(a), value(b))
			return
		}
		d.items(path, a, b)
	case reflect.Map:
		d.keys(path, a, b)
	default:
		d.add(path, value(a), value(b))
	}
}

func (d *differ) fields(path string, a, b reflect.Value) {
	t := a.Type()
	for i := range t.NumField() {
		name, inline, ok := jsonName(t.Field(i))
		if !ok {
			continue
		}
		p := path
		if !inline {
			p = Dotted(path, name)
		}
		if p == "metadata.managedFields" {
			continue
		}
		d.walk(p, a.Field(i), b.Field(i))
	}
}

func (d *differ) items(path string, a, b reflect.Value) {
	for i := range max(a.Len(), b.Len()) {
		p := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i >= a.Len():
			d.add(p, nil, value(b.Index(i)))
		case i >= b.Len():
			d.add(p, value(a.Index(i)), nil)
		default:
			d.walk(p, a.Index(i), b.Index(i))
		}
	}
}

func (d *differ) keys(path string, a, b reflect.Value) {
	seen := map[string]reflect.Value{}
	for _, m := range []reflect.Value{a, b} {
		for _, k := range m.MapKeys() {
			seen[k.String()] = k
		}
	}
	names := make([]string, 0, len(seen))
	for n := range seen {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		x, y := a.MapIndex(seen[n]), b.MapIndex(seen[n])
		if x.IsValid() && y.IsValid() && same(x, y) {
			continue
		}
		d.add(Dotted(path, n), value(x), value(y))
	}
}

// Dotted is the path of a field behind another path.
func Dotted(path, name string) string {
	if strings.ContainsAny(name, "./") {
		return path + `["` + name + `"]`
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.String:
		return a.String() == b.String()
	case reflect.Bool:
		return a.Bool() == b.Bool()
	case reflect.Int, reflect.Int32, reflect.Int64:
		return a.Int() == b.Int()
	}
	return apiequality.Semantic.DeepEqual(a.Interface(), b.Interface())
}

// leaf types are shown whole: they have a JSON form of their own.
func leaf(t reflect.Type) bool {
	return t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// value is what to show of v: nil for nothing.
func value(v reflect.Value) any {
	if !v.IsValid() || v.IsZero() {
		return nil
	}
	return v.Interface()
}

func jsonName(f reflect.StructField) (name string, inline, ok bool) {
	tag := f.Tag.Get("json")
	name, opts, _ := strings.Cut(tag, ",")
	if !f.IsExported() || name == "-" {
		return "", false, false
	}
	if name == "" {
		return "", f.Anonymous || strings.Contains(opts, "inline"), f.Anonymous || strings.Contains(opts, "inline")
	}
	return name, false, true
}
