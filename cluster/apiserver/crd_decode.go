package apiserver

import (
	"errors"
	"fmt"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	schemaobjectmeta "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	structuralpruning "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
)

// Objects of custom kinds are maps, made to fit their schema: what it does not
// know is pruned, what is left open gets its default. In the store they are JSON,
// in the storage version.

// coerce is customresource_handler.go unstructuredSchemaCoercer: it prunes what
// the schema does not know and gives the paths of that. stored is true for
// what comes from the store, where old mistakes are mended and not told.
func (v *customVersion) coerce(u *unstructured.Unstructured, stored bool) (unknown []string, err error) {
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
	if gv.Group == v.of.crd.Spec.Group && kind == v.of.crd.Status.AcceptedNames.Kind {
		var s *structuralschema.Structural
		if k := v.of.version(apiVersion); k != nil {
			s = customOf(k).schema().structural
		}
		if !v.of.crd.Spec.PreserveUnknownFields {
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

// fill gives every field its default that the writer left open.
func (v *customVersion) fill(u *unstructured.Unstructured) {
	if s := v.schema().structural; s != nil {
		structuraldefaulting.Default(u.Object, s)
	}
}

// Decode reads a stored object as one of this kind's version.
func (v *customVersion) Decode(k *registry.Kind, value []byte, revision int64) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	err := json.Unmarshal(value, &u.Object)
	if err == nil {
		_, err = v.coerce(u, true)
	}
	if err == nil {
		err = v.convert(u, k)
	}
	if bad := (*unconverted)(nil); errors.As(err, &bad) {
		return nil, bad // as it is: upstream's words
	}
	if err != nil {
		return nil, fmt.Errorf("decoding %s from storage: %w", k.Kind, err)
	}
	v.fill(u)
	u.SetResourceVersion(object.FormatRevision(revision))
	return u, nil
}

// Encode gives the bytes as etcd holds them: JSON and a line feed.
func (v *customVersion) Encode(k *registry.Kind, obj runtime.Object) ([]byte, error) {
	u := obj.(*unstructured.Unstructured).DeepCopy()
	err := v.convert(u, v.of.storage)
	if bad := (*unconverted)(nil); errors.As(err, &bad) {
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

// custom reports whether the request's body is an object of a custom kind (that
// of its subresource scale is not).
func (c *call) custom() bool { return c.kind.Custom != nil && (c.sub == nil || c.sub.Name == "status") }

// parseCustom decodes bytes as a custom object. c.raw is what was there before
// pruning, for the trace.
func (c *call) parseCustom(data []byte, contentType string, gvk schema.GroupVersionKind) (runtime.Object, error) {
	decoder := runtime.Decoder(registry.StrictJSON)
	switch strings.TrimSpace(strings.SplitN(contentType, ";", 2)[0]) {
	case "application/vnd.kubernetes.protobuf":
		return nil, negotiation.NewUnsupportedMediaTypeError([]string{"application/json", "application/yaml"})
	case "application/yaml":
		decoder = registry.StrictYAML
		if c.req.FieldValidation == metav1.FieldValidationIgnore {
			decoder = registry.LaxYAML
		}
	default:
		if c.req.FieldValidation == metav1.FieldValidationIgnore {
			decoder = registry.LaxJSON
		}
	}
	u, got, strict, err := c.readCustom(decoder, data, gvk)
	if err != nil {
		return nil, decodeError(err, gvk, got, data)
	}
	if err := c.tellStrict(strict, func(err error) error { return decodeError(err, gvk, got, data) }); err != nil {
		return nil, err
	}
	if got != nil && got.GroupVersion() != gvk.GroupVersion() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", got.GroupVersion(), gvk.GroupVersion()))
	}
	return u, nil
}

// readCustom decodes and prunes; strict is what a strict reader finds fault with.
func (c *call) readCustom(decoder runtime.Decoder, data []byte, gvk schema.GroupVersionKind) (u *unstructured.Unstructured, got *schema.GroupVersionKind, strict []error, err error) {
	obj, got, err := decoder.Decode(data, &gvk, c.kind.New())
	if err != nil {
		found, ok := runtime.AsStrictDecodingError(err)
		if !ok || obj == nil {
			return nil, got, nil, err
		}
		strict = found.Errors()
	}
	u = obj.(*unstructured.Unstructured)
	c.raw = nil
	if !c.req.System {
		c.raw = u.DeepCopy()
	}
	unknown, err := customOf(c.kind).coerce(u, false)
	if err != nil {
		return nil, got, nil, err
	}
	c.pruned = unknown
	for _, path := range unknown {
		strict = append(strict, fmt.Errorf(`unknown field "%s"`, path))
	}
	return u, got, strict, nil
}

// tellStrict refuses, warns of or ignores what a strict reader finds, as the
// writer asked (fieldValidation).
func (c *call) tellStrict(strict []error, refuse func(error) error) error {
	switch {
	case len(strict) == 0 || c.req.FieldValidation == metav1.FieldValidationIgnore || c.req.System:
	case c.req.FieldValidation == metav1.FieldValidationStrict:
		return refuse(runtime.NewStrictDecodingError(strict))
	default:
		for _, e := range strict {
			c.Warnings = append(c.Warnings, e.Error())
		}
	}
	return nil
}

// takeCustom is an object a component of this process gave.
func (c *call) takeCustom(obj runtime.Object, gvk schema.GroupVersionKind) (runtime.Object, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %T", gvk.Kind, obj))
	}
	u = u.DeepCopy()
	u.SetGroupVersionKind(gvk)
	c.raw = u.DeepCopy()
	var err error
	if c.pruned, err = customOf(c.kind).coerce(u, false); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return u, nil
}
