package apiserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	crdconfigurations "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	aggregatorconfigurations "k8s.io/kube-aggregator/pkg/client/applyconfiguration"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/patch"
	"kviz/cluster/apiserver/registry"
)

// Server-side apply and the bookkeeping of who owns which field are
// Kubernetes' own code (apimachinery pkg/util/managedfields). Building the
// type schema it needs takes a tenth of a second, so that is done when the
// first request needs it.

// fieldManagers makes the field manager of a kind and subresource, once each.
type fieldManagers struct {
	types managedfields.TypeConverter
	made  map[string]*managedfields.FieldManager
}

func (f *fieldManagers) of(k *registry.Kind, subresource string) (*managedfields.FieldManager, error) {
	if k.Custom != nil {
		return crd.Of(k).ManagerOf(k, subresource)
	}
	if f.made == nil {
		f.made = map[string]*managedfields.FieldManager{}
	}
	key := k.GroupVersionResource.String() + "/" + subresource
	if m := f.made[key]; m != nil {
		return m, nil
	}
	converter := f.builtin()
	switch k.Group {
	case "apiregistration.k8s.io":
		converter = aggregatorconfigurations.NewTypeConverter(registry.Scheme)
	case "apiextensions.k8s.io":
		converter = crdconfigurations.NewTypeConverter(registry.Scheme)
	case "authentication.k8s.io", "authorization.k8s.io":
		converter = managedfields.NewDeducedTypeConverter() // no apply configuration is made of these, so the schema lacks them
	}
	if k.Kind == "Scale" {
		converter = managedfields.NewDeducedTypeConverter()
	}
	m, err := managedfields.NewDefaultFieldManager(converter, siblings{registry.Scheme, k.Group}, registry.Scheme, registry.Scheme, k.GVK(), k.GroupVersion(), subresource, resetFields(k, subresource))
	if err != nil {
		return nil, fmt.Errorf("making the field manager of %s: %w", k.Kind, err)
	}
	f.made[key] = m
	return m, nil
}

// siblings converts between the versions of a kind that has two, as far as some
// manager's fields are noted in the other one: by way of the internal version,
// which is no object's own here. The core group is installed by itself, so neither it
// nor the others know what was written through the other's version of an Event: its
// manager is forgotten (apiserver pkg/server InstallLegacyAPIGroup, InstallAPIGroups).
type siblings struct {
	*runtime.Scheme
	group string // of the kind
}

// ConvertToVersion converts an object to a version of its kind.
func (s siblings) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	if gv, ok := to.(schema.GroupVersion); ok && (gv.Group == "") != (s.group == "") {
		return nil, runtime.NewNotRegisteredErrForTarget(s.Name(), reflect.TypeOf(in), to)
	}
	out, err := s.Scheme.ConvertToVersion(in, to)
	if err == nil {
		return out, nil
	}
	internal, failed := s.Scheme.ConvertToVersion(in, schema.GroupVersion{Group: registry.GroupOf(in), Version: runtime.APIVersionInternal})
	if failed != nil {
		return nil, err
	}
	return s.Scheme.ConvertToVersion(internal, to)
}

// builtin is the type schema of the built-in kinds, made once.
func (f *fieldManagers) builtin() managedfields.TypeConverter {
	if f.types == nil {
		f.types = applyconfigurations.NewTypeConverter(registry.Scheme)
	}
	return f.types
}

// resetFields are the fields that a write cannot set, whoever asks: nobody
// comes to own them (GetResetFields of the strategies).
func resetFields(k *registry.Kind, subresource string) map[fieldpath.APIVersion]fieldpath.Filter {
	st := k.Strategy
	if st != nil && st.Resets != nil {
		set, ok := st.Resets[subresource]
		if !ok {
			set = st.Resets[""] // scale
		}
		if set == nil {
			return nil
		}
		return fieldpath.NewExcludeFilterSetMap(set)
	}
	if k.Subresource("status") == nil || st == nil {
		return nil
	}
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	if subresource == "status" {
		set = fieldpath.NewSet(fieldpath.MakePathOrDie("spec"))
		switch k.Kind {
		case "Pod":
			set.Insert(fieldpath.MakePathOrDie("metadata", "deletionTimestamp"))
			set.Insert(fieldpath.MakePathOrDie("metadata", "ownerReferences"))
		case "Deployment":
			set.Insert(fieldpath.MakePathOrDie("metadata", "labels"))
		}
	}
	return fieldpath.NewExcludeFilterSetMap(map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(k.GroupVersion().String()): set})
}

