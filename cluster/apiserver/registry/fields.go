package registry

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kviz/cluster/apiserver/object"
)

// The fields each kind can be selected by: ToSelectableFields of pkg/registry.

// MetaField is for kinds that offer only their name and namespace.
func MetaField(obj runtime.Object, name string) (string, bool) {
	switch name {
	case "metadata.name":
		return object.Meta(obj).GetName(), true
	case "metadata.namespace":
		return object.Meta(obj).GetNamespace(), true
	}
	return "", false
}

func podField(obj runtime.Object, name string) (string, bool) {
	p := obj.(*corev1.Pod)
	switch name {
	case "spec.nodeName":
		return p.Spec.NodeName, true
	case "spec.restartPolicy":
		return string(p.Spec.RestartPolicy), true
	case "spec.schedulerName":
		return p.Spec.SchedulerName, true
	case "spec.serviceAccountName":
		return p.Spec.ServiceAccountName, true
	case "spec.hostNetwork":
		return strconv.FormatBool(p.Spec.HostNetwork), true
	case "status.phase":
		return string(p.Status.Phase), true
	case "status.podIP":
		if len(p.Status.PodIPs) > 0 {
			return p.Status.PodIPs[0].IP, true
		}
		return "", true
	case "status.nominatedNodeName":
		return p.Status.NominatedNodeName, true
	}
	return MetaField(obj, name)
}

func nodeField(obj runtime.Object, name string) (string, bool) {
	if name == "spec.unschedulable" {
		return strconv.FormatBool(obj.(*corev1.Node).Spec.Unschedulable), true
	}
	return MetaField(obj, name)
}

func namespaceField(obj runtime.Object, name string) (string, bool) {
	switch name {
	case "status.phase":
		return string(obj.(*corev1.Namespace).Status.Phase), true
	case "name":
		return object.Meta(obj).GetName(), true
	}
	return MetaField(obj, name)
}

func secretField(obj runtime.Object, name string) (string, bool) {
	if name == "type" {
		return string(obj.(*corev1.Secret).Type), true
	}
	return MetaField(obj, name)
}

func serviceField(obj runtime.Object, name string) (string, bool) {
	switch name {
	case "spec.clusterIP":
		return obj.(*corev1.Service).Spec.ClusterIP, true
	case "spec.type":
		return string(obj.(*corev1.Service).Spec.Type), true
	}
	return MetaField(obj, name)
}

func replicaSetField(obj runtime.Object, name string) (string, bool) {
	if name == "status.replicas" {
		return strconv.Itoa(int(obj.(*appsv1.ReplicaSet).Status.Replicas)), true
	}
	return MetaField(obj, name)
}

func eventField(obj runtime.Object, name string) (string, bool) {
	e := obj.(*corev1.Event)
	switch name {
	case "involvedObject.kind":
		return e.InvolvedObject.Kind, true
	case "involvedObject.namespace":
		return e.InvolvedObject.Namespace, true
	case "involvedObject.name":
		return e.InvolvedObject.Name, true
	case "involvedObject.uid":
		return string(e.InvolvedObject.UID), true
	case "involvedObject.apiVersion":
		return e.InvolvedObject.APIVersion, true
	case "involvedObject.resourceVersion":
		return e.InvolvedObject.ResourceVersion, true
	case "involvedObject.fieldPath":
		return e.InvolvedObject.FieldPath, true
	case "reason":
		return e.Reason, true
	case "reportingComponent":
		return e.ReportingController, true
	case "source":
		if e.Source.Component == "" {
			return e.ReportingController, true
		}
		return e.Source.Component, true
	case "type":
		return e.Type, true
	}
	return MetaField(obj, name)
}
