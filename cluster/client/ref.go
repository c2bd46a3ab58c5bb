package client

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/trace"
)

// ResourceOf gives the resource of an object by its Go type, since objects from
// a cache carry no kind of their own.
func ResourceOf(obj runtime.Object) (Resource, bool) {
	switch obj.(type) {
	case *corev1.Namespace:
		return Namespaces, true
	case *corev1.Node:
		return Nodes, true
	case *corev1.Pod:
		return Pods, true
	case *corev1.Service:
		return Services, true
	case *corev1.ConfigMap:
		return ConfigMaps, true
	case *corev1.Secret:
		return Secrets, true
	case *corev1.ServiceAccount:
		return ServiceAccounts, true
	case *corev1.Event:
		return Events, true
	case *corev1.Endpoints:
		return Endpoints, true
	case *corev1.LimitRange:
		return LimitRanges, true
	case *corev1.ResourceQuota:
		return ResourceQuotas, true
	case *corev1.PersistentVolumeClaim:
		return PersistentVolumeClaims, true
	case *corev1.PersistentVolume:
		return PersistentVolumes, true
	case *corev1.ReplicationController:
		return ReplicationControllers, true
	case *appsv1.ReplicaSet:
		return ReplicaSets, true
	case *appsv1.Deployment:
		return Deployments, true
	case *discoveryv1.EndpointSlice:
		return EndpointSlices, true
	case *coordinationv1.Lease:
		return Leases, true
	case *rbacv1.Role:
		return Roles, true
	case *rbacv1.RoleBinding:
		return RoleBindings, true
	case *rbacv1.ClusterRole:
		return ClusterRoles, true
	case *rbacv1.ClusterRoleBinding:
		return ClusterRoleBindings, true
	case *schedulingv1.PriorityClass:
		return PriorityClasses, true
	case *policyv1.PodDisruptionBudget:
		return PodDisruptionBudgets, true
	case *batchv1.Job:
		return Jobs, true
	case *batchv1.CronJob:
		return CronJobs, true
	case *autoscalingv2.HorizontalPodAutoscaler:
		return HorizontalPodAutoscalers, true
	}
	return Resource{}, false
}

// RefOf names an object for an event; the zero Ref for nil.
func RefOf(obj runtime.Object) trace.Ref {
	if obj == nil {
		return trace.Ref{}
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	if r, ok := ResourceOf(obj); ok {
		gvk = r.GVK()
	}
	ref := trace.Ref{Kind: gvk.Kind}
	if gvk.Version != "" {
		ref.APIVersion = gvk.GroupVersion().String()
	}
	if m, err := meta.Accessor(obj); err == nil {
		ref.Namespace, ref.Name, ref.UID = m.GetNamespace(), m.GetName(), string(m.GetUID())
	}
	return ref
}

// Ref names an object of this kind without its UID.
func (r Resource) Ref(namespace, name string) trace.Ref {
	return trace.Ref{APIVersion: r.GroupVersion().String(), Kind: r.Kind, Namespace: namespace, Name: name}
}
