package proof

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// A sample is what testdata/kinds.yaml has of a kind. NAME in it is the name
// of the object that is made of it.
type sample struct {
	// Object is a valid one. Without metadata.name it is called NAME.
	Object map[string]any `json:"object"`
	// Names are three to call objects by, where one, two and three will not do.
	Names []string `json:"names"`
	// Changes are merge patches that are made to the object one after the other,
	// good ones and refused ones.
	Changes []map[string]any `json:"changes"`
	// Wrong are merge patches that make of the sample what is refused, or warned of.
	Wrong []map[string]any `json:"wrong"`
	// Status are merge patches of the subresource status.
	Status []map[string]any `json:"status"`
	// Selectors are field selectors of this kind.
	Selectors []string `json:"selectors"`
}

// samples are by resource and group: deployments.apps.
func samples() (map[string]sample, error) {
	var out map[string]sample
	return out, read("testdata/kinds.yaml", &out)
}

// read reads a YAML file beside this one.
func read(path string, into any) error {
	b, err := os.ReadFile(path)
	if err == nil {
		err = yaml.UnmarshalStrict(b, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// kind is a kind that kviz serves.
type kind struct {
	sample
	gvr        schema.GroupVersionResource
	kind       string
	namespaced bool
	verbs      []string
	sub        map[string][]string // verbs by subresource
}

// kinds are what a discovery document lists and can be created and read, those
// with a sample; bare are those without.
func kinds(docs ...apidiscovery.APIGroupDiscoveryList) (found []*kind, bare []string, err error) {
	samples, err := samples()
	if err != nil {
		return nil, nil, err
	}
	for _, doc := range docs {
		for _, g := range doc.Items {
			for _, v := range g.Versions {
				for _, r := range v.Resources {
					k := &kind{
						gvr: schema.GroupVersionResource{Group: g.Name, Version: v.Version, Resource: r.Resource}, kind: r.ResponseKind.Kind,
						namespaced: r.Scope == apidiscovery.ScopeNamespace, verbs: r.Verbs, sub: map[string][]string{},
					}
					if !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "create") {
						continue // a question, or ComponentStatus, of which nobody makes any
					}
					for _, s := range r.Subresources {
						k.sub[s.Subresource] = s.Verbs
					}
					var ok bool
					if k.sample, ok = samples[k.gvr.GroupResource().String()]; !ok {
						bare = append(bare, k.gvr.GroupResource().String())
						continue
					}
					found = append(found, k)
				}
			}
		}
	}
	return found, bare, nil
}

// root is the path of the kind's group and version.
func (k *kind) root() string {
	if k.gvr.Group == "" {
		return "/api/" + k.gvr.Version
	}
	return "/apis/" + k.gvr.Group + "/" + k.gvr.Version
}

// all is the path of the objects of every namespace, within of those of one.
func (k *kind) all() string { return k.root() + "/" + k.gvr.Resource }

func (k *kind) within(ns string) string {
	if !k.namespaced {
		return k.all()
	}
	return k.root() + "/namespaces/" + ns + "/" + k.gvr.Resource
}

// ns is the namespace that the kind's cases are in.
func (k *kind) ns() string { return "of-" + k.gvr.Resource }

// names are what the objects are called.
func (k *kind) names() []string {
	if len(k.Names) > 0 {
		return k.Names
	}
	return []string{"one", "two", "three"}
}

// object is the sample under a name with merge patches applied.
func (k *kind) object(name string, patches ...map[string]any) string {
	o := map[string]any{"apiVersion": k.gvr.GroupVersion().String(), "kind": k.kind}
	maps.Copy(o, k.Object)
	doc := marshal(o)
	if m, _ := k.Object["metadata"].(map[string]any); m["name"] == nil {
		doc = merge(doc, `{"metadata":{"name":"NAME"}}`)
	}
	for _, p := range patches {
		doc = merge(doc, marshal(p))
	}
	return strings.ReplaceAll(doc, "NAME", name)
}

// path of the object made of the sample under a name.
func (k *kind) path(name string) string {
	m, _ := k.Object["metadata"].(map[string]any)
	if n, ok := m["name"].(string); ok {
		name = strings.ReplaceAll(n, "NAME", name)
	}
	return k.within(k.ns()) + "/" + name
}

// called is the whole name of the object made of the sample under a name.
func (k *kind) called(name string) string {
	p := k.path(name)
	return p[strings.LastIndexByte(p, '/')+1:]
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of maps and strings
	}
	return string(b)
}

func merge(doc, patch string) string {
	b, err := jsonpatch.MergePatch([]byte(doc), []byte(patch))
	if err != nil {
		panic(fmt.Sprintf("%v: %s", err, patch))
	}
	return string(b)
}

// with is a JSON document with a merge patch, in a line.
func with(doc, patch string) string { return merge(doc, patch) }

// meta is a merge patch of the metadata.
func meta(fields string) map[string]any {
	var m map[string]any
	if err := json.Unmarshal([]byte(`{"metadata":`+fields+`}`), &m); err != nil {
		panic(fmt.Sprintf("%v: %s", err, fields))
	}
	return m
}
