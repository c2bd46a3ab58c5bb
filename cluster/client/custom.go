package client

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

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
// version that discovery prefers; ok is false if it is not established.
func CustomResource(crd *apiextensionsv1.CustomResourceDefinition) (r Resource, ok bool) {
	if versions := CustomVersions(crd); len(versions) > 0 {
		return versions[0], true
	}
	return Resource{}, false
}

// CustomVersions are the resources that a definition makes the API server serve, a
// version each, the one that discovery prefers first; none if it is not established.
func CustomVersions(crd *apiextensionsv1.CustomResourceDefinition) []Resource {
	if !apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
		return nil
	}
	var out []Resource
	names := crd.Status.AcceptedNames
	for _, v := range crd.Spec.Versions {
		if v.Served {
			out = append(out, resource(crd.Spec.Group, v.Name, names.Plural, names.Kind, crd.Spec.Scope == apiextensionsv1.NamespaceScoped))
		}
	}
	slices.SortFunc(out, func(a, b Resource) int { return version.CompareKubeAwareVersionStrings(b.Version, a.Version) })
	return out
}

// CustomKind is a kind that the cluster serves because of a definition.
type CustomKind struct {
	Versions []Resource // the one that discovery prefers first
	Used     bool       // it has, or had, objects
}
