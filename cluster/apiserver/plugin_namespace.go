package apiserver

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/apiserver/registry"
	"kviz/cluster/client"
	"kviz/cluster/trace"
)

// missingNamespaceWait gives the cache time to see a namespace that was made
// just before.
const missingNamespaceWait = 50 * time.Millisecond

// immortal namespaces cannot be deleted.
var immortal = map[string]bool{metav1.NamespaceDefault: true, metav1.NamespaceSystem: true, metav1.NamespacePublic: true}

// admitNamespaceLifecycle is the NamespaceLifecycle plugin (apiserver
// pkg/admission/plugin/namespace/lifecycle): nothing is created in a namespace
// that does not exist or is going away, and three namespaces stay.
func admitNamespaceLifecycle(c *call, op operation) (string, []trace.FieldDiff, error) {
	if c.kind.Is("Namespace") {
		if op == opDelete && immortal[c.Ref.Name] {
			return "", nil, apierrors.NewForbidden(c.kind.GroupResource(), c.Ref.Name, fmt.Errorf("this namespace may not be deleted"))
		}
		return "", nil, nil
	}
	if !c.kind.Namespaced || op != opCreate {
		return "", nil, nil
	}
	ns, err := c.namespace()
	if err != nil {
		return "", nil, err
	}
	if ns.Status.Phase != corev1.NamespaceTerminating {
		return "", nil, nil
	}
	refusal := c.forbid(fmt.Errorf("unable to create new content in namespace %s because it is being terminated", c.Ref.Namespace))
	refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", c.Ref.Namespace), Field: "metadata.namespace",
	})
	return "", nil, refusal
}

// namespace finds the request's namespace: in the cache, in the cache a little
// later, or at the store.
func (c *call) namespace() (*corev1.Namespace, error) {
	k := registry.KindFor(client.Namespaces.GroupVersionResource)
	cache := c.s.caches[k]
	if en := cache.Get(c.Ref.Namespace); en != nil {
		return en.Object.(*corev1.Namespace), nil
	}
	c.Task.Sleep(missingNamespaceWait)
	if en := cache.Get(c.Ref.Namespace); en != nil {
		return en.Object.(*corev1.Namespace), nil
	}
	en, err := c.s.read(c.Task, k, c.Ref.Namespace)
	if err != nil {
		return nil, c.storeError(err)
	}
	if en == nil {
		return nil, apierrors.NewNotFound(k.GroupResource(), c.Ref.Namespace)
	}
	return en.Object.(*corev1.Namespace), nil
}

// forbid is admission.NewForbidden (apiserver pkg/admission/errors.go).
func (c *call) forbid(err error) *apierrors.StatusError {
	name := c.Ref.Name
	if c.obj != nil {
		if m := object.Meta(c.obj); m.GetName() != "" {
			name = m.GetName()
		} else if m.GetGenerateName() != "" {
			name = m.GetGenerateName()
		}
	}
	if name == "" {
		name = "Unknown"
	}
	return apierrors.NewForbidden(c.kind.GroupResource(), name, err)
}
