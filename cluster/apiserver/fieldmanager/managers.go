// Package fieldmanager keeps track of who owns which field of an object, and does
// server-side apply (apiserver pkg/endpoints/handlers/fieldmanager; apimachinery
// pkg/util/managedfields, which is called for all of it).
//
// What a component of this process writes is tracked only in objects that have managed
// fields already. Start reading at [Managers.Track] and [Apply].
package fieldmanager

import (
	"fmt"
	"reflect"

	crdconfigurations "k8s.io/apiextensions-apiserver/pkg/client/applyconfiguration"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	aggregatorconfigurations "k8s.io/kube-aggregator/pkg/client/applyconfiguration"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/registry"
)

// Managers makes the field manager of a kind and subresource, once each. Building the
// type schema that it needs takes a tenth of a second, so that is done when the
// first request needs it.
type Managers struct {
	types managedfields.TypeConverter
	made  map[string]*managedfields.FieldManager
}

func (f *Managers) of(k *registry.Kind, subresource string) (*managedfields.FieldManager, error) {
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
	types := f.Builtin()
	switch k.Group {
	case "apiregistration.k8s.io":
		types = aggregatorconfigurations.NewTypeConverter(registry.Scheme)
	case "apiextensions.k8s.io":
		types = crdconfigurations.NewTypeConverter(registry.Scheme)
	case "authentication.k8s.io", "authorization.k8s.io":
		types = managedfields.NewDeducedTypeConverter() // no apply configuration is made of these, so the schema lacks them
	}
	if k.Kind == "Scale" {
		types = managedfields.NewDeducedTypeConverter()
	}
	m, err := managedfields.NewDefaultFieldManager(types, siblings{registry.Scheme, k.Group}, registry.Timeless{}, registry.Scheme, k.GVK(), k.GroupVersion(), subresource, resetFields(k, subresource))
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

// Builtin is the type schema of the built-in kinds, made once.
func (f *Managers) Builtin() managedfields.TypeConverter {
	if f.types == nil {
		f.types = applyconfigurations.NewTypeConverter(registry.Scheme)
	}
	return f.types
}

// resetFields are the fields that no write can set: nobody ever owns them
// (GetResetFields of the strategies).
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
