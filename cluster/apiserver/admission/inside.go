package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"kviz/cluster/apiserver/registry"
)

// Inside is the request as Kubernetes' own plugins see it that look at internal objects.
// These are made when somebody looks, and share what they have with the request's: no
// plugin may change them. Of a subresource with an object of its own they see that one.
func (a *Attributes) Inside() admission.Attributes {
	if a.Sent != nil {
		sent := *a
		sent.Object, sent.OldObject = a.Sent, a.OldSent
		if a.SentCreates {
			sent.Operation = Create
		}
		a = &sent
	}
	return inside{a.Record()}
}

type inside struct{ admission.Attributes }

// GetObject is admission.Attributes.
func (a inside) GetObject() runtime.Object { return internal(a.Attributes.GetObject()) }

// GetOldObject is admission.Attributes.
func (a inside) GetOldObject() runtime.Object { return internal(a.Attributes.GetOldObject()) }

// internal is the object in the internal version; it shares what it can.
func internal(obj runtime.Object) runtime.Object {
	if obj == nil {
		return nil
	}
	in, err := registry.Scheme.UnsafeConvertToVersion(obj, runtime.InternalGroupVersioner)
	if err != nil {
		panic(fmt.Sprintf("admission: converting %T: %v", obj, err)) // it was read
	}
	return in
}