// applyPatch makes the new object of the request's patch, of the kind, or of the one
// that its subresource has, and fills it in, both of which may be big. old is nil for an
// apply that creates.
func (c *call) applyPatch(kind *registry.Kind, old runtime.Object, fill func(runtime.Object)) (obj runtime.Object, err error) {
	p := c.patchOf(kind)
	applies := c.req.PatchType == types.ApplyPatchType
	if applies { // what the server makes once for all requests, and the time, are no part of what is computed aside
		m, err := c.manager(kind)
		if err != nil {
			return nil, err
		}
		p.Objects = patchedObjects{c, m}
	}
	c.aside("the patch", func() {
		var warnings []string
		obj, warnings, err = p.Apply(old)
		c.Warnings = append(c.Warnings, warnings...)
		if err == nil {
			fill(obj)
		}
	})
	if err == nil && applies {
		c.stamp(c.req.FieldManager, old, obj)
	}
	return obj, err
}

func (c *call) patchOf(kind *registry.Kind) *patch.Patch {
	r := c.req
	return &patch.Patch{
		Kind: kind, Name: r.Name, Subresource: r.Subresource, Type: r.PatchType, Data: r.Patch, Validation: r.FieldValidation, System: r.System,
		Objects: patchedObjects{call: c},
	}
}

// patchedObjects are what a patch reads and makes for which it needs the request
// ([patch.Objects]).
type patchedObjects struct {
	*call
	manager *managedfields.FieldManager // of the kind; nil if the patch is no apply
}

// ServerSideApply is [patch.Objects]. old is nil when the object does not exist.
func (c patchedObjects) ServerSideApply(kind *registry.Kind, old runtime.Object) (obj runtime.Object, warnings []string, err error) {
	if c.req.FieldManager == "" {
		return nil, nil, apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("PatchOptions").GroupKind(), "",
			field.ErrorList{field.Required(field.NewPath("fieldManager"), "is required for apply patch")})
	}
	applied := &unstructured.Unstructured{Object: map[string]any{}}
	data, err := yaml.YAMLToJSON(c.req.Patch)
	if err == nil {
		err = json.Unmarshal(data, &applied.Object)
	}
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if old == nil {
		empty := kind.New()
		empty.GetObjectKind().SetGroupVersionKind(kind.GVK())
		old = empty
	}
	obj, err = c.manager.Apply(old.DeepCopyObject(), applied, c.req.FieldManager, c.req.Force)
	if err != nil {
		return nil, nil, err
	}
	if warnings, err = c.strictApply(); err != nil {
		return nil, nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(kind.GVK())
	return obj, warnings, nil
}

// manager keeps the books of a kind's managed fields.
func (c *call) manager(kind *registry.Kind) (m *managedfields.FieldManager, err error) {
	if m, err = c.s.managers.of(kind, c.req.Subresource); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return m, nil
}

// strictApply tells of fields that an apply configuration has twice.
func (c *call) strictApply() (warnings []string, err error) {
	if c.req.FieldValidation == metav1.FieldValidationIgnore {
		return nil, nil
	}
	switch err := yaml.UnmarshalStrict(c.req.Patch, &map[string]any{}); {
	case err == nil:
	case c.req.FieldValidation == metav1.FieldValidationStrict:
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

// trackManager notes which fields a write sets, under the writer's name
// (handlers/create.go, update.go). For components of this process that is done
// only where somebody else's fields are noted already: they would be told
// nothing new.
//
// It gives obj with its writer noted; old is nil for a creation.
func (c *call) trackManager(kind *registry.Kind, obj, old runtime.Object) (runtime.Object, error) {
	if c.req.Verb == "patch" && c.req.PatchType == "application/apply-patch+yaml" {
		return obj, nil
	}
	if c.req.System && (old == nil || c.req.Subresource == "status" || len(object.Meta(old).GetManagedFields()) == 0) {
		return obj, nil
	}
	m, err := c.manager(kind)
	if err != nil {
		return nil, err
	}
	live := old
	if live == nil {
		live = kind.New()
		live.GetObjectKind().SetGroupVersionKind(kind.GVK())
	}
	manager := c.req.FieldManager
	if manager == "" {
		manager, _, _ = strings.Cut(c.req.Sender(), "/") // of a user agent, the program
	}
	var owned runtime.Object
	c.aside("the managed fields", func() { owned = m.UpdateNoErrors(live.DeepCopyObject(), obj, manager) })
	owned.GetObjectKind().SetGroupVersionKind(kind.GVK())
	c.stamp(manager, live, owned)
	return owned, nil
}

// stamp gives new entries of managedFields the virtual time; the library took
// the real one. old is nil of a new object.
func (c *call) stamp(manager string, old, obj runtime.Object) {
	now := c.Now()
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
	object.Meta(obj).SetManagedFields(entries)
}

func entryKey(e metav1.ManagedFieldsEntry) string {
	return e.Manager + "\x00" + string(e.Operation) + "\x00" + e.APIVersion + "\x00" + e.Subresource
}
