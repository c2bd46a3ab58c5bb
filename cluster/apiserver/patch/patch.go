// Package patch applies patches to objects: JSON patches, merge patches and strategic
// merge patches, with Kubernetes' own libraries (apiserver
// pkg/endpoints/handlers/patch.go). A patch from a component of this process goes
// through JSON only for the parts that it names (parts.go), and a kubelet's pod status
// is merged field by field (podstatus.go); tests compare both with the general path.
//
// Start reading at [Patch.Apply].
package patch

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
	"kviz/cluster/bound"
)

// Patch is one as it was sent.
type Patch struct {
	Kind        *registry.Kind // of the object, or of the one that its subresource has
	Name        string
	Subresource string
	Type        types.PatchType
	Data        []byte
	Validation  string // of fields: Strict, Warn, Ignore
	System      bool   // a component of this process sent it
	Objects     Objects

	warnings []string
}

// Custom are what a custom object can be patched with; there is no Go type that would say
// how a strategic merge patch merges its lists.
var Custom = []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyYAMLPatchType)}

// Objects read and make those objects that this package does not know how to.
type Objects interface {
	// ReadCustom reads the JSON of an object of a custom kind.
	ReadCustom(kind *registry.Kind, doc []byte) (runtime.Object, error)
	// ServerSideApply is what an apply configuration makes of an object, or of nothing.
	ServerSideApply(kind *registry.Kind, old runtime.Object) (obj runtime.Object, warnings []string, err error)
}

// Check says what is wrong with a patch that is neither JSON nor, of an apply, YAML
// (patch.go validateAndTranscodePatch).
func (p *Patch) Check() error {
	switch {
	case p.System:
	case p.Type == types.ApplyPatchType:
		doc, err := yaml.ToJSON(p.Data)
		if err == nil {
			err = bound.Shallow(doc)
		}
		if err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("error encoding patch: %v", err))
		}
	case bound.Shallow(p.Data) != nil || !json.Valid(p.Data):
		return apierrors.NewBadRequest("invalid JSON patch")
	}
	return nil
}

// Apply makes the new object of the patch, and says what its writer is to be warned of.
// old is nil for an apply that creates.
func (p *Patch) Apply(old runtime.Object) (obj runtime.Object, warnings []string, err error) {
	p.warnings = nil
	obj, ok, err := p.parts(old)
	if !ok {
		obj, err = p.whole(old)
	}
	return obj, p.warnings, err
}

// whole makes it by way of the whole object's JSON.
func (p *Patch) whole(old runtime.Object) (runtime.Object, error) {
	if p.Kind.Custom != nil && p.Type == types.StrategicMergePatchType {
		return nil, negotiation.NewUnsupportedMediaTypeError(Custom)
	}
	switch p.Type {
	case types.JSONPatchType:
		strict, err := p.strictPatch(&[]jsonPatchOp{})
		if err != nil {
			// The type is told by the name that it has upstream.
			return nil, apierrors.NewBadRequest("error decoding patch: " + strings.ReplaceAll(err.Error(), "patch.jsonPatchOp", "handlers.jsonPatchOp"))
		}
		for i, e := range strict {
			strict[i] = fmt.Errorf("json patch %w", e)
		}
		return p.patchJSON(old, strict, p.jsonPatched)
	case types.MergePatchType:
		strict, err := p.strictPatch(&map[string]any{})
		if err != nil {
			return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
		}
		return p.patchJSON(old, strict, p.mergePatched)
	case types.StrategicMergePatchType:
		return p.patchStrategic(old)
	case types.ApplyPatchType:
		obj, warnings, err := p.Objects.ServerSideApply(p.Kind, old)
		p.warnings = append(p.warnings, warnings...)
		return obj, err
	}
	return nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", p.Kind.GroupResource(), p.Name,
		fmt.Sprintf("the patch type %q is not supported", p.Type), 0, true)
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

// maxCopied is by how many bytes the operations "copy" of a JSON patch may make an
// object grow, all together (server/config.go JSONPatchMaxCopyBytes): without a limit a
// short patch makes gigabytes of an object.
const maxCopied = 3 << 20

func init() { jsonpatch.AccumulatedCopySizeLimit = maxCopied }

// strictPatch reads a patch, unless what is wrong with it is to be ignored, and
// gives the fields that it has twice or should not have.
func (p *Patch) strictPatch(into any) ([]error, error) {
	if p.Validation == metav1.FieldValidationIgnore {
		return nil, nil
	}
	return kjson.UnmarshalStrict(p.Data, into)
}

func (p *Patch) jsonPatched(doc []byte) ([]byte, error) {
	ops, err := jsonpatch.DecodePatch(p.Data)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if len(ops) > maxJSONPatchOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxJSONPatchOperations, len(ops)))
	}
	out, err := ops.Apply(doc)
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return out, nil
}

func (p *Patch) mergePatched(doc []byte) ([]byte, error) {
	out, err := jsonpatch.MergePatch(doc, p.Data)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err != nil {
		return nil, request.PlainError(err)
	}
	return out, nil
}

// patchJSON patches the object's JSON.
func (p *Patch) patchJSON(old runtime.Object, strict []error, patch func([]byte) ([]byte, error)) (runtime.Object, error) {
	doc, err := json.Marshal(old)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if doc, err = patch(doc); err != nil {
		return nil, err
	}
	gvk := p.Kind.GVK()
	if p.Kind.Custom != nil {
		return p.Objects.ReadCustom(p.Kind, doc)
	}
	if err := registry.Bounded(doc, gvk); err != nil {
		return nil, p.judgePatched(err, strict, string(doc))
	}
	obj, _, err := registry.StrictJSON.Decode(doc, &gvk, p.Kind.New())
	if err := p.judgePatched(err, strict, string(doc)); err != nil {
		return nil, err
	}
	if reflect.TypeOf(obj) != registry.TypeOf(gvk) { // the patch makes it say another kind
		return nil, p.judgePatched(registry.Unconvertible(obj, gvk), nil, string(doc))
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj, nil
}

// patchStrategic merges lists by the keys their types name.
func (p *Patch) patchStrategic(old runtime.Object) (runtime.Object, error) {
	patch := map[string]any{}
	strict, err := p.strictPatch(&patch)
	if p.Validation == metav1.FieldValidationIgnore {
		err = kjson.UnmarshalCaseSensitivePreserveInts(p.Data, &patch)
	}
	if err == nil { // the patch has the form of what it patches
		err = bound.QuantitiesOf(registry.TypeOf(p.Kind.GVK()), p.Data)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	doc, err := runtime.DefaultUnstructuredConverter.ToUnstructured(old)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(doc, patch, p.Kind.New())
	if err != nil {
		return nil, strategicError(err)
	}
	obj := p.Kind.New()
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(merged, obj, p.Validation != metav1.FieldValidationIgnore)
	if err := p.judgePatched(err, strict, fmt.Sprintf("%+v", patch)); err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(p.Kind.GVK())
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
func (p *Patch) judgePatched(err error, strict []error, patch string) error {
	if err != nil {
		more, ok := runtime.AsStrictDecodingError(err)
		if !ok {
			return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), patch, err.Error())})
		}
		strict = append(strict, more.Errors()...)
	}
	switch {
	case len(strict) == 0 || p.Validation == metav1.FieldValidationIgnore:
		return nil
	case p.Validation == metav1.FieldValidationStrict:
		err := runtime.NewStrictDecodingError(strict)
		return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), patch, err.Error())})
	}
	for _, e := range strict {
		p.warnings = append(p.warnings, e.Error())
	}
	return nil
}
