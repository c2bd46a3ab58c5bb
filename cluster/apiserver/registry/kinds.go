package registry

import (
	"bytes"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/deprecation"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/client"
)

var (
	readWrite  = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	createOnly = []string{"create"}
	StatusOnly = []string{"get", "patch", "update"}
)

var ScaleGVK = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// Kinds is the registry: every built-in kind this server serves, a table a file,
// each by group in the order of client.Resources; last those that are answered and
// not stored.
var Kinds = slices.Concat(
	firstKinds,
	coreKinds,
	workloadKinds,
	networkKinds,
	storageKinds,
	otherKinds,
	resourceKinds,
	flowKinds,
	AdmissionKinds,
	limitKinds,
	aggregationKinds,
	reviewKinds,
)

var firstKinds = []*Kind{
	{Resource: client.ConfigMaps, Singular: "configmap", ShortNames: []string{"cm"}, Prefix: "/registry/configmaps/", Strategy: configMapStrategy, Field: MetaField, Trigger: "metadata.name"},
	{
		Resource: client.Endpoints, Singular: "endpoints", ShortNames: []string{"ep"}, Prefix: "/registry/services/endpoints/",
		Strategy: upstream(client.Endpoints, endpointsStrategy{Declarative}, nil), Field: MetaField,
	},
	{Resource: client.Events, Singular: "event", ShortNames: []string{"ev"}, Prefix: "/registry/events/", Strategy: eventStrategy, Field: eventField},
	{
		Resource: client.Namespaces, Singular: "namespace", ShortNames: []string{"ns"}, Prefix: "/registry/namespaces/", Strategy: namespaceStrategy, Field: namespaceField,
		Verbs: []string{"create", "delete", "get", "list", "patch", "update", "watch"},
		Subresources: []Subresource{
			{Name: "finalize", Verbs: []string{"update"}},
			{Name: "status", Verbs: StatusOnly},
		},
	},
	{
		Resource: client.Nodes, Singular: "node", ShortNames: []string{"no"}, Prefix: "/registry/minions/", Strategy: nodeStrategy, Field: nodeField, Trigger: "metadata.name",
		Subresources: []Subresource{{Name: "status", Verbs: StatusOnly}},
	},
	{
		Resource: client.Pods, Singular: "pod", ShortNames: []string{"po"}, Categories: []string{"all"}, Prefix: "/registry/pods/", Strategy: podStrategy, Field: podField, Trigger: "spec.nodeName",
		Subresources: []Subresource{
			{Name: "binding", GVK: gvk("", "v1", "Binding"), Verbs: createOnly},
			{Name: "ephemeralcontainers", Verbs: StatusOnly},
			{Name: "eviction", GVK: gvk("policy", "v1", "Eviction"), Verbs: createOnly},
			{Name: "resize", Verbs: StatusOnly},
			{Name: "status", Verbs: StatusOnly},
		},
	},
	{Resource: client.Secrets, Singular: "secret", Prefix: "/registry/secrets/", Strategy: secretStrategy, Field: secretField, Trigger: "metadata.name"},
	{
		Resource: client.ServiceAccounts, Singular: "serviceaccount", ShortNames: []string{"sa"}, Prefix: "/registry/serviceaccounts/", Strategy: serviceAccountStrategy, Field: MetaField,
		Subresources: []Subresource{{Name: "token", GVK: gvk("authentication.k8s.io", "v1", "TokenRequest"), Verbs: createOnly}},
	},
	{
		Resource: client.Services, Singular: "service", ShortNames: []string{"svc"}, Categories: []string{"all"}, Prefix: "/registry/services/specs/", Strategy: serviceStrategy, Field: serviceField,
		Subresources: []Subresource{{Name: "status", Verbs: StatusOnly}},
	},
	{
		Resource: client.CustomResourceDefinitions, Singular: "customresourcedefinition", ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"},
		Prefix: "/registry/apiextensions.k8s.io/customresourcedefinitions/", Strategy: CustomResourceDefinitionStrategy, Field: MetaField,
		Subresources: []Subresource{{Name: "status", Verbs: StatusOnly}},
	},
	{
		Resource: client.Deployments, Singular: "deployment", ShortNames: []string{"deploy"}, Categories: []string{"all"}, Prefix: "/registry/deployments/", Strategy: deploymentStrategy, Field: MetaField,
		Subresources: []Subresource{{Name: "scale", GVK: ScaleGVK, Verbs: StatusOnly}, {Name: "status", Verbs: StatusOnly}},
	},
	{
		Resource: client.ReplicaSets, Singular: "replicaset", ShortNames: []string{"rs"}, Categories: []string{"all"}, Prefix: "/registry/replicasets/", Strategy: replicaSetStrategy, Field: replicaSetField,
		Subresources: []Subresource{{Name: "scale", GVK: ScaleGVK, Verbs: StatusOnly}, {Name: "status", Verbs: StatusOnly}},
	},
	{Resource: client.Leases, Singular: "lease", Prefix: "/registry/leases/", Strategy: leaseStrategy, Field: MetaField},
	{Resource: client.EndpointSlices, Singular: "endpointslice", Prefix: "/registry/endpointslices/", Strategy: endpointSliceStrategy, Field: MetaField},
	{Resource: client.ClusterRoleBindings, Singular: "clusterrolebinding", Prefix: "/registry/clusterrolebindings/", Strategy: clusterRoleBindingStrategy, Field: MetaField},
	{Resource: client.ClusterRoles, Singular: "clusterrole", Prefix: "/registry/clusterroles/", Strategy: clusterRoleStrategy, Field: MetaField},
	{Resource: client.RoleBindings, Singular: "rolebinding", Prefix: "/registry/rolebindings/", Strategy: roleBindingStrategy, Field: MetaField},
	{Resource: client.Roles, Singular: "role", Prefix: "/registry/roles/", Strategy: roleStrategy, Field: MetaField},
	{Resource: client.PriorityClasses, Singular: "priorityclass", ShortNames: []string{"pc"}, Prefix: "/registry/priorityclasses/", Strategy: priorityClassStrategy, Field: MetaField},
}

