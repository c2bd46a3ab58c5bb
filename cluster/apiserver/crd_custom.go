package apiserver

import (
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/version"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
)

// Custom resources: kinds that come and go while the server runs, as the
// CustomResourceDefinitions in its cache say (apiextensions-apiserver
// pkg/apiserver/customresource_handler.go). Each version of a definition is a
// [Kind] as any other, made when the definition's names are accepted; its schema,
// validators and watch cache are made when somebody asks for the first object.

// custom is one definition as it is served. A new spec makes a new one.
type custom struct {
	s       *Server
	crd     *apiextensionsv1.CustomResourceDefinition // the newest; shared
	born    *apiextensionsv1.CustomResourceDefinition // with the same spec; never another
	kinds   []*registry.Kind                          // a version each, in the order of the spec
	storage *registry.Kind                            // whose version is written

	models *customModels // for server-side apply; made on first use
}

// customVersion is what a Kind has more if a definition made it.
type customVersion struct {
	of    *custom
	spec  *apiextensionsv1.CustomResourceDefinitionVersion
	cache *cacher.Cache // nil until somebody asks

	made     *customSchema                          // nil until somebody asks
	managers map[string]*managedfields.FieldManager // by subresource
	printer  printer
}

// customs is what the definitions make the server serve.
type customs struct {
	s        *Server
	byName   map[string]*custom // by the definition's name
	kinds    map[schema.GroupVersionResource]*registry.Kind
	byPrefix map[string]*registry.Kind // the storage version's, by "group/plural"
}

func newCustoms(s *Server) *customs {
	return &customs{s: s, byName: map[string]*custom{}, kinds: map[schema.GroupVersionResource]*registry.Kind{}, byPrefix: map[string]*registry.Kind{}}
}

// changed hears of every change of a definition, as soon as the watch cache has
// it. A kind whose definition changed is made anew, and its watches end, as
// upstream's do.
func (cs *customs) changed(name string, obj runtime.Object) {
	crd, _ := obj.(*apiextensionsv1.CustomResourceDefinition)
	had := cs.byName[name]
	serve := crd != nil && (apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted) || apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established))
	if had != nil {
		if serve && had.crd.UID == crd.UID && object.Equal(had.crd.Spec, crd.Spec) && object.Equal(had.crd.Status.AcceptedNames, crd.Status.AcceptedNames) {
			before := had.established()
			if had.crd = crd; had.established() != before {
				cs.s.customsMoved()
			}
			return
		}
		cs.drop(name)
	}
	if serve {
		cs.add(name, crd)
	}
}

func (cs *customs) add(name string, crd *apiextensionsv1.CustomResourceDefinition) {
	cu := &custom{s: cs.s, crd: crd, born: crd}
	names := crd.Status.AcceptedNames
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		k := &registry.Kind{
			Resource: client.Resource{
				GroupVersionResource: schema.GroupVersionResource{Group: crd.Spec.Group, Version: v.Name, Resource: names.Plural},
				Kind:                 names.Kind, Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
			},
			Singular: names.Singular, ShortNames: names.ShortNames, Categories: names.Categories,
			Verbs: customVerbs, Prefix: "/registry/" + crd.Spec.Group + "/" + names.Plural + "/",
			APIVersion: crd.Spec.Group + "/" + v.Name,
		}
		made := &customVersion{of: cu, spec: v}
		conversion := crd.Spec.Conversion
		k.Custom = &registry.Custom{
			Version: made, ListKind: names.ListKind, Storage: v.Storage,
			Webhook: conversion != nil && conversion.Strategy == apiextensionsv1.WebhookConverter,
		}
		k.Strategy, k.Field = customStrategy(k), made.field
		if sub := v.Subresources; sub != nil && sub.Status != nil {
			k.Subresources = append(k.Subresources, registry.Subresource{Name: "status", GVK: k.GVK(), Verbs: registry.StatusOnly})
		}
		if sub := v.Subresources; sub != nil && sub.Scale != nil {
			k.Subresources = append(k.Subresources, registry.Subresource{Name: "scale", GVK: registry.ScaleGVK, Verbs: registry.StatusOnly})
		}
		cu.kinds = append(cu.kinds, k)
		if v.Storage {
			cu.storage = k
		}
		if v.Served {
			cs.kinds[k.GroupVersionResource] = k
		}
	}
	cs.byName[name] = cu
	cs.byPrefix[crd.Spec.Group+"/"+names.Plural] = cu.storage
	if !cs.s.ready { // it may have had objects before this server began
		cs.s.usage.custom[cu.storage.GroupResource().String()] = true
	}
	cs.s.customsMoved()
}

