package apiserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	kjson "sigs.k8s.io/json"

	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
)

// readable says what is wrong with a patch that is neither JSON nor, of an apply,
// YAML (patch.go validateAndTranscodePatch).
func (c *call) readable() error {
	switch {
	case c.req.System:
	case c.req.PatchType == types.ApplyPatchType:
		if _, err := yaml.ToJSON(c.req.Patch); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("error encoding patch: %v", err))
		}
	case !json.Valid(c.req.Patch):
		return apierrors.NewBadRequest("invalid JSON patch")
	}
	return nil
}

// applyPatch makes the new object of a patch (apiserver
// pkg/endpoints/handlers/patch.go). old is nil for an apply that creates.
func (c *call) applyPatch(old runtime.Object) (runtime.Object, error) {
	if patched, ok, err := c.patchTouched(old); ok {
		return patched, err
	}
	return c.patchWhole(old)
}

// patchWhole makes it by way of the whole object's JSON.
func (c *call) patchWhole(old runtime.Object) (runtime.Object, error) {
	if c.kind.Custom != nil && c.req.PatchType == types.StrategicMergePatchType {
		return nil, negotiation.NewUnsupportedMediaTypeError(customPatches)
	}
	switch c.req.PatchType {
	case types.JSONPatchType:
		strict, err := c.strictPatch(&[]jsonPatchOp{})
		if err != nil {
			// The type is told by the name that it has upstream.
			return nil, apierrors.NewBadRequest("error decoding patch: " + strings.ReplaceAll(err.Error(), "apiserver.jsonPatchOp", "handlers.jsonPatchOp"))
		}
		for i, e := range strict {
			strict[i] = fmt.Errorf("json patch %w", e)
		}
		return c.patchJSON(old, strict, c.jsonPatched)
	case types.MergePatchType:
		strict, err := c.strictPatch(&map[string]any{})
		if err != nil {
			return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
		}
		return c.patchJSON(old, strict, c.mergePatched)
	case types.StrategicMergePatchType:
		return c.patchStrategic(old)
	case types.ApplyPatchType:
		return c.apply(old)
	}
	return nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", c.kind.GroupResource(), c.req.Name,
		fmt.Sprintf("the patch type %q is not supported", c.req.PatchType), 0, true)
}

// jsonPatchOp is one operation of a JSON patch.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// maxJSONPatchOperations is how many operations a JSON patch may have.
const maxJSONPatchOperations = 10000

// strictPatch reads a patch, unless what is wrong with it is to be ignored, and
// gives the fields that it has twice or should not have.
func (c *call) strictPatch(into any) ([]error, error) {
	if c.req.FieldValidation == metav1.FieldValidationIgnore {
		return nil, nil
	}
	return kjson.UnmarshalStrict(c.req.Patch, into)
}

func (c *call) jsonPatched(doc []byte) ([]byte, error) {
	p, err := jsonpatch.DecodePatch(c.req.Patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if len(p) > maxJSONPatchOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxJSONPatchOperations, len(p)))
	}
	out, err := p.Apply(doc)
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return out, nil
}

func (c *call) mergePatched(doc []byte) ([]byte, error) {
	out, err := jsonpatch.MergePatch(doc, c.req.Patch)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err != nil {
		return nil, request.PlainError(err)
	}
	return out, nil
}

// patchJSON patches the object's JSON.
func (c *call) patchJSON(old runtime.Object, strict []error, patch func([]byte) ([]byte, error)) (runtime.Object, error) {
	doc, err := json.Marshal(old)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if doc, err = patch(doc); err != nil {
		return nil, err
	}
	gvk := c.kind.GVK()
	if c.custom() {
		return c.parsePatchedCustom(doc, gvk)
	}
	obj, _, err := registry.StrictJSON.Decode(doc, &gvk, c.kind.New())
	if err := c.judgePatched(err, strict, string(doc)); err != nil {
		return nil, err
	}
	if reflect.TypeOf(obj) != registry.TypeOf(gvk) { // the patch makes it say another kind
		return nil, c.judgePatched(unconvertible(obj, gvk), nil, string(doc))
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj, nil
}

// patchStrategic merges lists by the keys their types name.
func (c *call) patchStrategic(old runtime.Object) (runtime.Object, error) {
	patch := map[string]any{}
	strict, err := c.strictPatch(&patch)
	if c.req.FieldValidation == metav1.FieldValidationIgnore {
		err = kjson.UnmarshalCaseSensitivePreserveInts(c.req.Patch, &patch)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	doc, err := runtime.DefaultUnstructuredConverter.ToUnstructured(old)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(doc, patch, c.kind.New())
	if err != nil {
		return nil, strategicError(err)
	}
	obj := c.kind.New()
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(merged, obj, c.req.FieldValidation != metav1.FieldValidationIgnore)
	if err := c.judgePatched(err, strict, fmt.Sprintf("%+v", patch)); err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(c.kind.GVK())
	return obj, nil
}

// strategicError mirrors interpretStrategicMergePatchError.
func strategicError(err error) error {
	switch {
	case errors.Is(err, mergepatch.ErrBadJSONDoc), errors.Is(err, mergepatch.ErrBadPatchFormatForPrimitiveList), errors.Is(err, mergepatch.ErrBadPatchFormatForRetainKeys),
		errors.Is(err, mergepatch.ErrBadPatchFormatForSetElementOrderList), errors.Is(err, mergepatch.ErrUnsupportedStrategicMergePatchFormat):
		return apierrors.NewBadRequest(err.Error())
	case errors.Is(err, mergepatch.ErrNoListOfLists), errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys):
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return request.PlainError(err)
}

// judgePatched tells what reading the patched object gave; patch is what is
// shown of it, strict the patch's own faults.
func (c *call) judgePatched(err error, strict []error, patch string) error {
	if err != nil {
		more, ok := runtime.AsStrictDecodingError(err)
		if !ok {
			return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), patch, err.Error())})
		}
		strict = append(strict, more.Errors()...)
	}
	switch {
	case len(strict) == 0 || c.req.FieldValidation == metav1.FieldValidationIgnore:
		return nil
	case c.req.FieldValidation == metav1.FieldValidationStrict:
		err := runtime.NewStrictDecodingError(strict)
		return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), patch, err.Error())})
	}
	for _, e := range strict {
		c.Warnings = append(c.Warnings, e.Error())
	}
	return nil
}
