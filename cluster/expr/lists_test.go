package expr

import (
	"reflect"
	"strings"
	"testing"

	"kviz/cluster/trace"
	"kviz/cluster/view"
)

// Whoever gives a type of the state a list has it in expressions as well: here
// every struct that an expression can reach is asked for its methods that take
// nothing and give a list, and each must be a name of it.
func TestEveryListOfTheStateHasAName(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var reach func(reflect.Type)
	reach = func(typ reflect.Type) {
		if typ == nil {
			return
		}
		switch typ = pointer(typ); typ.Kind() {
		case reflect.Slice, reflect.Map:
			reach(typ.Elem())
			return
		case reflect.Pointer:
		default:
			return
		}
		if x := element(typ); x != nil {
			reach(x)
			return
		}
		if seen[typ] || typ.Elem().Kind() != reflect.Struct || opaque(typ) {
			return
		}
		seen[typ] = true
		s := shapeFor(typ)
		for m := range typ.Methods() {
			if m.Type.NumIn() != 1 || m.Type.NumOut() != 1 || m.Type.Out(0).Kind() != reflect.Slice {
				continue
			}
			if s.get[lower(m.Name)] == nil {
				t.Errorf("an expression cannot ask %s for %s: lists.go has no row for (%s).%s", typ, lower(m.Name), typ, m.Name)
			}
		}
		for _, of := range s.typ {
			reach(of)
		}
	}
	for _, r := range roots {
		reach(r.typ)
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[*view.NodePod](), reflect.TypeFor[*view.Key](), reflect.TypeFor[view.KubeEvent](), reflect.TypeFor[*view.Family](), reflect.TypeFor[*view.Rollout](), reflect.TypeFor[*view.JobRun](), reflect.TypeFor[*view.AutoscalerSum](), reflect.TypeFor[*view.VolumeStanding]()} {
		reach(typ) // what functions give
	}
	for _, k := range trace.Kinds() {
		reach(reflect.TypeOf(k.NewPayload()))
	}
	for typ := range lists {
		if !seen[typ] {
			t.Errorf("lists.go has rows for %s, which no expression reaches", strings.TrimPrefix(typ.String(), "*"))
		}
	}
}
