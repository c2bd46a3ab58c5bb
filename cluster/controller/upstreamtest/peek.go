package upstreamtest

import (
	"reflect"
	"unsafe"
)

// Field is a field of one of upstream's controllers that its own tests set, and no other package
// can. It panics where v points to no struct that has one of this name and type.
func Field[T any](v any, name string) *T {
	f := reflect.ValueOf(v).Elem().FieldByName(name)
	if f.Type() != reflect.TypeFor[T]() {
		panic("upstreamtest: " + name + " is of type " + f.Type().String())
	}
	return (*T)(unsafe.Pointer(f.UnsafeAddr()))
}
