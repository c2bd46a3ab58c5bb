// Package crd serves custom resources (apiextensions-apiserver): kinds that come and go
// while the server runs, as the CustomResourceDefinitions in its watch cache say. Each
// version of a definition is a [registry.Kind] like any other, made when the definition's
// names are accepted; its schema, validators and watch cache are made when its objects are
// first asked for. The controllers that accept names, establish definitions and clean up
// after them are here too ([Controllers]).
//
// Structural schemas, pruning, defaults, rules, tables and OpenAPI are upstream's packages;
// its handler and strategy, which would bring in the generic registry with its etcd client,
// are ported. Start reading at [Definitions.Changed].
package crd

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/version"

	"kviz/cluster/apiserver/cacher"
	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
)

// Definition is one definition as it is served. A new spec makes a new one
// (customresource_handler.go).
type Definition struct {
	host    host
	crd     *apiextensionsv1.CustomResourceDefinition // the newest; shared, and another when its status changes
	born    *apiextensionsv1.CustomResourceDefinition // with the same spec and names; never another, so that what is offloaded can read it
	kinds   []*registry.Kind                          // a version each, in the order of the spec
	storage *registry.Kind                            // whose version is written
	size    int                                       // of the definition, in bytes

	// Types are for server-side apply; made on first use, by whoever asks first.
	Types func() (managedfields.TypeConverter, error)
}

// Version is what a Kind has more if a definition made it.
type Version struct {
	of    *Definition
	spec  *apiextensionsv1.CustomResourceDefinitionVersion
	Cache *cacher.Cache // nil until somebody asks

	making   sync.Once
	made     *customSchema                          // nil until somebody asks
	managers map[string]*managedfields.FieldManager // by subresource
	printer  printer
}

// Definitions is what the definitions make the server serve.
type Definitions struct {
	host     host
	byName   map[string]*Definition // by the definition's name
	kinds    map[schema.GroupVersionResource]*registry.Kind
	byPrefix map[string]*registry.Kind // the storage version's, by "group/plural"
}

// host is the server that serves what the definitions say.
type host interface {
	// CustomKindsMoved hears that the kinds, or what they are, have changed.
	CustomKindsMoved()
	// CustomKindAdded is called with a new definition, as the kind of its storage
	// version.
	CustomKindAdded(stored *registry.Kind)
	// Convert has the webhook of a definition convert an object, in the task that runs.
	Convert(crd *apiextensionsv1.CustomResourceDefinition, u *unstructured.Unstructured, to *registry.Kind) (*unstructured.Unstructured, error)
}

func New(h host) *Definitions {
	return &Definitions{host: h, byName: map[string]*Definition{}, kinds: map[schema.GroupVersionResource]*registry.Kind{}, byPrefix: map[string]*registry.Kind{}}
}

// Changed is called with every change of a definition, as soon as the watch cache has
// it. A kind whose definition changed is replaced, and its watches end, as upstream's
// do.
func (cs *Definitions) Changed(name string, obj runtime.Object) {
	crd, _ := obj.(*apiextensionsv1.CustomResourceDefinition)
	had := cs.byName[name]
	serve := crd != nil && (apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted) || apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established))
	if had != nil {
		if serve && had.crd.UID == crd.UID && object.Equal(had.crd.Spec, crd.Spec) && object.Equal(had.crd.Status.AcceptedNames, crd.Status.AcceptedNames) {
			before := had.Established()
			if had.crd = crd; had.Established() != before {
				cs.host.CustomKindsMoved()
			}
			return
		}
		cs.drop(name)
	}
	if serve {
		cs.add(name, crd)
	}
}

func (cs *Definitions) add(name string, crd *apiextensionsv1.CustomResourceDefinition) {
	cu := &Definition{host: cs.host, crd: crd, born: crd, size: crd.Size()}
	cu.Types = sync.OnceValues(cu.makeTypes)
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
		made := &Version{of: cu, spec: v}
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
	cs.host.CustomKindAdded(cu.storage)
	cs.host.CustomKindsMoved()
}

