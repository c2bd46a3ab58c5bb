package view

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/inert"
)

// Inert tells, a sentence each, what of the object nothing in the cluster acts on: its
// whole kind, or fields that it has. Who wrote it was warned of the same.
func (o *Object) Inert() []string {
	gv, err := schema.ParseGroupVersion(o.Ref.APIVersion)
	if o.Deleted || err != nil {
		return nil
	}
	return inert.Of(schema.GroupKind{Group: gv.Group, Kind: o.Ref.Kind}, o.Value)
}
