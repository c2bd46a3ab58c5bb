package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
)

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
	if c.kind.custom != nil && c.req.PatchType == types.StrategicMergePatchType {
		return nil, negotiation.NewUnsupportedMediaTypeError(customPatches)
	}
	switch c.req.PatchType {
	case types.JSONPatchType:
		return c.patchJSON(old, func(doc []byte) ([]byte, error) {
			p, err := jsonpatch.DecodePatch(c.req.Patch)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			out, err := p.Apply(doc)
			if err != nil {
				return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
			}
			return out, nil
		})
	case types.MergePatchType:
		return c.patchJSON(old, func(doc []byte) ([]byte, error) {
			out, err := jsonpatch.MergePatch(doc, c.req.Patch)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			return out, nil
		})
	case types.StrategicMergePatchType:
		return c.patchStrategic(old)
	case types.ApplyPatchType:
		return c.apply(old)
	}
	return nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", c.kind.groupResource(), c.req.Name,
		fmt.Sprintf("the patch type %q is not supported", c.req.PatchType), 0, true)
}

// patchJSON patches the object's JSON.
func (c *call) patchJSON(old runtime.Object, patch func([]byte) ([]byte, error)) (runtime.Object, error) {
	doc, err := json.Marshal(old)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if doc, err = patch(doc); err != nil {
		return nil, err
	}
	return c.parsePatched(doc)
}

// patchStrategic merges lists by the keys their types name.
func (c *call) patchStrategic(old runtime.Object) (runtime.Object, error) {
	var patch map[string]any
	if err := json.Unmarshal(c.req.Patch, &patch); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	doc, err := runtime.DefaultUnstructuredConverter.ToUnstructured(old)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(doc, patch, c.kind.new())
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	out, err := json.Marshal(merged)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return c.parsePatched(out)
}

// parsePatched decodes the object that a patch made; unknown fields are told
// in the words of the patch handler.
func (c *call) parsePatched(doc []byte) (runtime.Object, error) {
	gvk := c.kind.GVK()
	if c.custom() {
		return c.parsePatchedCustom(doc, gvk)
	}
	obj, _, err := jsonStrict.Decode(doc, &gvk, c.kind.new())
	if err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		switch {
		case !ok:
			return nil, apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), string(doc), err.Error())})
		case c.req.FieldValidation == metav1.FieldValidationStrict:
			return nil, apierrors.NewBadRequest(strict.Error())
		case c.req.FieldValidation != metav1.FieldValidationIgnore:
			for _, e := range strict.Errors() {
				c.warnings = append(c.warnings, e.Error())
			}
		}
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj, nil
}