// drop ends the service of a definition's kinds.
func (cs *customs) drop(name string) {
	cu := cs.byName[name]
	delete(cs.byName, name)
	for _, k := range cu.kinds {
		if cs.kinds[k.GroupVersionResource] == k {
			delete(cs.kinds, k.GroupVersionResource)
		}
		if c := customOf(k).cache; c != nil {
			c.End("the CustomResourceDefinition " + name + " changed or is gone")
		}
	}
	cs.s.customsMoved()
	prefix := cu.crd.Spec.Group + "/" + cu.crd.Status.AcceptedNames.Plural
	if cs.byPrefix[prefix] == cu.storage {
		delete(cs.byPrefix, prefix)
	}
}

// customVerbs are in upstream's order. Of a definition that is going discovery names
// the second row only (customresource_discovery_controller.go); what is refused is the
// creation of objects alone, for somebody must take their finalizers off.
var (
	customVerbs      = []string{"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"}
	terminatingVerbs = []string{"delete", "deletecollection", "get", "list", "watch"}
)

func (cu *custom) terminating() bool {
	return cu.crd.DeletionTimestamp != nil || apihelpers.IsCRDConditionTrue(cu.crd, apiextensionsv1.Terminating)
}

// established is since when the definition is; zero if it is not.
func (cu *custom) established() metav1.Time {
	if c := apihelpers.FindCRDCondition(cu.crd, apiextensionsv1.Established); c != nil && c.Status == apiextensionsv1.ConditionTrue {
		return c.LastTransitionTime
	}
	return metav1.Time{}
}

// version finds the kind of another version of the same definition; nil if there
// is none.
func (cu *custom) version(apiVersion string) *registry.Kind {
	for _, k := range cu.kinds {
		if k.APIVersion == apiVersion {
			return k
		}
	}
	return nil
}

// served lists the kinds that discovery tells of: by group, the preferred
// version first.
func (cs *customs) served() []*registry.Kind {
	out := make([]*registry.Kind, 0, len(cs.kinds))
	for _, k := range cs.kinds {
		if since := customOf(k).of.established(); since.IsZero() {
			continue
		}
		if customOf(k).of.terminating() {
			going := *k
			going.Fewer = terminatingVerbs
			k = &going
		}
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b *registry.Kind) int {
		if c := strings.Compare(a.Group, b.Group); c != 0 {
			return c
		}
		if c := version.CompareKubeAwareVersionStrings(b.Version, a.Version); c != 0 {
			return c
		}
		return strings.Compare(a.GroupVersionResource.Resource, b.GroupVersionResource.Resource)
	})
	return out
}

// open are the watch caches that are open, by definition, in the order of the spec.
func (cs *customs) open() []*cacher.Cache {
	var out []*cacher.Cache
	for _, name := range sortedKeys(cs.byName) {
		for _, k := range cs.byName[name].kinds {
			if customOf(k).cache != nil {
				out = append(out, customOf(k).cache)
			}
		}
	}
	return out
}

// kindFor is the kind served as a resource now; nil if none is.
func (s *Server) kindFor(r schema.GroupVersionResource) *registry.Kind {
	if k := registry.KindFor(r); k != nil {
		return k
	}
	return s.customs.kinds[r]
}

// kindOf is the kind a key at the store belongs to; nil if to none.
func (s *Server) kindOf(key []byte) *registry.Kind {
	if k := registry.KindOfKey(key); k != nil || len(s.customs.byPrefix) == 0 {
		return k
	}
	rest, ok := strings.CutPrefix(string(key), "/registry/")
	if parts := strings.SplitN(rest, "/", 3); ok && len(parts) == 3 {
		return s.customs.byPrefix[parts[0]+"/"+parts[1]]
	}
	return nil
}

// customOf is what a definition says of the kind that it made; nil of a built-in one.
func customOf(k *registry.Kind) *customVersion {
	if k.Custom == nil {
		return nil
	}
	return k.Custom.Version.(*customVersion)
}

// Same reports whether two kinds are the same version of the same definition, of
// one spec.
func Same(k, o *registry.Kind) bool {
	return k.Custom != nil && o.Custom != nil && customOf(k).of == customOf(o).of && k.Version == o.Version
}
