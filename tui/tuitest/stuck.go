package tuitest

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kviz/cluster/trace"
)

// Stuck is the story once more, up to a namespace that does not go: the server behind
// an APIService does not answer, a pod is on its way out, and a ConfigMap has a
// finalizer that nobody takes off.
func Stuck() *Tape {
	t := Story()
	t.After(time.Second)
	since := metav1.NewTime(Epoch.Add(t.at))
	const name, message = "v1beta1.metrics.k8s.io", `endpointslices for service/metrics-server in "kube-system" have no addresses with port name "https"`
	ref := trace.Ref{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService", Name: name}
	checked := t.Emit(trace.CompAPIServer, "", trace.APIServiceChecked, ref, &trace.APIServiceCheck{
		APIService: name, Service: "kube-system/metrics-server", Available: "False", Reason: "MissingEndpoints", Message: message, Changed: true, Took: time.Millisecond,
	})
	t.Commit(ref, "apiservices", &apiregistration.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "apiservice"},
		Spec:       apiregistration.APIServiceSpec{Group: "metrics.k8s.io", Version: "v1beta1", Service: &apiregistration.ServiceReference{Namespace: "kube-system", Name: "metrics-server", Port: ptr(int32(443))}},
		Status: apiregistration.APIServiceStatus{Conditions: []apiregistration.APIServiceCondition{{
			Type: apiregistration.Available, Status: apiregistration.ConditionFalse, Reason: "MissingEndpoints", Message: message, LastTransitionTime: since,
		}}},
	}, checked)

	t.After(time.Second)
	mark := metav1.NewTime(Epoch.Add(t.at))
	held := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "old", Name: "settings", UID: "settings", DeletionTimestamp: &mark, Finalizers: []string{"example.com/backup"}}}
	t.Commit(Ref("ConfigMap", "old", "settings"), "configmaps", held)
	pod := Pod("old", "web-0", "web", "node-1", "Ready", "10.244.1.9")
	pod.OwnerReferences, pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = nil, &mark, ptr(int64(30))
	t.Commit(Ref("Pod", "old", "web-0"), "pods", pod)

	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "old", UID: "old", DeletionTimestamp: &mark}, Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}}}
	ns.Status.Phase = corev1.NamespaceTerminating
	for _, c := range []struct {
		kind    corev1.NamespaceConditionType
		message string
	}{
		{corev1.NamespaceDeletionDiscoveryFailure, "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1"},
		{corev1.NamespaceContentRemaining, "Some resources are remaining: configmaps. has 1 resource instances, pods. has 1 resource instances"},
		{corev1.NamespaceFinalizersRemaining, "Some content in the namespace has finalizers remaining: example.com/backup in 1 resource instances"},
	} {
		ns.Status.Conditions = append(ns.Status.Conditions, corev1.NamespaceCondition{Type: c.kind, Status: corev1.ConditionTrue, Message: c.message, LastTransitionTime: mark})
	}
	t.Commit(Ref("Namespace", "", "old"), "namespaces", ns)
	t.After(4 * time.Second)
	t.Emit(trace.CompSimulation, "", trace.Ready, trace.Ref{}, nil)
	return t
}