// drop ends the service of a definition's kinds.
func (cs *Definitions) drop(name string) {
	cu := cs.byName[name]
	delete(cs.byName, name)
	for _, k := range cu.kinds {
		if cs.kinds[k.GroupVersionResource] == k {
			delete(cs.kinds, k.GroupVersionResource)
		}
		if c := Of(k).Cache; c != nil {
			c.End("the CustomResourceDefinition " + name + " changed or is gone")
		}
	}
	cs.host.CustomKindsMoved()
	prefix := cu.born.Spec.Group + "/" + cu.born.Status.AcceptedNames.Plural
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

func (cu *Definition) Terminating() bool {
	return cu.crd.DeletionTimestamp != nil || apihelpers.IsCRDConditionTrue(cu.crd, apiextensionsv1.Terminating)
}

// Established is since when the definition is; zero if it is not.
func (cu *Definition) Established() metav1.Time {
	if c := apihelpers.FindCRDCondition(cu.crd, apiextensionsv1.Established); c != nil && c.Status == apiextensionsv1.ConditionTrue {
		return c.LastTransitionTime
	}
	return metav1.Time{}
}

// version finds the kind of another version of the same definition; nil if there
// is none.
func (cu *Definition) version(apiVersion string) *registry.Kind {
	for _, k := range cu.kinds {
		if k.APIVersion == apiVersion {
			return k
		}
	}
	return nil
}

// Served lists the kinds in discovery: by group, the preferred version first.
func (cs *Definitions) Served() []*registry.Kind {
	out := make([]*registry.Kind, 0, len(cs.kinds))
	for _, k := range cs.kinds {
		if since := Of(k).of.Established(); since.IsZero() {
			continue
		}
		if Of(k).of.Terminating() {
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

// Open are the watch caches that are open, by definition, in the order of the spec.
func (cs *Definitions) Open() []*cacher.Cache {
	var out []*cacher.Cache
	for _, name := range slices.Sorted(maps.Keys(cs.byName)) {
		for _, k := range cs.byName[name].kinds {
			if Of(k).Cache != nil {
				out = append(out, Of(k).Cache)
			}
		}
	}
	return out
}

// InUse lists the definitions with the versions that are served, and whether there are
// or were objects of them.
func (cs *Definitions) InUse(used map[string]bool) []client.CustomKind {
	var out []client.CustomKind
	for _, name := range slices.Sorted(maps.Keys(cs.byName)) {
		cu := cs.byName[name]
		if versions := client.CustomVersions(cu.crd); len(versions) > 0 {
			out = append(out, client.CustomKind{Versions: versions, Used: used[cu.storage.GroupResource().String()]})
		}
	}
	return out
}

// Stored is the kind in whose version the objects of a definition are stored; nil if the
// definition is not served.
func (cs *Definitions) Stored(name string) *registry.Kind {
	if cu := cs.byName[name]; cu != nil {
		return cu.storage
	}
	return nil
}

// IsEmpty reports whether there are no definitions.
func (cs *Definitions) IsEmpty() bool { return len(cs.kinds) == 0 }

// KindFor is the custom kind that is served as a resource; nil if none is.
func (cs *Definitions) KindFor(r schema.GroupVersionResource) *registry.Kind { return cs.kinds[r] }

// KindOf is the kind whose objects are stored under a key; nil if there is none.
func (cs *Definitions) KindOf(key []byte) *registry.Kind {
	if len(cs.byPrefix) == 0 {
		return nil
	}
	rest, ok := strings.CutPrefix(string(key), "/registry/")
	if parts := strings.SplitN(rest, "/", 3); ok && len(parts) == 3 {
		return cs.byPrefix[parts[0]+"/"+parts[1]]
	}
	return nil
}

// Of is the version of a definition that made the kind; nil for a built-in one.
func Of(k *registry.Kind) *Version {
	if k.Custom == nil {
		return nil
	}
	return k.Custom.Version.(*Version)
}

// Size is how many bytes the definition has.
func (v *Version) Size() int { return v.of.size }

// Same reports whether two kinds are the same version of the same definition, of
// one spec.
func Same(k, o *registry.Kind) bool {
	return k.Custom != nil && o.Custom != nil && Of(k).of == Of(o).of && k.Version == o.Version
}

// Definition is what the version is one of.
func (v *Version) Definition() *Definition { return v.of }

// Deprecation is the warning of a deprecated version (defaultDeprecationWarning), else "".
func (v *Version) Deprecation() string {
	if !v.spec.Deprecated {
		return ""
	}
	if v.spec.DeprecationWarning != nil {
		return *v.spec.DeprecationWarning
	}
	spec := &v.of.born.Spec
	msg, better := fmt.Sprintf("%s/%s %s is deprecated", spec.Group, v.spec.Name, spec.Names.Kind), ""
	for _, o := range spec.Versions {
		if o.Served && !o.Deprecated && version.CompareKubeAwareVersionStrings(v.spec.Name, o.Name) < 0 && (better == "" || version.CompareKubeAwareVersionStrings(better, o.Name) < 0) {
			better = o.Name
		}
	}
	if better != "" {
		msg += fmt.Sprintf("; use %s/%s %s", spec.Group, better, spec.Names.Kind)
	}
	return msg
}