var reviewKinds = []*Kind{
	review("", "bindings", "Binding", true), // no question, but not stored either (bindNamed)
	review("authentication.k8s.io", "tokenreviews", "TokenReview", false),
	review("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview", false),
	review("authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview", true),
	review("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", false),
	review("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview", false),
	review("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", false),
	{Resource: client.ComponentStatuses, Singular: "componentstatus", ShortNames: []string{"cs"}, Verbs: []string{"get", "list"}, Field: MetaField},
}

func gvk(group, version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

// review is a kind that is answered and not stored.
func review(group, plural, kind string, namespaced bool) *Kind {
	return &Kind{
		Resource: client.Resource{
			GroupVersionResource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural},
			Kind:                 kind, Namespaced: namespaced,
		},
		Singular: plural[:len(plural)-1], Verbs: createOnly,
	}
}

var kindByResource = map[schema.GroupVersionResource]*Kind{}

func init() {
	for _, k := range Kinds {
		if k.Verbs == nil {
			k.Verbs = readWrite
		}
		for i := range k.Subresources {
			if k.Subresources[i].GVK.Empty() {
				k.Subresources[i].GVK = k.GVK()
			}
			goTypes[k.Subresources[i].GVK] = reflect.TypeOf(NewObject(k.Subresources[i].GVK))
		}
		k.APIVersion = k.GroupVersion().String()
		goTypes[k.GVK()] = reflect.TypeOf(k.New())
		k.Deprecated = deprecation.WarningMessage(object.OfKind(k.New(), k.GVK()))
		kindByResource[k.GroupVersionResource] = k
		if k.Stored() && k.Hub == nil {
			kindByPrefix[strings.TrimSuffix(strings.TrimPrefix(k.Prefix, "/registry/"), "/")] = k
		}
	}
}

// Builtin reports whether a group is one that this server has of its own.
func Builtin(group string) bool {
	return slices.ContainsFunc(Kinds, func(k *Kind) bool { return k.Group == group })
}

// KindFor is the kind served as a resource; nil if none is.
func KindFor(r schema.GroupVersionResource) *Kind { return kindByResource[r] }

func (k *Kind) Subresource(name string) *Subresource {
	for i := range k.Subresources {
		if k.Subresources[i].Name == name {
			return &k.Subresources[i]
		}
	}
	return nil
}

// KindOfKey is the kind a key at the store belongs to; nil if to none.
func KindOfKey(key []byte) *Kind {
	const root = "/registry/"
	if !bytes.HasPrefix(key, []byte(root)) {
		return nil
	}
	rest := key[len(root):]
	i := bytes.IndexByte(rest, '/')
	if i < 0 {
		return nil
	}
	if first := rest[:i]; string(first) == "services" || string(first) == "apiextensions.k8s.io" || string(first) == "apiregistration.k8s.io" {
		if j := bytes.IndexByte(rest[i+1:], '/'); j >= 0 {
			i += 1 + j
		}
	}
	return kindByPrefix[string(rest[:i])]
}

var kindByPrefix = map[string]*Kind{}
