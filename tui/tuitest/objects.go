package tuitest

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kviz/cluster/trace"
)

func ptr[T any](v T) *T { return &v }

// Epoch is when the story begins.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func meta(kind, ns, name string, owner *metav1.OwnerReference) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: ns, Name: name, UID: types.UID(kind + "-" + name), Generation: 1, CreationTimestamp: metav1.NewTime(Epoch)}
	if owner != nil {
		m.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return m
}

func owner(api, kind, name string) *metav1.OwnerReference {
	return &metav1.OwnerReference{APIVersion: api, Kind: kind, Name: name, UID: types.UID(kind + "-" + name), Controller: ptr(true)}
}

// Node is a node object.
func Node(name, cpu string) *corev1.Node {
	return &corev1.Node{ObjectMeta: meta("Node", "", name, nil), Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("4Gi")},
		Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}},
	}}
}

// Pod is a pod object in a phase: "", Pending, Creating, Running, Ready,
// Crash.
func Pod(ns, name, rs, node, phase, ip string) *corev1.Pod {
	var o *metav1.OwnerReference
	if rs != "" {
		o = owner("apps/v1", "ReplicaSet", rs)
	}
	p := &corev1.Pod{ObjectMeta: meta("Pod", ns, name, o), Spec: corev1.PodSpec{
		NodeName: node, ServiceAccountName: "default",
		Containers: []corev1.Container{{Name: "web", Image: "nginx:1.27", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
		}}},
	}}
	p.Labels = map[string]string{"app": "web"}
	p.Status.Phase = corev1.PodPending
	p.Status.PodIP = ip
	cond := func(t corev1.PodConditionType, ok bool) {
		s := corev1.ConditionFalse
		if ok {
			s = corev1.ConditionTrue
		}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: t, Status: s})
	}
	if node != "" {
		cond(corev1.PodScheduled, true)
	}
	switch phase {
	case "Creating":
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}
	case "Running", "Ready":
		p.Status.Phase = corev1.PodRunning
		cond(corev1.PodReady, phase == "Ready")
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", Ready: phase == "Ready", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	case "Crash":
		p.Status.Phase = corev1.PodRunning
		cond(corev1.PodReady, false)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
	}
	return p
}

// Deployment is the web deployment with a status.
func Deployment(replicas, ready int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: meta("Deployment", "demo", "web", nil), Spec: appsv1.DeploymentSpec{Replicas: ptr(replicas)},
		Status: appsv1.DeploymentStatus{Replicas: ready, ReadyReplicas: ready, UpdatedReplicas: ready, AvailableReplicas: ready, ObservedGeneration: 1},
	}
}

// ReplicaSet is the web replica set with a status.
func ReplicaSet(replicas, have, ready int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: meta("ReplicaSet", "demo", "web-7f9c", owner("apps/v1", "Deployment", "web")), Spec: appsv1.ReplicaSetSpec{Replicas: ptr(replicas)},
		Status: appsv1.ReplicaSetStatus{Replicas: have, ReadyReplicas: ready, ObservedGeneration: 1},
	}
}

// Service is the web service.
func Service() *corev1.Service {
	return &corev1.Service{ObjectMeta: meta("Service", "demo", "web", nil), Spec: corev1.ServiceSpec{
		ClusterIP: "10.96.0.10", Selector: map[string]string{"app": "web"},
		Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}},
	}}
}

// Slice is the endpoint slice of the web service.
func Slice(ips ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: meta("EndpointSlice", "demo", "web-x2k", owner("v1", "Service", "web")), AddressType: discoveryv1.AddressTypeIPv4}
	s.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
	for i, ip := range ips {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}, Conditions: discoveryv1.EndpointConditions{Ready: ptr(i < 2)}})
	}
	return s
}

// Ref names an object.
func Ref(kind, ns, name string) trace.Ref {
	api := "v1"
	switch kind {
	case "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ControllerRevision":
		api = "apps/v1"
	case "Job", "CronJob":
		api = "batch/v1"
	case "EndpointSlice":
		api = "discovery.k8s.io/v1"
	}
	return trace.Ref{APIVersion: api, Kind: kind, Namespace: ns, Name: name}
}
