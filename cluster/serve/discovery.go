package serve

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/apiserver/handlers"
	"kviz/cluster/apiserver/registry"
)

// discovered is what the API server serves itself.
type discovered interface {
	Resources() []*registry.Kind
}

// documents are the embedded discovery and OpenAPI documents, read when they
// are first asked for.
type documents struct {
	fs fs.FS

	once   sync.Once
	groups *apidiscovery.APIGroupDiscoveryList // all of Kubernetes
}

// upstream is the discovery document of all of Kubernetes, or an empty list.
func (d *documents) upstream() *apidiscovery.APIGroupDiscoveryList {
	d.once.Do(func() {
		d.groups = &apidiscovery.APIGroupDiscoveryList{}
		if d.fs == nil {
			return
		}
		b, err := fs.ReadFile(d.fs, "discovery/discovery.json")
		if err == nil {
			err = json.Unmarshal(b, d.groups)
		}
		if err != nil {
			panic(fmt.Sprintf("serve: the embedded discovery document: %v", err))
		}
	})
	return d.groups
}

// isDiscovery reports whether path (without a trailing slash) is one of /api,
// /api/VERSION, /apis, /apis/GROUP, /apis/GROUP/VERSION.
func isDiscovery(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch parts[0] {
	case "api":
		return len(parts) <= 2
	case "apis":
		return len(parts) <= 3
	}
	return false
}

// aggregatedType is the media type of aggregated discovery; clients compare
// the answer's Content-Type with it byte by byte.
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// served is the discovery of what is served, group by group in upstream's
// order, then what upstream does not know.
func (h *Handler) served() []apidiscovery.APIGroupDiscovery {
	kinds := map[schema.GroupVersionResource]*registry.Kind{}
	var order []*registry.Kind
	for _, k := range h.resources() {
		kinds[k.GroupVersionResource] = k
		order = append(order, k)
	}
	var groups []apidiscovery.APIGroupDiscovery
	done := map[schema.GroupVersionResource]bool{}
	for _, g := range h.docs.upstream().Items {
		group := apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.Name}}
		for _, v := range g.Versions {
			version := apidiscovery.APIVersionDiscovery{Version: v.Version, Freshness: apidiscovery.DiscoveryFreshnessCurrent}
			for _, r := range v.Resources {
				gvr := schema.GroupVersionResource{Group: g.Name, Version: v.Version, Resource: r.Resource}
				if k := kinds[gvr]; k != nil {
					version.Resources = append(version.Resources, describe(k, &r))
					done[gvr] = true
				}
			}
			if len(version.Resources) > 0 {
				group.Versions = append(group.Versions, version)
			}
		}
		if len(group.Versions) > 0 {
			groups = append(groups, group)
		}
	}
	for _, k := range order {
		if !done[k.GroupVersionResource] {
			groups = addResource(groups, k)
		}
	}
	return append(groups, h.aggregatedGroups()...)
}

// aggregatedGroups are those that other servers serve. Their APIServices may be of no
// group that is served here.
func (h *Handler) aggregatedGroups() (groups []apidiscovery.APIGroupDiscovery) {
	h.cfg.Kernel.Do(func() {
		if api := h.cfg.API(); api != nil {
			groups = api.Aggregated().Groups()
		}
	})
	return groups
}

// addResource enters a kind that the upstream document does not have.
func addResource(groups []apidiscovery.APIGroupDiscovery, k *registry.Kind) []apidiscovery.APIGroupDiscovery {
	for i := range groups {
		if groups[i].Name != k.Group {
			continue
		}
		for j := range groups[i].Versions {
			if v := &groups[i].Versions[j]; v.Version == k.Version {
				v.Resources = append(v.Resources, describe(k, nil))
				return groups
			}
		}
		groups[i].Versions = append(groups[i].Versions, newVersion(k))
		return groups
	}
	return append(groups, apidiscovery.APIGroupDiscovery{
		ObjectMeta: metav1.ObjectMeta{Name: k.Group},
		Versions:   []apidiscovery.APIVersionDiscovery{newVersion(k)},
	})
}

func newVersion(k *registry.Kind) apidiscovery.APIVersionDiscovery {
	return apidiscovery.APIVersionDiscovery{
		Version: k.Version, Freshness: apidiscovery.DiscoveryFreshnessCurrent,
		Resources: []apidiscovery.APIResourceDiscovery{describe(k, nil)},
	}
}

// describe is the registry's word on a kind; upstream's document adds the
// short names and the kinds of subresources' bodies where the registry is
// silent.
func describe(k *registry.Kind, doc *apidiscovery.APIResourceDiscovery) apidiscovery.APIResourceDiscovery {
	r := apidiscovery.APIResourceDiscovery{
		Resource: k.GroupVersionResource.Resource, ResponseKind: metaGVK(k.GVK()), Scope: apidiscovery.ScopeCluster,
		SingularResource: k.Singular, Verbs: k.Told(), ShortNames: k.ShortNames, Categories: k.Categories,
	}
	if k.Namespaced {
		r.Scope = apidiscovery.ScopeNamespace
	}
	if doc != nil {
		if len(r.ShortNames) == 0 {
			r.ShortNames = doc.ShortNames
		}
		if len(r.Categories) == 0 {
			r.Categories = doc.Categories
		}
		if r.SingularResource == "" {
			r.SingularResource = doc.SingularResource
		}
	}
	for _, s := range k.Subresources {
		gvk := s.GVK
		if gvk.Empty() {
			gvk = k.GVK()
		}
		r.Subresources = append(r.Subresources, apidiscovery.APISubresourceDiscovery{Subresource: s.Name, ResponseKind: metaGVK(gvk), Verbs: s.Verbs})
	}
	if doc != nil {
		for _, s := range doc.Subresources {
			if handlers.Connects(k, s.Subresource) {
				r.Subresources = append(r.Subresources, s)
			}
		}
		slices.SortFunc(r.Subresources, func(a, b apidiscovery.APISubresourceDiscovery) int {
			return strings.Compare(a.Subresource, b.Subresource)
		})
	}
	return r
}

