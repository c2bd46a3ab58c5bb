package bound

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

var (
	quantityType  = reflect.TypeFor[resource.Quantity]()
	unmarshalType = reflect.TypeFor[json.Unmarshaler]()
)

// shape is what this package knows of a Go type.
type shape struct {
	members map[string]reflect.Type // of a struct, by their names in JSON
	numbers map[int]reflect.Type    // and by their numbers in protobuf
	holds   bool                    // a quantity is somewhere in it
	nests   bool                    // it can contain itself
}

// shapes are made once and never change: those of all types that were asked for.
var shapes sync.Map // reflect.Type: *shape

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := &shape{}
	if t.Kind() == reflect.Struct && t != quantityType {
		s.members, s.numbers = map[string]reflect.Type{}, map[int]reflect.Type{}
		s.add(t)
		if reflect.PointerTo(t).Implements(unmarshalType) {
			s.members = nil // it reads its JSON itself: a time, an object of any kind, no quantities
		}
	}
	reached := map[reflect.Type]bool{}
	reach(t, reached)
	s.holds = t == quantityType || reached[quantityType]
	s.nests = reached[t]
	for r := range reached {
		if !s.nests && r.Kind() == reflect.Struct {
			below := map[reflect.Type]bool{}
			reach(r, below)
			s.nests = below[r]
		}
	}
	got, _ := shapes.LoadOrStore(t, s)
	return got.(*shape)
}

// add adds the fields of a struct, and of those that are inlined in it.
func (s *shape) add(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if n, ok := protoNumber(f.Tag.Get("protobuf")); ok {
			s.numbers[n] = f.Type
		}
		switch {
		case name == "-":
		case name == "" && f.Anonymous && plain(f.Type).Kind() == reflect.Struct:
			inner := shapeOf(plain(f.Type))
			for k, v := range inner.members {
				if _, ok := s.members[k]; !ok {
					s.members[k] = v
				}
			}
		case name == "":
			s.members[f.Name] = f.Type
		default:
			s.members[name] = f.Type
		}
	}
}

// protoNumber is the number in a tag like "bytes,2,rep,name=limits".
func protoNumber(tag string) (n int, ok bool) {
	_, rest, ok := strings.Cut(tag, ",")
	if !ok {
		return 0, false
	}
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int(c-'0')
	}
	return n, n > 0
}

// reach notes the types of everything that is in a value of type t.
func reach(t reflect.Type, seen map[reflect.Type]bool) {
	var parts []reflect.Type
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		parts = []reflect.Type{t.Elem()}
	case reflect.Struct:
		if t == quantityType {
			return
		}
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				parts = append(parts, f.Type)
			}
		}
	}
	for _, p := range parts {
		if !seen[p] {
			seen[p] = true
			reach(p, seen)
		}
	}
}

// holds reports whether a value of the type may have a quantity in it.
func holds(t reflect.Type) bool {
	t = plain(t)
	return t != nil && shapeOf(t).holds
}

func plain(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// member is the type of a member of a JSON object of type t; nil where no quantity can be in it.
func member(t reflect.Type, name string) reflect.Type {
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		return shapeOf(t).members[name]
	}
	return nil
}

// element is the type of an element of a list.
func element(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		return t.Elem()
	}
	return nil
}
