package trace

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is an API object inside a payload. It is shared: nobody may change
// Value. In a recording it is written as the object's protobuf, with its
// group, version and kind beside it.
type Object struct {
	Value runtime.Object

	place uint32 // in a block of a recording, while it is written or read
}

// Obj wraps an object for a payload; a nil object gives nil.
func Obj(o runtime.Object) *Object {
	if o == nil {
		return nil
	}
	return &Object{Value: o}
}

// FieldDiff is one changed field between two states of an object.
// Path is dotted with [n] for list entries (`spec.containers[0].image`).
// From is empty where the field was added, To where it was removed; both are
// the value's compact JSON.
type FieldDiff struct {
	Path string
	From string `json:",omitempty"`
	To   string `json:",omitempty"`
}
