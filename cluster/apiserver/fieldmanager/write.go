package fieldmanager

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/apiserver/request"
	"kviz/cluster/bound"
)

// Apply makes the new object of an apply configuration, by the field manager of its kind. old
// is nil when the object does not exist. It may be offloaded, so it reads neither the
// other managers nor the time: [Stamp] does that after it.
func Apply(m *managedfields.FieldManager, req *request.Request, kind *registry.Kind, old runtime.Object) (obj runtime.Object, warnings []string, err error) {
	if req.FieldManager == "" {
		return nil, nil, apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("PatchOptions").GroupKind(), "",
			field.ErrorList{field.Required(field.NewPath("fieldManager"), "is required for apply patch")})
	}
	applied := &unstructured.Unstructured{Object: map[string]any{}}
	data, err := yaml.YAMLToJSON(req.Patch)
	if err == nil {
		err = json.Unmarshal(data, &applied.Object)
	}
	if err == nil && kind.Custom == nil {
		err = bound.QuantitiesOf(registry.TypeOf(kind.GVK()), data)
	}
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if old == nil {
		empty := kind.New()
		empty.GetObjectKind().SetGroupVersionKind(kind.GVK())
		old = empty
	}
	obj, err = m.Apply(old.DeepCopyObject(), applied, req.FieldManager, req.Force)
	if err != nil {
		return nil, nil, err
	}
	if warnings, err = strictApply(req); err != nil {
		return nil, nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(kind.GVK())
	return obj, warnings, nil
}

// Of is the field manager of a kind. The types that a custom kind's manager needs are
// made beside the kernel: for a large definition that takes long.
func (f *Managers) Of(r *request.Scope, kind *registry.Kind, subresource string) (m *managedfields.FieldManager, err error) {
	if kind.Custom != nil && !crd.Of(kind).Managed(subresource) {
		request.Offload(r, "the types", typesOf, crd.Of(kind).Definition())
	}
	if m, err = f.of(kind, subresource); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return m, nil
}

// typesOf makes the types; if it cannot, making the manager returns the error again.
func typesOf(d *crd.Definition) error {
	_, err := d.Types()
	return err
}

// strictApply reports fields that an apply configuration has twice.
func strictApply(req *request.Request) (warnings []string, err error) {
	if req.FieldValidation == metav1.FieldValidationIgnore {
		return nil, nil
	}
	switch err := yaml.UnmarshalStrict(req.Patch, &map[string]any{}); {
	case err == nil:
	case req.FieldValidation == metav1.FieldValidationStrict:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
	default:
		return strictYAML(err), nil
	}
	return nil, nil
}

// strictYAML are the single faults that the strict YAML decoder found
// (handlers/rest.go parseYAMLWarnings): a warning is one line.
func strictYAML(err error) (faults []string) {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text, several := strings.CutPrefix(text, "yaml: unmarshal errors:\n")
	if !several {
		return []string{err.Error()}
	}
	for line := range strings.Lines(text) {
		faults = append(faults, strings.TrimSpace(line))
	}
	return faults
}

// Track notes which fields a write sets, under the writer's name
// (handlers/create.go, update.go). For components of this process that is done
// only where somebody else's fields are noted already: they would be told
// nothing new.
//
// It gives obj with its writer noted; old is nil for a creation.
func (f *Managers) Track(r *request.Scope, req *request.Request, kind *registry.Kind, obj, old runtime.Object) (runtime.Object, error) {
	if req.Verb == "patch" && req.PatchType == "application/apply-patch+yaml" {
		return obj, nil
	}
	if req.System && (old == nil || req.Subresource == "status" || len(object.Meta(old).GetManagedFields()) == 0) {
		return obj, nil
	}
	m, err := f.Of(r, kind, req.Subresource)
	if err != nil {
		return nil, err
	}
	live := old
	if live == nil {
		live = kind.New()
		live.GetObjectKind().SetGroupVersionKind(kind.GVK())
	}
	manager := req.FieldManager
	if manager == "" {
		manager, _, _ = strings.Cut(req.Sender(), "/") // of a user agent, the program
	}
	owned := request.OffloadDear(r, r.Bulk.OfFields(), "the managed fields", tracked, tracking{m, live, obj, manager})
	owned.GetObjectKind().SetGroupVersionKind(kind.GVK())
	Stamp(r.Now(), manager, live, owned)
	return owned, nil
}

// tracking is one write to be noted.
type tracking struct {
	by        *managedfields.FieldManager
	live, obj runtime.Object
	manager   string
}

func tracked(_ context.Context, t tracking) runtime.Object {
	return t.by.UpdateNoErrors(t.live.DeepCopyObject(), t.obj, t.manager)
}

// Stamp gives new entries of managedFields the virtual time, and the place in their order that
// it gives them; the library took the real one. old is nil of a new object.
func Stamp(now metav1.Time, manager string, old, obj runtime.Object) {
	was := map[string]metav1.ManagedFieldsEntry{}
	if old != nil {
		for _, e := range object.Meta(old).GetManagedFields() {
			was[entryKey(e)] = e
		}
	}
	entries := object.Meta(obj).GetManagedFields()
	for i := range entries {
		if o, ok := was[entryKey(entries[i])]; ok && object.Equal(o.FieldsV1, entries[i].FieldsV1) {
			entries[i].Time = o.Time
			continue
		}
		if e := &entries[i]; e.Time != nil && (e.Manager == manager || e.Manager == "before-first-apply") {
			e.Time = &now // an apply that changes nothing but who owns it leaves it out
		}
	}
	slices.SortFunc(entries, entryOrder)
	object.Meta(obj).SetManagedFields(entries)
}

func entryKey(e metav1.ManagedFieldsEntry) string {
	return e.Manager + "\x00" + string(e.Operation) + "\x00" + e.APIVersion + "\x00" + e.Subresource
}

// entryOrder is the order in which entries are stored (managedfields/internal
// sortEncodedManagedFields).
func entryOrder(a, b metav1.ManagedFieldsEntry) int {
	second := func(e metav1.ManagedFieldsEntry) int64 {
		if e.Time == nil {
			return 0
		}
		return e.Time.Unix()
	}
	return cmp.Or(
		cmp.Compare(a.Operation, b.Operation), cmp.Compare(second(a), second(b)),
		cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Subresource, b.Subresource),
	)
}
