package expr

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/trace"
)

// Values are converted when an expression asks for them, one level at a time:
// an expression that is evaluated at every event must not pay for a thousand
// nodes to look at one.

// lookup is a map of which nothing is converted until it is asked for.
type lookup struct {
	find func(string) (any, bool)
	keys func() []string
}

// adapter turns Go values into CEL's.
type adapter struct{}

// NativeToValue converts one level of a value.
func (adapter) NativeToValue(v any) ref.Val {
	switch x := v.(type) {
	case nil:
		return types.NullValue
	case ref.Val:
		return x
	case string:
		return types.String(x)
	case bool:
		return types.Bool(x)
	case trace.ID:
		if x.IsZero() {
			return types.String("")
		}
		return types.String(x.String())
	case trace.Lane:
		return types.String(x.String())
	case trace.Grain:
		return types.String(x.String())
	case time.Duration:
		return types.Duration{Duration: x}
	case time.Time:
		return types.Timestamp{Time: x}
	case *lookup:
		return &mapVal{x}
	case *trace.Object:
		if x == nil || x.Value == nil {
			return types.NullValue
		}
		return adapter{}.NativeToValue(asJSON(x.Value))
	case runtime.Object:
		return adapter{}.NativeToValue(asJSON(x))
	case map[string]any:
		return &mapVal{jsonMap(x)}
	}
	return reflected(reflect.ValueOf(v))
}

func reflected(v reflect.Value) ref.Val {
	switch v.Kind() {
	case reflect.String:
		return types.String(v.String())
	case reflect.Bool:
		return types.Bool(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return types.Int(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return types.Int(v.Uint()) // one number type: revision == 3 needs no 3u
	case reflect.Float32, reflect.Float64:
		return types.Double(v.Float())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return types.NullValue
		}
		if v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
			return &mapVal{structMap(v)}
		}
		return adapter{}.NativeToValue(v.Elem().Interface())
	case reflect.Struct:
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		return &mapVal{structMap(p)}
	case reflect.Slice:
		return types.NewDynamicList(adapter{}, v.Interface())
	case reflect.Map:
		if v.Type().Key().Kind() == reflect.String {
			return &mapVal{goMap(v)}
		}
	}
	return types.NewErr("a value of type %s cannot be used in an expression", v.Type())
}

func jsonMap(m map[string]any) *lookup {
	return &lookup{
		find: func(k string) (any, bool) { v, ok := m[k]; return v, ok },
		keys: func() []string {
			keys := make([]string, 0, len(m))
			for k := range m {
				keys = append(keys, k)
			}
			sort.Strings(keys)
			return keys
		},
	}
}

func goMap(v reflect.Value) *lookup {
	return &lookup{
		find: func(k string) (any, bool) {
			x := v.MapIndex(reflect.ValueOf(k).Convert(v.Type().Key()))
			if !x.IsValid() {
				return nil, false
			}
			return x.Interface(), true
		},
		keys: func() []string {
			keys := make([]string, 0, v.Len())
			for _, k := range v.MapKeys() {
				keys = append(keys, k.String())
			}
			sort.Strings(keys)
			return keys
		},
	}
}

// structMap is a struct with its fields by lower-case name, promoted ones
// among them, and what lists and extras have for its type.
func structMap(p reflect.Value) *lookup {
	s := shapeFor(p.Type())
	return &lookup{
		find: func(k string) (any, bool) {
			get, ok := s.get[k]
			if !ok {
				return nil, false
			}
			return get(p), true
		},
		keys: func() []string { return s.names() },
	}
}

// getter reads one field of a pointer to a struct.
type getter func(reflect.Value) any

// structShape is what an expression may ask of a struct type.
type structShape struct {
	get map[string]getter
	typ map[string]reflect.Type // nil where the type is not known before
}

