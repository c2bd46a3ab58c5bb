package crd

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"

	"kviz/cluster/apiserver/registry"
)

// A custom kind can be selected by name, namespace and the fields that its
// definition lists (spec.versions[].selectableFields).

// Label accepts or refuses a field of a selector (apiserver/conversion/converter.go
// ConvertFieldLabel).
func (v *Version) Label(k *registry.Kind, label, value string) (string, string, error) {
	if label == "metadata.name" || label == "metadata.namespace" && k.Namespaced {
		return label, value, nil
	}
	for _, f := range v.spec.SelectableFields {
		if strings.TrimPrefix(f.JSONPath, ".") == label {
			return label, value, nil
		}
	}
	return "", "", fmt.Errorf("field label not supported: %s", label)
}

// field is the value of a selectable field.
func (v *Version) field(obj runtime.Object, name string) (string, bool) {
	if s, ok := registry.MetaField(obj, name); ok {
		return s, true
	}
	for _, f := range v.spec.SelectableFields {
		if strings.TrimPrefix(f.JSONPath, ".") != name {
			continue
		}
		path := jsonpath.New("selectableField")
		path.AllowMissingKeys(true)
		if path.Parse("{"+f.JSONPath+"}") != nil {
			return "", true
		}
		found, err := path.FindResults(MapOf(obj).Object)
		if err != nil || len(found) == 0 || len(found[0]) == 0 || found[0][0].Interface() == nil {
			return "", true
		}
		return fmt.Sprint(found[0][0].Interface()), true
	}
	return "", false
}
