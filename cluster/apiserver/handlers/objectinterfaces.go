package handlers

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/crd"
	"kviz/cluster/apiserver/decode"
	"kviz/cluster/apiserver/registry"
)

// objectInterfaces make, default and convert a kind's objects for Kubernetes' own
// admission code.
type objectInterfaces struct {
	served Kinds
	of     decode.Of
}

// GetObjectCreater is admission.ObjectInterfaces.
func (o objectInterfaces) GetObjectCreater() runtime.ObjectCreater { return o }

// GetObjectTyper is admission.ObjectInterfaces.
func (o objectInterfaces) GetObjectTyper() runtime.ObjectTyper { return registry.Scheme }

// GetObjectDefaulter is admission.ObjectInterfaces.
func (o objectInterfaces) GetObjectDefaulter() runtime.ObjectDefaulter { return o }

// GetObjectConvertor is admission.ObjectInterfaces.
func (o objectInterfaces) GetObjectConvertor() runtime.ObjectConvertor { return o }

// GetEquivalentResourceMapper is admission.ObjectInterfaces.
func (o objectInterfaces) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper { return o }

func (o objectInterfaces) custom(group string) *crd.Definition {
	if v := crd.Of(o.of.Kind); v != nil && o.of.Kind.Group == group {
		return v.Definition()
	}
	return nil
}

// New is runtime.ObjectCreater.
func (o objectInterfaces) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	if of := o.custom(gvk.Group); of != nil {
		return of.Objects().New(gvk)
	}
	return registry.Scheme.New(gvk)
}

// Default is runtime.ObjectDefaulter.
func (o objectInterfaces) Default(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if of := o.custom(u.GroupVersionKind().Group); of != nil {
			of.Objects().Default(u)
		}
		return
	}
	decode.Defaults(o.of, obj)
}

// ConvertToVersion is runtime.ObjectConvertor.
func (o objectInterfaces) ConvertToVersion(in runtime.Object, gv runtime.GroupVersioner) (runtime.Object, error) {
	if of := o.custom(in.GetObjectKind().GroupVersionKind().Group); of != nil {
		return of.Objects().ConvertToVersion(in, gv)
	}
	return registry.Scheme.ConvertToVersion(in, gv)
}

// Convert is runtime.ObjectConvertor: objects of one type are moved, others go by
// way of the internal version.
func (o objectInterfaces) Convert(in, out, ctx any) error {
	if u, ok := in.(*unstructured.Unstructured); ok {
		to, ok := out.(*unstructured.Unstructured)
		of := o.custom(u.GroupVersionKind().Group)
		if !ok || of == nil {
			return registry.Scheme.Convert(in, out, ctx)
		}
		if gvk := to.GroupVersionKind(); gvk != u.GroupVersionKind() {
			got, err := of.Objects().ConvertToVersion(u, gvk.GroupVersion())
			if err != nil {
				return err
			}
			u = got.(*unstructured.Unstructured)
		}
		to.Object = u.Object
		return nil
	}
	if reflect.TypeOf(in) == reflect.TypeOf(out) {
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(in).Elem())
		return nil
	}
	obj := in.(runtime.Object)
	hub, err := registry.Scheme.ConvertToVersion(obj, schema.GroupVersion{Group: obj.GetObjectKind().GroupVersionKind().Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return err
	}
	return registry.Scheme.Convert(hub, out, ctx)
}

// ConvertFieldLabel is runtime.ObjectConvertor; admission has no use for it.
func (objectInterfaces) ConvertFieldLabel(gvk schema.GroupVersionKind, label, _ string) (string, string, error) {
	return "", "", fmt.Errorf("%s has no label %q", gvk, label)
}

// EquivalentResourcesFor is runtime.EquivalentResourceMapper: versions of a kind
// that lie at one place of the store.
func (o objectInterfaces) EquivalentResourcesFor(r schema.GroupVersionResource, subresource string) []schema.GroupVersionResource {
	of := o.served.KindFor(r)
	if of == nil {
		return nil
	}
	var out []schema.GroupVersionResource
	for _, k := range o.served.Resources() {
		if k.Prefix == of.Prefix && k.Stored() && (subresource == "" || k.Subresource(subresource) != nil) {
			out = append(out, k.GroupVersionResource)
		}
	}
	return out
}

// KindFor is runtime.EquivalentResourceMapper.
func (o objectInterfaces) KindFor(r schema.GroupVersionResource, subresource string) schema.GroupVersionKind {
	k := o.served.KindFor(r)
	if k == nil {
		return schema.GroupVersionKind{}
	}
	if subresource == "" {
		return k.GVK()
	}
	if sub := k.Subresource(subresource); sub != nil {
		return sub.GVK
	}
	return schema.GroupVersionKind{}
}
