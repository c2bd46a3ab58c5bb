package object

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// json walks two values of JSON: the fields of custom objects.
func (d *differ) json(path string, a, b any) {
	if len(d.out) >= diffLimit || reflect.DeepEqual(a, b) || path == "metadata.managedFields" {
		return
	}
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		names := map[string]bool{}
		for n := range x {
			names[n] = true
		}
		for n := range y {
			names[n] = true
		}
		for _, n := range slices.Sorted(maps.Keys(names)) {
			d.json(Dotted(path, n), x[n], y[n])
		}
		return
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) == 0 || len(y) == 0 {
			break
		}
		for i := range max(len(x), len(y)) {
			var from, to any
			if i < len(x) {
				from = x[i]
			}
			if i < len(y) {
				to = y[i]
			}
			d.json(path+"["+strconv.Itoa(i)+"]", from, to)
		}
		return
	}
	d.add(path, a, b)
}
