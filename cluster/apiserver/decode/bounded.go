package decode

import (
	"bytes"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"sigs.k8s.io/yaml"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/bound"
)

var protoPrefix = []byte("k8s\x00")

// bounded says what makes a body too dear to be decoded, and, where it knows, of which kind the
// body says it is: the decoder reads it as one of that kind, whatever the request is for.
func bounded(data []byte, mediaType string, want schema.GroupVersionKind) (*schema.GroupVersionKind, error) {
	switch mediaType {
	case runtime.ContentTypeProtobuf:
		return boundedWire(data, want)
	case runtime.ContentTypeYAML:
		doc, err := Transcoded(data)
		if err != nil {
			return nil, err
		}
		if doc == nil && !bound.Suspect(data) && !bytes.ContainsAny(data, `\!`) { // escapes, and !!binary
			return nil, nil
		}
		if doc == nil {
			if doc, err = yaml.YAMLToJSON(data); err != nil {
				return nil, nil // its decoder says so
			}
		}
		return boundedJSON(doc, want)
	}
	if err := bound.Shallow(data); err != nil {
		return nil, fmt.Errorf("couldn't get version/kind; json parse error: %w", err)
	}
	if !bound.Suspect(data) {
		return nil, nil
	}
	return boundedJSON(data, want)
}

// Quantities says what is wrong with the quantities of a JSON text that is about to become an
// object of a kind.
func Quantities(gvk schema.GroupVersionKind, doc []byte) error {
	return bound.QuantitiesOf(goType(gvk), doc)
}

// Transcoded is a YAML text as JSON where it may be too deep, and says so if it is; nil where it
// cannot be, or where it is no YAML.
func Transcoded(data []byte) (doc []byte, err error) {
	if bound.Level(data) {
		return nil, nil
	}
	if doc, err = yaml.YAMLToJSON(data); err != nil {
		return nil, nil // its decoder says so
	}
	if err := bound.Shallow(doc); err != nil {
		return nil, fmt.Errorf("yaml: %w of %d", err, bound.MaxDepth) // as of ten thousand
	}
	return doc, nil
}

// boundedJSON looks at the quantities.
func boundedJSON(doc []byte, want schema.GroupVersionKind) (*schema.GroupVersionKind, error) {
	got, err := json.DefaultMetaFactory.Interpret(doc)
	if err != nil {
		return nil, nil // the decoder says so
	}
	fillIn(got, want)
	return got, bound.QuantitiesOf(goType(*got), doc)
}

// boundedWire looks at a protobuf: depth and quantities.
func boundedWire(data []byte, want schema.GroupVersionKind) (*schema.GroupVersionKind, error) {
	envelope, ok := bytes.CutPrefix(data, protoPrefix)
	if !ok {
		return nil, nil // the decoder says so
	}
	if err := bound.Envelope(envelope); err != nil {
		return nil, err
	}
	var u runtime.Unknown
	if u.Unmarshal(envelope) != nil {
		return nil, nil
	}
	got := u.GroupVersionKind()
	fillIn(&got, want)
	return &got, bound.Wire(goType(got), u.Raw)
}

// fillIn is what the decoder assumes where a body does not say its kind
// (serializer/json gvkWithDefaults).
func fillIn(got *schema.GroupVersionKind, want schema.GroupVersionKind) {
	if got.Kind == "" {
		got.Kind = want.Kind
	}
	if got.Version == "" && got.Group == "" {
		got.Group = want.Group
	}
	if got.Version == "" && got.Group == want.Group {
		got.Version = want.Version
	}
}

// goType is nil for a kind that is no Go type.
func goType(gvk schema.GroupVersionKind) reflect.Type {
	obj, err := registry.Scheme.New(gvk)
	if err != nil {
		return nil
	}
	return reflect.TypeOf(obj)
}
