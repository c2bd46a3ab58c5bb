package bootstrap

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"kviz/cluster/apiserver/object"
)

// Upstream's hooks and controllers send requests, so the field manager notes them like any
// other writer. It needs the type schema of all kinds, which takes a tenth of a second to
// build: longer than a whole start. The entries of these few kinds are therefore written
// out here, and a test compares them with what the field manager makes of the same
// requests.

const (
	// server is the manager that kube-apiserver's own requests name.
	server = "kube-apiserver"
	// aggregation is the controller that applies the rules of aggregated ClusterRoles.
	aggregation = "clusterrole-aggregation-controller"
	// cidrs is the controller that applies the status of the default ServiceCIDR; then
	// allCIDRs, of kube-controller-manager, applies its own, and kcm adds the finalizer.
	cidrs    = "kubernetes-service-cidr-controller"
	allCIDRs = "service-cidr-controller"
	kcm      = "kube-controller-manager"
)

// Created notes a manager as the one that created the object.
func Created(obj runtime.Object, manager string, now metav1.Time) {
	fields := metadata(object.Meta(obj))
	var applied []metav1.ManagedFieldsEntry
	apply := func(by string, of *fieldpath.Set) *metav1.ManagedFieldsEntry {
		applied = append(applied, *entry(obj, by, metav1.ManagedFieldsOperationApply, of, now))
		return &applied[len(applied)-1]
	}
	var after []metav1.ManagedFieldsEntry
	switch o := obj.(type) {
	case *rbacv1.ClusterRole:
		if o.AggregationRule == nil {
			fields.Insert(path("rules"))
			break
		}
		fields.Insert(path("aggregationRule"))
		fields.Insert(path("aggregationRule", "clusterRoleSelectors"))
		apply(aggregation, fieldpath.NewSet(path("rules")))
	case *rbacv1.Role:
		fields.Insert(path("rules"))
	case *rbacv1.ClusterRoleBinding:
		bound(fields, o.Subjects)
	case *rbacv1.RoleBinding:
		bound(fields, o.Subjects)
	case *schedulingv1.PriorityClass:
		fields.Insert(path("description"))
		fields.Insert(path("preemptionPolicy"))
		fields.Insert(path("value"))
	case *corev1.ConfigMap:
		keys(fields, o.Data, "data")
	case *networkingv1.ServiceCIDR:
		fields.Insert(path("spec", "cidrs"))
		apply(cidrs, conditions(o.Status.Conditions, "lastTransitionTime", "status", "type")).Subresource = "status"
		apply(allCIDRs, conditions(o.Status.Conditions, "lastTransitionTime", "message", "reason", "status", "type")).Subresource = "status"
		final := fieldpath.NewSet(path("metadata", "finalizers"))
		for _, f := range o.Finalizers {
			final.Insert(path("metadata", "finalizers", value.NewValueInterface(f)))
		}
		after = append(after, *entry(obj, kcm, metav1.ManagedFieldsOperationUpdate, final, now))
	case *networkingv1.IPAddress:
		for _, at := range [][]any{{}, {"namespace"}, {"name"}, {"resource"}} {
			fields.Insert(path(append([]any{"spec", "parentRef"}, at...)...))
		}
	case *corev1.Namespace:
	default:
		return // a kind whose fields nobody has written out
	}
	entries := append(applied, *entry(obj, manager, metav1.ManagedFieldsOperationUpdate, fields, now))
	object.Meta(obj).SetManagedFields(append(entries, after...))
}

func entry(obj runtime.Object, manager string, op metav1.ManagedFieldsOperationType, fields *fieldpath.Set, now metav1.Time) *metav1.ManagedFieldsEntry {
	raw, err := fields.ToJSON()
	if err != nil {
		panic("bootstrap: " + err.Error()) // fields of our own: it works always or never
	}
	return &metav1.ManagedFieldsEntry{
		Manager: manager, Operation: op, APIVersion: obj.GetObjectKind().GroupVersionKind().GroupVersion().String(),
		Time: &now, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: raw},
	}
}

// metadata are the fields of an object's metadata that somebody can own.
func metadata(m metav1.Object) *fieldpath.Set {
	fields := fieldpath.NewSet()
	keys(fields, m.GetAnnotations(), "metadata", "annotations")
	keys(fields, m.GetLabels(), "metadata", "labels")
	return fields
}

// bound adds what a binding has: system:node is bound to nobody.
func bound(fields *fieldpath.Set, subjects []rbacv1.Subject) {
	fields.Insert(path("roleRef"))
	if len(subjects) > 0 {
		fields.Insert(path("subjects"))
	}
}

// keys adds a map and each of its keys.
func keys(fields *fieldpath.Set, of map[string]string, at ...any) {
	if len(of) > 0 {
		fields.Insert(path(at...))
	}
	for k := range of {
		fields.Insert(path(append(at, k)...))
	}
}

// conditions are a list merged by type; applied are the fields that are of each.
func conditions(list []metav1.Condition, applied ...string) *fieldpath.Set {
	fields := fieldpath.NewSet()
	for _, c := range list {
		at := []any{"status", "conditions", fieldpath.KeyByFields("type", c.Type)}
		fields.Insert(path(at...))
		for _, f := range applied {
			fields.Insert(path(append(at, f)...))
		}
	}
	return fields
}

func path(parts ...any) fieldpath.Path { return fieldpath.MakePathOrDie(parts...) }
