// Package bootstrap is what a kube-apiserver's post-start hooks write into a new cluster: the
// system namespaces, the RBAC policy, the system priority classes (pkg/registry/rbac/rest,
// pkg/registry/scheduling/rest, pkg/controlplane/controller/systemnamespaces). The server adds
// what it reconciles itself, such as the Service kubernetes (cluster/apiserver/controlplane).
//
// Simplified: the objects are written once, when the store is empty, in a few transactions
// past the pipeline; upstream's hooks run at every start and put back what is missing.
// Start reading at [List].
package bootstrap

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	schedulinghelper "k8s.io/kubernetes/pkg/apis/scheduling/v1"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/simulated"
)

var _ = simulated.Say(simulated.Statement{
	Area: simulated.API, How: simulated.Simplified,
	What: "what every cluster has from its beginning, such as the RBAC policy, is written once, past the pipeline; an API server that restarts puts nothing of it back",
})

// Object is an object of a new cluster.
type Object struct {
	Kind   *registry.Kind
	Object runtime.Object
}

// List gathers objects as they are stored.
type List struct {
	Now     metav1.Time      // when they are made
	UID     func() types.UID // for those that have none
	Objects []Object
}

// Add adds one, with its defaults.
func (l *List) Add(r client.Resource, obj runtime.Object) {
	registry.Scheme.Default(obj)
	obj.GetObjectKind().SetGroupVersionKind(r.GVK())
	m := object.Meta(obj)
	if m.GetUID() == "" {
		m.SetUID(l.UID())
	}
	m.SetCreationTimestamp(l.Now)
	Created(obj, server, l.Now)
	l.Objects = append(l.Objects, Object{registry.KindFor(r.GroupVersionResource), obj})
}

// AddNamespaces adds the namespaces that every cluster has.
func (l *List) AddNamespaces() {
	for _, name := range []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease, metav1.NamespaceDefault} {
		l.Add(client.Namespaces, &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}},
			Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
		})
	}
}

// AddPriorityClasses adds those of the system.
func (l *List) AddPriorityClasses() {
	for _, pc := range schedulinghelper.SystemPriorityClasses() {
		pc = pc.DeepCopy()
		pc.Generation = 1
		l.Add(client.PriorityClasses, pc)
	}
}
