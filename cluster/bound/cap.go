package bound

import (
	"errors"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Cappable reports whether what [StoredWire] found is a quantity that can be read, and then be
// made smaller.
func Cappable(err error) bool { return errors.Is(err, resource.ErrSuffix) }

// largest is what a stored quantity becomes that no client could write today, with its sign.
var largest = resource.MustParse("1e999")

// Cap makes the quantities of an object as small as [Quantity] allows: those of an object that
// was stored when nothing refused them. It changes no map that others have.
func Cap(obj any) { capIn(reflect.ValueOf(obj)) }

func capIn(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			capIn(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		if holds(v.Type().Elem()) {
			for i := range v.Len() {
				capIn(v.Index(i))
			}
		}
	case reflect.Map:
		if holds(v.Type().Elem()) {
			for _, k := range v.MapKeys() {
				e := reflect.New(v.Type().Elem()).Elem()
				e.Set(v.MapIndex(k))
				capIn(e)
				v.SetMapIndex(k, e)
			}
		}
	case reflect.Struct:
		if v.Type() == quantityType {
			capQuantity(v.Addr().Interface().(*resource.Quantity))
			return
		}
		if !shapeOf(v.Type()).holds {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				capIn(v.Field(i))
			}
		}
	}
}

func capQuantity(q *resource.Quantity) {
	if Quantity(q.String()) == nil {
		return
	}
	negative := q.Sign() < 0
	if *q = largest.DeepCopy(); negative {
		q.Neg()
	}
}
