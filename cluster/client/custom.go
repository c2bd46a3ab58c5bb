package client

import (
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kviz/cluster/sim"
)

// CustomResources asks which kinds the cluster serves because of
// CustomResourceDefinitions: one Resource a definition, in the order of their
// names. Objects of such kinds are *unstructured.Unstructured. It is what a
// discovery client is for (client-go discovery ServerPreferredResources).
func CustomResources(t *sim.Task, c Interface) ([]Resource, error) {
	items, _, err := c.List(t, CustomResourceDefinitions, "", metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var out []Resource
	for _, item := range items {
		if r, ok := CustomResource(item.(*apiextensionsv1.CustomResourceDefinition)); ok {
			out = append(out, r)
		}
	}
	return out, nil
}

// CustomResource is the resource a definition makes the API server serve, in the
// version that is stored or else the first that is served; ok is false if it is
// not established.
func CustomResource(crd *apiextensionsv1.CustomResourceDefinition) (r Resource, ok bool) {
	if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
		return Resource{}, false
	}
	version := ""
	for _, v := range crd.Spec.Versions {
		if v.Served && (version == "" || v.Storage) {
			version = v.Name
		}
	}
	names := crd.Status.AcceptedNames
	return Resource{
		GroupVersionResource: schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: names.Plural},
		Kind:                 names.Kind, Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
	}, version != ""
}