func (s *structShape) names() []string {
	return sorted(s.get)
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

var shapes sync.Map // reflect.Type -> *structShape

// shapeFor is the shape of a pointer to a struct.
func shapeFor(t reflect.Type) *structShape {
	if s, ok := shapes.Load(t); ok {
		return s.(*structShape)
	}
	s := &structShape{get: map[string]getter{}, typ: map[string]reflect.Type{}}
	s.fields(t.Elem(), nil)
	for _, named := range []map[string]extra{lists[t], extras[t]} {
		for name, x := range named {
			s.get[name] = func(p reflect.Value) any { return x.get(p.Interface()) }
			s.typ[name] = x.typ
		}
	}
	shapes.Store(t, s)
	return s
}

// fields enters the exported fields of a struct at a path, those of embedded
// structs after its own: Fault embeds a trace.Fault, whose field Fault would
// otherwise be hidden by its own name.
func (s *structShape) fields(t reflect.Type, path []int) {
	var embedded []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		if f.Anonymous {
			embedded = append(embedded, f)
			continue
		}
		name := lower(f.Name)
		if _, taken := s.get[name]; taken {
			continue
		}
		index := append(append([]int(nil), path...), i)
		s.get[name] = func(p reflect.Value) any {
			v, err := p.Elem().FieldByIndexErr(index)
			if err != nil { // through a nil pointer
				return nil
			}
			return v.Interface()
		}
		s.typ[name] = f.Type
	}
	for _, f := range embedded {
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			s.fields(inner, append(append([]int(nil), path...), f.Index...))
		}
	}
}

// lower is a Go name as expressions write it: "PodIP" gives "podIP", "RPC"
// gives "rpc", "ID" gives "id".
func lower(name string) string {
	r := []rune(name)
	for i := range r {
		if !unicode.IsUpper(r[i]) {
			break
		}
		if i > 0 && i+1 < len(r) && !unicode.IsUpper(r[i+1]) {
			break
		}
		r[i] = unicode.ToLower(r[i])
	}
	return string(r)
}

// An object's JSON is remembered for as long as it is likely to be asked for
// again.
var converted = struct {
	sync.Mutex
	m map[runtime.Object]map[string]any
}{m: map[runtime.Object]map[string]any{}}

func asJSON(o runtime.Object) map[string]any {
	converted.Lock()
	defer converted.Unlock()
	if m, ok := converted.m[o]; ok {
		return m
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		m = map[string]any{"error": err.Error()}
	}
	if len(converted.m) >= 4096 {
		clear(converted.m)
	}
	converted.m[o] = m
	return m
}

// mapVal is a lookup as a CEL map.
type mapVal struct{ l *lookup }

var _ traits.Mapper = (*mapVal)(nil)

func (m *mapVal) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("a map of the cluster's state cannot become a %s", t)
}

func (m *mapVal) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.MapType:
		return m
	case types.TypeType:
		return types.MapType
	case types.StringType:
		return types.String("{" + strings.Join(m.l.keys(), ", ") + "}")
	}
	return types.NewErr("a map cannot become a %s", t)
}

func (m *mapVal) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Mapper)
	if !ok {
		return types.False
	}
	if m.Size().Equal(o.Size()) != types.True {
		return types.False
	}
	for _, k := range m.l.keys() {
		mine, _ := m.Find(types.String(k))
		theirs, found := o.Find(types.String(k))
		if !found || mine.Equal(theirs) != types.True {
			return types.False
		}
	}
	return types.True
}

func (m *mapVal) Type() ref.Type { return types.MapType }

func (m *mapVal) Value() any { return m.l }

func (m *mapVal) Contains(key ref.Val) ref.Val {
	_, ok := m.Find(key)
	return types.Bool(ok)
}

func (m *mapVal) Get(key ref.Val) ref.Val {
	v, ok := m.Find(key)
	if !ok {
		return types.NewErr("no such key: %v", key)
	}
	return v
}

func (m *mapVal) Find(key ref.Val) (ref.Val, bool) {
	k, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	v, ok := m.l.find(string(k))
	if !ok {
		return nil, false
	}
	return adapter{}.NativeToValue(v), true
}

func (m *mapVal) Iterator() traits.Iterator {
	keys := m.l.keys()
	vals := make([]ref.Val, len(keys))
	for i, k := range keys {
		vals[i] = types.String(k)
	}
	return types.DefaultTypeAdapter.NativeToValue(vals).(traits.Iterable).Iterator()
}

func (m *mapVal) Size() ref.Val { return types.Int(len(m.l.keys())) }