func metaGVK(gvk schema.GroupVersionKind) *metav1.GroupVersionKind {
	return &metav1.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind}
}

// serveDiscovery answers /api and /apis, aggregated if the client can read
// that, else in the form from before (discovery of one group or version at a
// time).
func (h *Handler) serveDiscovery(w http.ResponseWriter, r *http.Request, path string) {
	groups := h.served()
	if groups == nil {
		if h.cfg.Kernel.Do(func() {}) != nil {
			writeStatus(w, r, unavailable("the simulation has stopped"))
			return
		}
		h.refuse(w, r)
		return
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	core := parts[0] == "api"
	if r.Method != http.MethodGet && (core || len(parts) > 1) { // the list of groups is the aggregator's, which takes any
		writeStatus(w, r, routeError(http.StatusMethodNotAllowed, ""))
		return
	}
	w.Header().Set("Vary", "Accept")
	if len(parts) == 1 && acceptsAggregated(r.Header.Get("Accept")) {
		list := &apidiscovery.APIGroupDiscoveryList{Items: []apidiscovery.APIGroupDiscovery{}}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: "apidiscovery.k8s.io", Version: "v2", Kind: "APIGroupDiscoveryList"})
		for _, g := range groups {
			if (g.Name == "") == core {
				list.Items = append(list.Items, g)
			}
		}
		writeDocument(w, r, aggregatedType, list)
		return
	}
	if doc := legacyDiscovery(groups, parts, core); doc != nil {
		writeDocument(w, r, "application/json", doc)
		return
	}
	if core || len(parts) == 3 && hasGroup(h.resources(), parts[1]) {
		writeStatus(w, r, routeError(http.StatusNotFound, ""))
		return
	}
	writePathNotFound(w)
}

func acceptsAggregated(accept string) bool {
	for _, clause := range strings.Split(accept, ",") {
		c := strings.ReplaceAll(clause, " ", "")
		if strings.HasPrefix(c, "application/json;") && strings.Contains(c, "g=apidiscovery.k8s.io") &&
			strings.Contains(c, "v=v2") && !strings.Contains(c, "v=v2beta1") && strings.Contains(c, "as=APIGroupDiscoveryList") {
			return true
		}
	}
	return false
}

// legacyDiscovery is APIVersions, APIGroupList, APIGroup or APIResourceList,
// or nil where nothing such is served.
func legacyDiscovery(groups []apidiscovery.APIGroupDiscovery, parts []string, core bool) any {
	name, version := "", ""
	switch {
	case core && len(parts) == 1:
		return &metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: "127.0.0.1"}},
		}
	case core:
		version = parts[1]
	case len(parts) == 1:
		list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
		for _, g := range groups {
			if g.Name != "" {
				list.Groups = append(list.Groups, legacyGroup(g))
			}
		}
		return list
	case len(parts) == 2:
		for _, g := range groups {
			if g.Name == parts[1] {
				group := legacyGroup(g)
				group.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
				return &group
			}
		}
		return nil
	default:
		name, version = parts[1], parts[2]
	}
	for _, g := range groups {
		if g.Name != name {
			continue
		}
		for _, v := range g.Versions {
			if v.Version == version {
				return legacyResources(schema.GroupVersion{Group: name, Version: version}, v.Resources)
			}
		}
	}
	return nil
}

func legacyGroup(g apidiscovery.APIGroupDiscovery) metav1.APIGroup {
	group := metav1.APIGroup{Name: g.Name}
	for _, v := range g.Versions {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: g.Name + "/" + v.Version, Version: v.Version})
	}
	group.PreferredVersion = group.Versions[0]
	return group
}

func legacyResources(gv schema.GroupVersion, resources []apidiscovery.APIResourceDiscovery) *metav1.APIResourceList {
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(), APIResources: []metav1.APIResource{}}
	add := func(name, singular string, namespaced bool, kind *metav1.GroupVersionKind, verbs, short, categories []string) {
		r := metav1.APIResource{Name: name, SingularName: singular, Namespaced: namespaced, Kind: kind.Kind, Verbs: verbs, ShortNames: short, Categories: categories}
		if kind.Group != gv.Group || kind.Version != gv.Version {
			r.Group, r.Version = kind.Group, kind.Version
		}
		list.APIResources = append(list.APIResources, r)
	}
	for _, r := range resources {
		namespaced := r.Scope == apidiscovery.ScopeNamespace
		add(r.Resource, r.SingularResource, namespaced, r.ResponseKind, r.Verbs, r.ShortNames, r.Categories)
		for _, s := range r.Subresources {
			add(r.Resource+"/"+s.Subresource, "", namespaced, s.ResponseKind, s.Verbs, nil, nil)
		}
	}
	return list
}

// writeDocument sends a document with an ETag, or 304 to whoever has it already.
func writeDocument(w http.ResponseWriter, r *http.Request, contentType string, doc any) {
	b, err := json.Marshal(doc)
	if err != nil {
		writeStatus(w, r, statusOf(err))
		return
	}
	b = append(b, '\n')
	etag := fmt.Sprintf("%q", fmt.Sprintf("%X", sha256.Sum256(b)))
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", contentType)
	_, _ = w.Write(b)
}
