package admission

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/request"
	"kviz/cluster/client"
)

// NamespaceLifecycle is the plugin of that name (apiserver
// pkg/admission/plugin/namespace/lifecycle): nothing is created in a namespace that
// does not exist or is going away, and three namespaces stay.
type NamespaceLifecycle struct{ lister Lister }

// NewNamespaceLifecycle makes the plugin.
func NewNamespaceLifecycle(l Lister) *NamespaceLifecycle { return &NamespaceLifecycle{l} }

// Name is [Plugin].
func (*NamespaceLifecycle) Name() string { return "NamespaceLifecycle" }

// immortal namespaces cannot be deleted.
var immortal = map[string]bool{metav1.NamespaceDefault: true, metav1.NamespaceSystem: true, metav1.NamespacePublic: true}

// Admit is [Mutating].
func (p *NamespaceLifecycle) Admit(r *request.Scope, a *Attributes) (Result, error) {
	if a.Is("Namespace") {
		if a.Operation == Delete && immortal[a.Name] {
			return Result{}, apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf("this namespace may not be deleted"))
		}
		return Result{}, nil
	}
	if !a.Namespaced || a.Operation != Create {
		return Result{}, nil
	}
	ns, err := namespaceOf(r, p.lister, a.Namespace)
	if err != nil {
		return Result{}, err
	}
	if ns.Status.Phase != corev1.NamespaceTerminating {
		return Result{}, nil
	}
	refusal := a.Forbid(fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.Namespace))
	refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", a.Namespace), Field: "metadata.namespace",
	})
	return Result{}, refusal
}

// missingNamespaceWait gives the cache time to see a namespace that was made
// just before.
const missingNamespaceWait = 50 * time.Millisecond

// namespaceOf finds a request's namespace: in the cache, in the cache a little later,
// or at the store.
func namespaceOf(r *request.Scope, l Lister, name string) (*corev1.Namespace, error) {
	if ns, ok := l.Get(client.Namespaces, "", name).(*corev1.Namespace); ok {
		return ns, nil
	}
	r.Task.Sleep(missingNamespaceWait)
	if ns, ok := l.Get(client.Namespaces, "", name).(*corev1.Namespace); ok {
		return ns, nil
	}
	obj, err := l.Live(r.Task, client.Namespaces, "", name)
	if err != nil {
		return nil, err
	}
	if obj == nil {
		return nil, apierrors.NewNotFound(client.Namespaces.GroupResource(), name)
	}
	return obj.(*corev1.Namespace), nil
}
