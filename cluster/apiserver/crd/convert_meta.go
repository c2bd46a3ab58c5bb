package crd

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kviz/cluster/apiserver/registry"
)

// A conversion may change an object's labels and annotations, and nothing else of its
// metadata.

// sameIdentity is validateConvertedObject.
func sameIdentity(in, out *unstructured.Unstructured) error {
	if e, a := in.GetKind(), out.GetKind(); e != a {
		return fmt.Errorf("must have the same kind: %v != %v", e, a)
	}
	if e, a := in.GetName(), out.GetName(); e != a {
		return fmt.Errorf("must have the same name: %v != %v", e, a)
	}
	if e, a := in.GetNamespace(), out.GetNamespace(); e != a {
		return fmt.Errorf("must have the same namespace: %v != %v", e, a)
	}
	if e, a := in.GetUID(), out.GetUID(); e != a {
		return fmt.Errorf("must have the same UID: %v != %v", e, a)
	}
	return nil
}

// restoreMeta is restoreObjectMeta: the metadata is as it was, with the labels and
// annotations of the converted object.
func restoreMeta(in, out *unstructured.Unstructured) error {
	told, found := out.Object["metadata"]
	if !found {
		return errors.New("missing metadata in converted object")
	}
	answered, ok := told.(map[string]any)
	if !ok {
		return fmt.Errorf("invalid metadata of type %T in converted object", told)
	}
	kept := map[string]any{}
	if was, ok := in.Object["metadata"]; ok {
		if kept, ok = runtime.DeepCopyJSONValue(was).(map[string]any); !ok {
			return fmt.Errorf("invalid metadata of type %T in input object", was)
		}
	}
	out.Object["metadata"] = kept
	for _, name := range []string{"labels", "annotations"} {
		if answered[name] == nil {
			delete(kept, name)
			continue
		}
		if err := restoreField(kept, name, answered[name]); err != nil {
			return err
		}
	}
	return nil
}

func restoreField(kept map[string]any, name string, told any) error {
	values, ok := told.(map[string]any)
	if !ok {
		return fmt.Errorf("invalid metadata.%s of type %T in converted object", name, told)
	}
	had, ok := kept[name].(map[string]any)
	if !ok && kept[name] != nil {
		return fmt.Errorf("invalid metadata.%s of type %T in original object", name, kept[name])
	}
	typed := make(map[string]string, len(values))
	for _, k := range slices.Sorted(maps.Keys(values)) {
		v, ok := values[k].(string)
		if !ok {
			return fmt.Errorf("metadata.%s[%s] must be a string, but is %T in converted object", name, k, values[k])
		}
		typed[k] = v
	}
	if !maps.Equal(had, values) {
		var errs field.ErrorList
		if name == "labels" {
			errs = metav1validation.ValidateLabels(typed, field.NewPath("metadata", "labels"))
		} else {
			errs = apivalidation.ValidateAnnotations(typed, field.NewPath("metadata", "annotation"))
		}
		if len(errs) > 0 {
			return registry.InOrder(errs).ToAggregate()
		}
	}
	kept[name] = values
	return nil
}
