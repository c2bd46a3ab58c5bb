package trace

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Magic is what Kubernetes writes before an object's protobuf, so that a reader
// can tell it from JSON.
const Magic = "k8s\x00"

// Stored is the value under which the API server keeps an object in the store,
// byte for byte: the magic, then a runtime.Unknown with the object's version,
// kind and protobuf, without its resourceVersion, which is the key's revision
// (apimachinery pkg/runtime/serializer/protobuf; apiserver
// pkg/storage/etcd3/store.go). Custom objects are JSON.
func Stored(o *Object) ([]byte, error) {
	if o == nil || o.Value == nil {
		return nil, nil
	}
	bare := o.Value.DeepCopyObject()
	m, err := meta.Accessor(bare)
	if err != nil {
		return nil, fmt.Errorf("the stored form of %T: %w", o.Value, err)
	}
	m.SetResourceVersion("")
	if u, ok := bare.(*unstructured.Unstructured); ok {
		return u.MarshalJSON()
	}
	w, err := encodeObject(bare)
	if err != nil {
		return nil, err
	}
	if w.JSON {
		return w.Data, nil
	}
	version := w.Version
	if w.Group != "" {
		version = w.Group + "/" + w.Version
	}
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: w.Kind}, Raw: w.Data}
	body, err := u.Marshal()
	if err != nil {
		return nil, fmt.Errorf("the stored form of %T: %w", o.Value, err)
	}
	return append([]byte(Magic), body...), nil
}
