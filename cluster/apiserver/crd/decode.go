package crd

import (
	"errors"
	"fmt"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/bound"
)

// Objects of custom kinds are maps, made to fit their schema: what it does not
// know is pruned, what is left open gets its default. In the store they are JSON,
// in the storage version.

// Coerce is customresource_handler.go unstructuredSchemaCoercer: it prunes what
// the schema does not know and gives the paths of that. stored is true for
// what comes from the store, where old mistakes are mended and not told.
func (v *Version) Coerce(u *unstructured.Unstructured, stored bool) (unknown []string, err error) {
	kind, hasKind, err := unstructured.NestedString(u.Object, "kind")
	if err != nil {
		return nil, err
	}
	apiVersion, hasVersion, err := unstructured.NestedString(u.Object, "apiVersion")
	if err != nil {
		return nil, err
	}
	m, hasMeta, unknown, err := schemaobjectmeta.GetObjectMetaWithOptions(u.Object, schemaobjectmeta.ObjectMetaOptions{DropMalformedFields: stored, ReturnUnknownFieldPaths: !stored})
	if err != nil {
		return nil, err
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	if gv.Group == v.of.born.Spec.Group && kind == v.of.born.Status.AcceptedNames.Kind {
		var s *structuralschema.Structural
		if k := v.of.version(apiVersion); k != nil {
			s = Of(k).schema().structural
		}
		if !v.of.born.Spec.PreserveUnknownFields {
			unknown = append(unknown, structuralpruning.PruneWithOptions(u.Object, s, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: !stored})...)
			structuraldefaulting.PruneNonNullableNullsWithoutDefaults(u.Object, s)
		}
		ferr, paths := schemaobjectmeta.CoerceWithOptions(nil, u.Object, s, false, schemaobjectmeta.CoerceOptions{DropInvalidFields: stored, ReturnUnknownFieldPaths: !stored})
		if ferr != nil {
			return nil, ferr
		}
		unknown = append(unknown, paths...)
		if stored && m.Generation == 0 {
			m.Generation = 1
		}
	}
	if hasKind {
		u.SetKind(kind)
	}
	if hasVersion {
		u.SetAPIVersion(apiVersion)
	}
	if hasMeta {
		if err := schemaobjectmeta.SetObjectMeta(u.Object, m); err != nil {
			return nil, err
		}
	}
	return unknown, nil
}

// Fill gives every field its default that the writer left open.
func (v *Version) Fill(u *unstructured.Unstructured) {
	if s := v.schema().structural; s != nil {
		structuraldefaulting.Default(u.Object, s)
	}
}

// Decode reads a stored object as one of this kind's version.
func (v *Version) Decode(k *registry.Kind, value []byte, revision int64) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	err := bound.Shallow(value)
	if err == nil {
		err = json.Unmarshal(value, &u.Object)
	}
	if err == nil {
		_, err = v.Coerce(u, true)
	}
	if err == nil {
		err = v.convert(u, k)
	}
	if bad := (*Unconverted)(nil); errors.As(err, &bad) {
		return nil, bad // as it is: upstream's words
	}
	if err != nil {
		return nil, fmt.Errorf("decoding %s from storage: %w", k.Kind, err)
	}
	v.Fill(u)
	u.SetResourceVersion(object.FormatRevision(revision))
	return u, nil
}

// Encode gives the bytes as etcd holds them: JSON and a line feed.
func (v *Version) Encode(k *registry.Kind, obj runtime.Object) ([]byte, error) {
	u := obj.(*unstructured.Unstructured).DeepCopy()
	err := v.convert(u, v.of.storage)
	if bad := (*Unconverted)(nil); errors.As(err, &bad) {
		return nil, bad
	}
	if err != nil {
		return nil, fmt.Errorf("encoding %s for storage: %w", k.Kind, err)
	}
	unstructured.RemoveNestedField(u.Object, "metadata", "resourceVersion")
	unstructured.RemoveNestedField(u.Object, "metadata", "selfLink")
	data, err := u.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding %s for storage: %w", k.Kind, err)
	}
	return data, nil
}
