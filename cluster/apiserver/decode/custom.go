package decode

import (
	"fmt"

	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/bound"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
)

// parseCustom decodes bytes as a custom object.
func parseCustom(b Body) (read Read) {
	decoder := runtime.Decoder(registry.StrictJSON)
	switch mediaType(b.ContentType) {
	case runtime.ContentTypeProtobuf:
		return Read{Err: negotiation.NewUnsupportedMediaTypeError([]string{runtime.ContentTypeJSON, runtime.ContentTypeYAML})}
	case runtime.ContentTypeYAML:
		decoder = registry.StrictYAML
		if b.Validation == metav1.FieldValidationIgnore {
			decoder = registry.LaxYAML
		}
	default:
		if b.Validation == metav1.FieldValidationIgnore {
			decoder = registry.LaxJSON
		}
	}
	if got, err := bounded(b.Data, mediaType(b.ContentType), b.GVK); err != nil {
		return Read{Err: decodeError(err, b.GVK, got, b.Data)}
	}
	read, got, strict := readCustom(b, decoder)
	if read.Err != nil {
		read.Err = decodeError(read.Err, b.GVK, got, b.Data)
		return read
	}
	if read.Warnings, read.Err = tellStrict(b, strict); read.Err != nil {
		read.Err = decodeError(read.Err, b.GVK, got, b.Data)
		return read
	}
	if got != nil && got.GroupVersion() != b.GVK.GroupVersion() {
		read.Err = apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got.GroupVersion(), b.GVK.GroupVersion()))
	}
	return read
}

// Patched decodes what a patch has made of a custom object.
func Patched(b Body) Read {
	if err := bound.Shallow(b.Data); err != nil {
		return Read{Err: apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), "", err.Error())})}
	}
	read, _, strict := readCustom(b, registry.StrictJSON)
	if read.Err != nil {
		read.Err = apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), string(b.Data), read.Err.Error())})
		return read
	}
	if read.Warnings, read.Err = tellStrict(b, strict); read.Err != nil {
		read.Err = apierrors.NewBadRequest(read.Err.Error())
	}
	return read
}

// readCustom decodes and prunes; strict is what a strict reader finds fault with.
func readCustom(b Body, decoder runtime.Decoder) (read Read, got *schema.GroupVersionKind, strict []error) {
	obj, got, err := decoder.Decode(b.Data, &b.GVK, b.Kind.New())
	if err != nil {
		found, ok := runtime.AsStrictDecodingError(err)
		if !ok || obj == nil {
			return Read{Err: err}, got, nil
		}
		strict = found.Errors()
	}
	u := obj.(*unstructured.Unstructured)
	if !b.Component {
		read.Raw = u.DeepCopy()
	}
	unknown, err := crd.Of(b.Kind).Coerce(u, false)
	if err != nil {
		return Read{Err: err}, got, nil
	}
	for _, path := range unknown {
		strict = append(strict, fmt.Errorf(`unknown field "%s"`, path))
	}
	read.Object, read.Pruned = u, unknown
	return read, got, strict
}

// tellStrict refuses, warns of or ignores what a strict reader finds, as the
// writer asked (fieldValidation).
func tellStrict(b Body, strict []error) (warnings []string, err error) {
	switch {
	case len(strict) == 0 || b.Validation == metav1.FieldValidationIgnore || b.Component:
	case b.Validation == metav1.FieldValidationStrict:
		return nil, runtime.NewStrictDecodingError(strict)
	default:
		for _, e := range strict {
			warnings = append(warnings, e.Error())
		}
	}
	return warnings, nil
}

// takeCustom is a copy of a custom object that a component gave.
func takeCustom(b Body) (read Read) {
	u, ok := b.Object.(*unstructured.Unstructured)
	if !ok {
		return Read{Err: apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %T", b.GVK.Kind, b.Object))}
	}
	u = u.DeepCopy()
	u.SetGroupVersionKind(b.GVK)
	read = Read{Object: u, Raw: u.DeepCopy()}
	if read.Pruned, read.Err = crd.Of(b.Kind).Coerce(u, false); read.Err != nil {
		read.Err = apierrors.NewBadRequest(read.Err.Error())
	}
	return read
}
