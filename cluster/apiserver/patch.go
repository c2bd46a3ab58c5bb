package apiserver

import (
	"encoding/json"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// applyPatch makes the new object of a patch (apiserver
// pkg/endpoints/handlers/patch.go). old is nil for an apply that creates.
func (c *call) applyPatch(old runtime.Object) (runtime.Object, error) {
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
	return c.parse(doc, "application/json", c.kind.GVK())
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
	return c.parse(out, "application/json", c.kind.GVK())
}
