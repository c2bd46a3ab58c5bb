// Package inert lists what the API serves but nothing in this cluster acts on yet:
// kinds, subresources and fields that are accepted and stored, and then have no effect, or
// only a part of it because of those who should act on them some do not (ResourceClaims: the
// scheduler gives them devices, and no driver gets these ready).
//
// Kubernetes has no such list: something acts on everything that it serves. Here each row
// becomes a Warning in the response to a write of such an object, an Event NotSimulated
// about it, so that kubectl describe tells those who did not write it, a line of kviz why, and
// a line of the object pane, so that people do not look for a mistake of their own. A change that
// implements something removes its row from kinds.go or fields.go; the test then asks
// which component acts on it.
//
// Start reading at kinds.go.
package inert

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Row is one thing that nothing acts on.
type Row struct {
	// What is a kind with its group, "StatefulSet.apps"; a subresource, "pods/resize"; or a
	// field of one of the API's types, wherever an object has it, "PodSpec.hostAliases".
	What string
	// Only is who alone acts on it, where somebody does and it takes others for it to have
	// its effect: "the scheduler".
	Only string
	// So is what does not happen, as the end of a sentence.
	So string
	// Unless are values of a field, as they are written, that ask for no more than what
	// happens anyway: defaults, for the most part.
	Unless []string
}

// Whole reports whether nothing acts on a kind as a whole, or one component alone does.
func Whole(gk schema.GroupKind) bool { return byKind[KindOf(gk)] != nil }

var (
	byKind        = index(Kinds)
	bySubresource = index(Subresources)
	byField       = index(Fields)
)

func index(rows []Row) map[string]*Row {
	out := make(map[string]*Row, len(rows))
	for i := range rows {
		out[rows[i].What] = &rows[i]
	}
	return out
}

// KindOf is how the table names a kind.
func KindOf(gk schema.GroupKind) string { return gk.String() }

// FieldOf is how the table names a field of a type.
func FieldOf(t reflect.Type, f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return t.Name() + "." + name
}

// Of tells, a sentence each, what of an object nothing acts on.
func Of(gk schema.GroupKind, obj runtime.Object) []string { return Written(gk, "", obj, nil) }

// Written tells what of a write nothing acts on: the whole kind, the subresource, or the
// fields of obj that old has not set too. old is nil for a new object.
func Written(gk schema.GroupKind, subresource string, obj, old runtime.Object) []string {
	if row := byKind[KindOf(gk)]; row != nil {
		return []string{row.says(plural(gk.Kind))}
	}
	if row := bySubresource[subresource]; row != nil {
		return []string{row.says(subresource)}
	}
	had := &finder{}
	had.object(old)
	now := &finder{}
	now.object(obj)
	var out []string
	for _, f := range now.found {
		if !slices.ContainsFunc(had.found, func(o found) bool { return o.row == f.row }) {
			out = append(out, f.path+": "+f.row.says("it"))
		}
	}
	return out
}

func (r *Row) says(what string) string {
	if r.Only != "" {
		return fmt.Sprintf("besides %s, nothing in this cluster acts on %s yet: %s", r.Only, what, r.So)
	}
	return fmt.Sprintf("nothing in this cluster acts on %s yet: %s", what, r.So)
}

// plural is the plural of a kind, as people write it.
func plural(kind string) string {
	switch {
	case strings.HasSuffix(kind, "s"):
		if strings.HasSuffix(kind, "ss") {
			return kind + "es"
		}
		return kind
	case strings.HasSuffix(kind, "y"):
		return strings.TrimSuffix(kind, "y") + "ies"
	}
	return kind + "s"
}

// found is a row that an object has, and where it has it first.
type found struct {
	row  *Row
	path string
}

// finder looks through an object.
type finder struct{ found []found }

func (f *finder) object(obj runtime.Object) {
	if obj == nil || reflect.ValueOf(obj).Kind() != reflect.Pointer {
		return
	}
	if v := reflect.ValueOf(obj).Elem(); v.Kind() == reflect.Struct && strings.HasPrefix(v.Type().PkgPath(), apiTypes) {
		f.walk("", v)
	}
}

// apiTypes is where the types of the API are.
const apiTypes = "k8s.io/api/"

func (f *finder) walk(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			f.walk(path, v.Elem())
		}
	case reflect.Slice:
		if t := v.Type().Elem(); t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer {
			for i := range v.Len() {
				f.walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
			}
		}
	case reflect.Struct:
		if strings.HasPrefix(v.Type().PkgPath(), apiTypes) {
			f.fields(path, v)
		}
	}
}

func (f *finder) fields(path string, v reflect.Value) {
	t := v.Type()
	for i := range t.NumField() {
		sf, fv := t.Field(i), v.Field(i)
		if fv.IsZero() || Ours(sf) {
			continue
		}
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		at := path
		if name != "" {
			at = strings.TrimPrefix(path+"."+name, ".")
		}
		row := byField[FieldOf(t, sf)]
		if row == nil {
			f.walk(at, fv)
			continue
		}
		if !slices.Contains(row.Unless, text(fv)) && !slices.ContainsFunc(f.found, func(o found) bool { return o.row == row }) {
			f.found = append(f.found, found{row, at})
		}
	}
}

// Ours reports whether a field is the API machinery's, which acts on it, or the status,
// which the cluster writes itself.
func Ours(f reflect.StructField) bool {
	return f.Name == "TypeMeta" || f.Name == "ObjectMeta" || f.Name == "Status"
}

// text is a value as it is written; of what is neither word, number nor truth nothing.
func text(v reflect.Value) string {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64:
		return fmt.Sprint(v.Interface())
	case reflect.Struct:
		switch x := v.Interface().(type) {
		case corev1.PodOS:
			return string(x.Name)
		case resource.Quantity:
			return x.String()
		}
	}
	return ""
}
