package kubectl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/kubectl/pkg/cmd/util/editor"
	"k8s.io/kubectl/pkg/scheme"
	"k8s.io/kubectl/pkg/util"
)

// save brings what was edited to the API server, each object in a request of its own.
// An error ends the edit; what the API server refuses is noted in the round.
func (e *edit) save(originals, updated []*resource.Info, r *round) error {
	if err := e.withManagedFields(updated); err != nil {
		return err
	}
	if err := e.withManagedFields(originals); err != nil {
		return err
	}
	visitor := resource.InfoListVisitor(updated)
	if err := visitor.Visit(resource.RequireNamespace(e.CmdNamespace)); err != nil {
		return err
	}
	if err := visitor.Visit(func(info *resource.Info, err error) error {
		if e.ApplyAnnotation && err == nil {
			err = util.CreateOrUpdateAnnotation(true, info.Object, scheme.DefaultJSONEncoder())
		}
		if err == nil {
			_ = e.Recorder.Record(info.Object) // kubectl edits without a change cause as well
		}
		return err
	}); err != nil {
		return err
	}
	return visitor.Visit(func(info *resource.Info, err error) error {
		switch {
		case err != nil:
			return err
		case e.EditMode == editor.EditBeforeCreateMode:
			return e.create(info)
		}
		return e.patch(originals, info, r)
	})
}

func (e *edit) create(info *resource.Info) error {
	created, err := e.helper(info).Create(info.Namespace, true, info.Object)
	if err != nil {
		return err
	}
	if err := info.Refresh(created, true); err != nil {
		return err
	}
	return e.tell("created", info)
}

func (e *edit) helper(info *resource.Info) *resource.Helper {
	return resource.NewHelper(info.Client, info.Mapping).WithFieldManager(e.FieldManager).WithFieldValidation(e.ValidationDirective).WithSubresource(e.Subresource)
}

func (e *edit) tell(done string, info *resource.Info) error {
	printer, err := e.ToPrinter(done)
	if err != nil {
		return err
	}
	return printer.PrintObj(info.Object, e.Out)
}

// patch sends the difference between an object as it was and as it was edited.
func (e *edit) patch(originals []*resource.Info, info *resource.Info, r *round) error {
	same := identity(info)
	i := slices.IndexFunc(originals, func(o *resource.Info) bool { return identity(o) == same })
	if i < 0 {
		return fmt.Errorf("no original object found for %#v", info.Object)
	}
	from, err := runtime.Encode(unstructured.UnstructuredJSONScheme, originals[i].Object)
	if err != nil {
		return err
	}
	to, err := runtime.Encode(unstructured.UnstructuredJSONScheme, info.Object)
	if err != nil {
		return err
	}
	if bytes.Equal(from, to) {
		return e.tell("skipped", info)
	}
	if e.EditMode == editor.ApplyEditMode {
		patch, _, patchType, err := editor.GetApplyPatch(info.Object.(runtime.Unstructured))
		if err != nil {
			return err
		}
		if _, err := e.helper(info).Patch(e.CmdNamespace, info.Name, patchType, patch, nil); err != nil {
			return err
		}
		return e.tell("edited", info)
	}
	patchType, patch, err := difference(info, from, to)
	if err != nil {
		return err
	}
	if e.OutputPatch {
		fmt.Fprintf(e.Out, "Patch: %s\n", patch)
	}
	patched, err := e.helper(info).Patch(info.Namespace, info.Name, patchType, patch, nil)
	if err != nil {
		fmt.Fprintln(e.ErrOut, r.refuse(err, info))
		return nil
	}
	if err := info.Refresh(patched, true); err != nil {
		return err
	}
	return e.tell("edited", info)
}

// identity is by what an edited object is found among the originals: its UID, or, as
// kubectl apply's note has none, its name.
func identity(info *resource.Info) string {
	m, err := meta.Accessor(info.Object)
	if err != nil {
		return ""
	}
	if uid := m.GetUID(); uid != "" {
		return string(uid)
	}
	return info.Mapping.Resource.String() + " " + m.GetNamespace() + "/" + m.GetName()
}

var (
	errCancelled = errors.New("Edit cancelled, no valid changes were saved.")          //nolint:staticcheck // kubectl's words
	errRenamed   = errors.New("At least one of apiVersion, kind and name was changed") //nolint:staticcheck // kubectl's words
)

// difference is a strategic merge patch where kubectl knows the type, and a JSON merge
// patch where it does not.
func difference(info *resource.Info, from, to []byte) (types.PatchType, []byte, error) {
	preconditions := []mergepatch.PreconditionFunc{
		mergepatch.RequireKeyUnchanged("apiVersion"), mergepatch.RequireKeyUnchanged("kind"),
		mergepatch.RequireMetadataKeyUnchanged("name"), mergepatch.RequireKeyUnchanged("managedFields"),
	}
	versioned, err := scheme.Scheme.New(info.Mapping.GroupVersionKind)
	if err == nil {
		patch, err := strategicpatch.CreateTwoWayMergePatch(from, to, versioned, preconditions...)
		if mergepatch.IsPreconditionFailed(err) {
			err = errRenamed
		}
		return types.StrategicMergePatchType, patch, err
	}
	if !runtime.IsNotRegisteredError(err) {
		return "", nil, err
	}
	patch, err := jsonpatch.CreateMergePatch(from, to)
	if err != nil {
		return "", nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(patch, &fields); err != nil {
		return "", nil, err
	}
	for _, holds := range preconditions {
		if !holds(fields) {
			return "", nil, errRenamed
		}
	}
	return types.MergePatchType, patch, nil
}

// refuse notes what the API server refused, and says it in kubectl's words. What is
// invalid can be mended in the editor; a conflict cannot.
func (r *round) refuse(err error, info *resource.Info) string {
	kind := info.Mapping.Resource.GroupResource().String()
	switch {
	case apierrors.IsInvalid(err):
		r.invalid = true
		why := reason{head: fmt.Sprintf("%s %q was not valid", kind, info.Name)}
		var status apierrors.APIStatus
		if errors.As(err, &status) && status.Status().Details != nil {
			for _, c := range status.Status().Details.Causes {
				why.more = append(why.more, fmt.Sprintf("%s: %s", c.Field, c.Message))
			}
		}
		r.reasons = append(r.reasons, why)
		return fmt.Sprintf("error: %s %q is invalid", kind, info.Name)
	case apierrors.IsNotFound(err):
		r.notFound = true
		return fmt.Sprintf("error: %s %q could not be found on the server", kind, info.Name)
	}
	r.retryable = true
	return fmt.Sprintf("error: %s %q could not be patched: %v", kind, info.Name, err)
}
