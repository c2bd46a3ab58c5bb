package registry

import (
	"crypto/tls"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	serviceutil "k8s.io/kubernetes/pkg/api/service"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"

	"kviz/cluster/apiserver/object"
	"kviz/cluster/bound"
)

var configMapStrategy = &Strategy{
	Validate:       creation(validation.ValidateConfigMap),
	ValidateUpdate: updating(validation.ValidateConfigMapUpdate),
}

var eventStrategy = &Strategy{
	CreateOnUpdate: true,
	NoOrphans:      true,
	Validate: creation(func(e *core.Event) field.ErrorList {
		return validation.ValidateEventCreate(e, schema.GroupVersion{Version: "v1"})
	}),
	ValidateUpdate: updating(func(e, old *core.Event) field.ErrorList {
		return validation.ValidateEventUpdate(e, old, schema.GroupVersion{Version: "v1"})
	}),
}

var secretStrategy = &Strategy{
	Prepare: prepare(func(_ *Write, s, old *corev1.Secret) {
		if old != nil && s.Type == "" {
			s.Type = old.Type
		}
	}),
	Validate:       creation(validation.ValidateSecret),
	ValidateUpdate: updating(validation.ValidateSecretUpdate),
	Warn: func(obj, _ runtime.Object) []string {
		s := obj.(*corev1.Secret)
		if s.Type == corev1.SecretTypeTLS {
			if err := bound.PrivateKey(s.Data[corev1.TLSPrivateKeyKey]); err != nil {
				return []string{"tls: " + err.Error()}
			}
			if _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
				return []string{err.Error()}
			}
		}
		return nil
	},
}

var serviceAccountStrategy = &Strategy{
	Prepare: prepare(func(_ *Write, sa, _ *corev1.ServiceAccount) {
		for i := range sa.Secrets {
			sa.Secrets[i] = corev1.ObjectReference{Name: sa.Secrets[i].Name}
		}
	}),
	Validate:       creation(validation.ValidateServiceAccount),
	ValidateUpdate: updating(validation.ValidateServiceAccountUpdate),
	Warn: func(obj, old runtime.Object) []string {
		const key = "kubernetes.io/enforce-mountable-secrets"
		if old != nil {
			if _, ok := object.Meta(old).GetAnnotations()[key]; ok {
				return nil
			}
		}
		if _, ok := object.Meta(obj).GetAnnotations()[key]; ok {
			return []string{"metadata.annotations[" + key + "]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"}
		}
		return nil
	},
}

var namespaceStrategy = &Strategy{
	Prepare: prepare(func(_ *Write, ns, old *corev1.Namespace) {
		if old != nil {
			ns.Spec.Finalizers, ns.Status = old.Spec.Finalizers, old.Status
			return
		}
		ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
		if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
			ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
		}
	}),
	SubPrepare: Preparers{
		"status":   prepare(func(_ *Write, ns, old *corev1.Namespace) { ns.Spec = old.Spec }),
		"finalize": prepare(func(_ *Write, ns, old *corev1.Namespace) { ns.Status = old.Status }),
	},
	Validate: creation(validation.ValidateNamespace),
	ValidateUpdate: updating(func(ns, old *core.Namespace) field.ErrorList {
		return append(validation.ValidateNamespace(ns), validation.ValidateNamespaceUpdate(ns, old)...)
	}),
	SubValidate: Validators{
		"status":   updating(validation.ValidateNamespaceStatusUpdate),
		"finalize": updating(validation.ValidateNamespaceFinalizeUpdate),
	},
	Canonicalize: func(obj runtime.Object) {
		ns := obj.(*corev1.Namespace)
		if ns.Labels == nil {
			ns.Labels = map[string]string{}
		}
		ns.Labels[corev1.LabelMetadataName] = ns.Name
	},
}

var nodeStrategy = &Strategy{
	Prepare: prepare(func(_ *Write, n, old *corev1.Node) {
		n.Spec.ConfigSource = nil
		if old != nil {
			n.Status = old.Status
			return
		}
		n.Status.Config = nil
	}),
	SubPrepare: Preparers{"status": prepare(func(_ *Write, n, old *corev1.Node) { n.Spec = old.Spec })},
	Validate:   creation(validation.ValidateNode),
	ValidateUpdate: updating(func(n, old *core.Node) field.ErrorList {
		return append(validation.ValidateNode(n), validation.ValidateNodeUpdate(n, old)...)
	}),
	SubValidate: Validators{"status": updating(validation.ValidateNodeUpdate)},
	Warn: func(obj, _ runtime.Object) (w []string) {
		n := obj.(*corev1.Node)
		if n.Spec.ConfigSource != nil {
			w = append(w, "spec.configSource: the feature is removed")
		}
		if n.Spec.DoNotUseExternalID != "" {
			w = append(w, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
		}
		for i, cidr := range n.Spec.PodCIDRs {
			w = append(w, utilvalidation.GetWarningsForCIDR(field.NewPath("spec", "podCIDRs").Index(i), cidr)...)
		}
		return w
	},
}

var serviceStrategy = &Strategy{
	CreateOnUpdate: true,
	Prepare: prepare(func(_ *Write, svc, old *corev1.Service) {
		if old == nil {
			svc.Status = corev1.ServiceStatus{}
			return
		}
		svc.Status = old.Status
		dropTypeDependentFields(svc, old)
		keepAllocated(svc, old)
	}),
	SubPrepare:     Preparers{"status": prepare(func(_ *Write, svc, old *corev1.Service) { svc.Spec = old.Spec })},
	Validate:       creation(validation.ValidateServiceCreate),
	ValidateUpdate: updating(validation.ValidateServiceUpdate),
	SubValidate:    Validators{"status": updating(validation.ValidateServiceStatusUpdate)},
	Canonicalize: func(obj runtime.Object) {
		// Upstream hides it whenever such a Service is read (storage.go defaultOnReadInternalTrafficPolicy).
		if svc := obj.(*corev1.Service); svc.Spec.Type == corev1.ServiceTypeExternalName {
			svc.Spec.InternalTrafficPolicy = nil
		}
	},
	Warn: func(obj, old runtime.Object) []string {
		if old == nil {
			return serviceutil.GetWarningsForService(Internal[core.Service](obj), nil)
		}
		return serviceutil.GetWarningsForService(Internal[core.Service](obj), Internal[core.Service](old))
	},
}
