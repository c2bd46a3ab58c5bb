package crd

import (
	"errors"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kviz/cluster/apiserver/registry"
)

// makeTypes makes the type converter, which reads the schemas of a definition's versions
// as server-side apply does (customresource_handler.go buildOpenAPIModelsForApply); a
// definition without schemas has its types deduced.
func (cu *Definition) makeTypes() (managedfields.TypeConverter, error) {
	models := map[string]*spec.Schema{}
	for _, k := range cu.kinds {
		doc, err := builder.BuildOpenAPIV3(cu.born, k.Version, builder.Options{})
		if err != nil {
			return nil, err
		}
		for name, s := range doc.Components.Schemas {
			models[name] = s
		}
	}
	return managedfields.NewTypeConverter(models, cu.born.Spec.PreserveUnknownFields)
}

// Managed reports whether [Version.ManagerOf] has made this field manager; if not, it
// takes as long as [Definition.Types], which may be called beside the kernel before.
func (v *Version) Managed(subresource string) bool { return v.managers[subresource] != nil }

// ManagerOf is the field manager of a custom kind and subresource, made once.
func (v *Version) ManagerOf(k *registry.Kind, subresource string) (*managedfields.FieldManager, error) {
	if m := v.managers[subresource]; m != nil {
		return m, nil
	}
	m, err := v.fieldManager(k, subresource)
	if err != nil {
		return nil, fmt.Errorf("making the field manager of %s: %w", k.Kind, err)
	}
	if v.managers == nil {
		v.managers = map[string]*managedfields.FieldManager{}
	}
	v.managers[subresource] = m
	return m, nil
}

func (v *Version) fieldManager(k *registry.Kind, subresource string) (*managedfields.FieldManager, error) {
	types, err := v.of.Types()
	if err != nil {
		return nil, err
	}
	reset := map[fieldpath.APIVersion]*fieldpath.Set{}
	switch subresource {
	case "":
		if v.hasStatus() {
			reset[fieldpath.APIVersion(k.APIVersion)] = fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
		}
	case "status":
		for _, other := range v.of.kinds {
			if Of(other).hasStatus() {
				reset[fieldpath.APIVersion(other.APIVersion)] = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"))
			}
		}
	}
	object := Objects{v.of}
	return managedfields.NewDefaultCRDFieldManager(types, object, object, object, k.GVK(), k.GroupVersion(), subresource, fieldpath.NewExcludeFilterSetMap(reset))
}

// Objects are the definition's, for those who convert, default and make them.
func (cu *Definition) Objects() Objects { return Objects{cu} }

// Objects converts, defaults and makes a definition's objects for the field
// manager.
type Objects struct{ of *Definition }

// New is runtime.ObjectCreater.
func (Objects) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u, nil
}

// Default is runtime.ObjectDefaulter.
func (o Objects) Default(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if k := o.of.version(u.GetAPIVersion()); k != nil {
			Of(k).Fill(u)
		}
	}
}

// ConvertToVersion is runtime.ObjectConvertor.
func (o Objects) ConvertToVersion(in runtime.Object, gv runtime.GroupVersioner) (runtime.Object, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("converting %T: not a custom object", in)
	}
	to, ok := gv.KindForGroupVersionKinds([]schema.GroupVersionKind{u.GroupVersionKind()})
	if !ok {
		return nil, fmt.Errorf("converting %s to %v: no such version", u.GroupVersionKind(), gv)
	}
	k := o.of.version(to.GroupVersion().String())
	if k == nil {
		return nil, runtime.NewNotRegisteredErrForKind("customresource", to)
	}
	u = u.DeepCopy()
	return u, Of(k).convert(u, k)
}

// Convert is runtime.ObjectConvertor; nobody calls it with maps.
func (Objects) Convert(_, _, _ any) error {
	return errors.New("a custom object is converted to a version")
}

// ConvertFieldLabel is runtime.ObjectConvertor.
func (o Objects) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	if k := o.of.version(gvk.GroupVersion().String()); k != nil {
		return Of(k).Label(k, label, value)
	}
	return "", "", fmt.Errorf("field label not supported: %s", label)
}
