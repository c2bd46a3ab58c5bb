package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	listerscorev1 "k8s.io/client-go/listers/core/v1"

	"kviz/cluster/client"
)

// Namespaces reads namespaces for Kubernetes' own code. NamespaceLifecycle has waited
// for a new one before.
func Namespaces(l Lister) listerscorev1.NamespaceLister {
	return informerFactory{lister: l}.Core().V1().Namespaces().Lister()
}

// NoClient is where upstream looks for a namespace that its cache does not know.
type NoClient struct{ kubernetes.Interface }

// CoreV1 is kubernetes.Interface.
func (NoClient) CoreV1() typedcorev1.CoreV1Interface { return noCore{} }

type noCore struct{ typedcorev1.CoreV1Interface }

// Namespaces is typedcorev1.CoreV1Interface.
func (noCore) Namespaces() typedcorev1.NamespaceInterface { return noNamespaces{} }

type noNamespaces struct{ typedcorev1.NamespaceInterface }

// Get is typedcorev1.NamespaceInterface.
func (noNamespaces) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	return nil, apierrors.NewNotFound(client.Namespaces.GroupResource(), name)
}
